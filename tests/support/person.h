/*
 * person - asks the services over the bus as somebody who is signed in to the dashboard.
 *
 * Owns     The answers belong to the caller.
 * Threads  One at a time.
 * Fails    Fails the test when no answer comes.
 */
#ifndef TESTS_SUPPORT_PERSON_H
#define TESTS_SUPPORT_PERSON_H

#include <jansson.h>

#include "proto/outcome.h"
#include "tests/support/api.h"

struct person {
    const char *user_id, *email, *address;
};

extern const struct person ada; /* of no organization in particular */

/* The answer's body; NULL when it is not JSON. */
json_t *person_asks(const struct person *person, const struct org *org, const char *subject,
                    const char *body, enum outcome *outcome);
/* The same for a test that wants the outcome alone. */
enum outcome person_gets(const struct person *person, const struct org *org, const char *subject,
                         const char *body);
/* The same, which must come out ok. */
json_t *person_reads(const struct org *org, const char *subject, const char *body);

#endif
