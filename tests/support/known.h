/*
 * known - the latest conversations that exist for certain, so that requests can meet at the same
 * ones.
 *
 * Owns     `struct known_list` owns its memory between known_init() and known_release().
 * Threads  Any may add and pick.
 * Fails    Fails the test if there is no memory.
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
/* Replaces the oldest one if the list is full. */
void known_add(struct known_list *list, const char *id, unsigned number);
/* Picks one of the latest `among`, counting back from the latest, as far as they are kept: the one
   at `choice` modulo their number. False if there is none. */
bool known_pick(struct known_list *list, unsigned choice, unsigned among, struct known *out);

#endif
