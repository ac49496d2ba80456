/*
 * known - conversations that were answered, the latest of them, for requests to meet at.
 *
 * Owns     `struct known_list` owns its memory between known_init() and known_release().
 * Threads  Any may add and pick.
 * Fails    Fails the test when there is no memory.
 */
#ifndef TESTS_SUPPORT_KNOWN_H
#define TESTS_SUPPORT_KNOWN_H

#include <pthread.h>
#include <stdbool.h>

struct known {
    char id[37];
    unsigned number; /* of the external id */
};

struct known_list {
    pthread_mutex_t lock;
    struct known *ring;
    unsigned capacity, n; /* added in all */
};

void known_init(struct known_list *list, unsigned capacity);
void known_release(struct known_list *list);
/* In the place of the one that was added first, when there is no room. */
void known_add(struct known_list *list, const char *id, unsigned number);
/* Which of the latest so many, the latest first, as far as they are kept: `choice` modulo how many
   there are; false when there is none. */
bool known_pick(struct known_list *list, unsigned choice, unsigned among, struct known *out);

#endif
