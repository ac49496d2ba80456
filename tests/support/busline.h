/*
 * busline - one user on the bus who speaks the server's text protocol by itself, and so hears what
 * the server refuses it.
 *
 * Owns     A busline_open() needs its busline_close().
 * Threads  One for a line.
 * Fails    Fails the test; the server has 10 seconds for each answer.
 */
#ifndef TESTS_SUPPORT_BUSLINE_H
#define TESTS_SUPPORT_BUSLINE_H

#include <stdbool.h>
#include <stddef.h>

struct busline {
    int fd, n_subscriptions;
    char in[64 * 1024]; /* what has come since the last question */
    size_t n;
};

/* False: the server does not know this user by this password. */
bool busline_open(struct busline *line, int port, const char *user, const char *password);
void busline_close(struct busline *line);

/* Whether the server takes a message there. It is empty, and its deadline has passed, so whoever
   gets it drops it. */
bool busline_may_publish(struct busline *line, const char *subject);
/* Whether it takes a subscription, which is given up again; `group` NULL = of no queue group. */
bool busline_may_subscribe(struct busline *line, const char *subject, const char *group);

/* Subscribes for good. */
void busline_listen(struct busline *line, const char *subject, const char *group);
/* Waits for a message on that subject. */
void busline_await(struct busline *line, const char *subject);
void busline_publish(struct busline *line, const char *subject, const char *reply_to);

#endif
