/*
 * sealed_log - an organization with sealed audit entries, and the result of verifying them.
 *
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_SEALED_LOG_H
#define TESTS_SUPPORT_SEALED_LOG_H

#include "tests/support/api_client.h"

enum {
    SEALED_LOG_LOT = 6,
    SEALED_LOG_LOTS = 3,
    SEALED_LOG_ENTRIES = SEALED_LOG_LOTS * SEALED_LOG_LOT
};

struct sealed_log {
    struct org org;
    const char *ids[SEALED_LOG_ENTRIES]; /* in the order of sealing */
};

/* A new organization with three lots of entries; each lot is sealed before the next begins. */
void sealed_log_make(struct sealed_log *sealed);
/* Returns once every entry of the organization is sealed. */
void sealed_log_await_seal(struct org *org);
/* The same for an organization in any cell, by way of convctl; every result on the way must be
   sound. */
void sealed_log_await_verified(struct org *org);

/* The result of convctl's verification; lives until the test's process ends. */
json_t *sealed_log_verify(const struct sealed_log *sealed);
void sealed_log_expect_sound(const struct sealed_log *sealed);
/* Expects that verification fails with a finding of that kind and, unless NULL, for that entry. */
void sealed_log_expect_found(const struct sealed_log *sealed, const char *kind, const char *id);

/* The current number of findings of that kind. */
long long sealed_log_count(const struct sealed_log *sealed, const char *kind);

/* Runs a statement as the database's owner, which must return something; $1 is the organization, $2
   an entry, or whatever the statement uses it for. */
void sealed_log_tamper(const struct sealed_log *sealed, const char *statement, const char *id);
/* Recomputes the hashes of an organization's chain from a block on, as docs/audit.md describes: all
   that the owner of the database can do without the key. */
void sealed_log_rewrite(const struct sealed_log *sealed, int from);

/* A member of an object. */
long long sealed_log_integer(const json_t *in, const char *name);

#endif
