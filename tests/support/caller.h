/*
 * caller - asks over the bus as the dashboard does, one command at a time.
 *
 * Owns     Bodies live until the test's process ends.
 * Threads  One at a time for a caller.
 * Fails    Fails the test when no answer comes.
 */
#ifndef TESTS_SUPPORT_CALLER_H
#define TESTS_SUPPORT_CALLER_H

#include <jansson.h>
#include <stdint.h>

#include "proto/outcome.h"

struct caller_link;

struct said {
    enum outcome outcome;
    json_t *body;
    long retry_after; /* 0 = not told */
    int64_t took_us;
};

struct caller_link *caller_open(void);
void caller_close(struct caller_link *link);

/* `organization` may be NULL; the body is made by printf. */
struct said caller_ask(struct caller_link *link, const char *subject, const char *organization,
                       const char *body, ...) __attribute__((format(printf, 4, 5)));
/* The same with an answer that must be ok; its body. */
json_t *caller_get(struct caller_link *link, const char *subject, const char *organization,
                   const char *body, ...) __attribute__((format(printf, 4, 5)));

/* A string by its path, "user.role"; fails when there is none. */
const char *said_text(const json_t *body, const char *path);
long long said_integer(const json_t *body, const char *path);
/* SHA-256 in hex. */
const char *said_hash(const char *token);

#endif
