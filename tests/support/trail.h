/*
 * trail - an organization with entries that are sealed, and what verifying says of them.
 *
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_TRAIL_H
#define TESTS_SUPPORT_TRAIL_H

#include "tests/support/api.h"

enum { TRAIL_LOT = 6, TRAIL_LOTS = 3, TRAIL_ENTRIES = TRAIL_LOTS * TRAIL_LOT };

struct trail {
    struct org org;
    const char *ids[TRAIL_ENTRIES]; /* in the order of sealing */
};

/* A new organization with three lots of entries, each sealed before the next is begun. */
void trail_make(struct trail *trail);
/* Returns when every entry of the organization is sealed. */
void trail_await_seal(struct org *org);

/* What convctl says of it; lives until the test's process ends. */
json_t *trail_verify(const struct trail *trail);
void trail_expect_sound(const struct trail *trail);
/* Expects that verifying fails, names that kind and, unless NULL, that entry. */
void trail_expect_found(const struct trail *trail, const char *kind, const char *id);

/* A statement of the database's owner, which returns something; $1 is the organization, $2 an
   entry, or what the statement makes of it. */
void trail_tamper(const struct trail *trail, const char *statement, const char *id);
/* Hashes the chain of an organization anew from a block on, as docs/audit.md describes it: all that
   somebody can do who owns the database and does not have the key. */
void trail_rewrite(const struct trail *trail, int from);

/* A member of an object. */
long long trail_integer(const json_t *in, const char *name);

#endif
