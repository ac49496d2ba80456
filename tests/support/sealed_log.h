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

/* A new organization with three lots of entries, each sealed before the next is begun. */
void sealed_log_make(struct sealed_log *sealed);
/* Returns when every entry of the organization is sealed. */
void sealed_log_await_seal(struct org *org);
/* The same of an organization in any cell, as convctl tells; what it says meanwhile is to be sound, too. */
void sealed_log_await_verified(struct org *org);

/* What convctl says of it; lives until the test's process ends. */
json_t *sealed_log_verify(const struct sealed_log *sealed);
void sealed_log_expect_sound(const struct sealed_log *sealed);
/* Expects that verifying fails, names that kind and, unless NULL, that entry. */
void sealed_log_expect_found(const struct sealed_log *sealed, const char *kind, const char *id);

/* How many findings of that kind there are now. */
long long sealed_log_count(const struct sealed_log *sealed, const char *kind);

/* A statement of the database's owner, which returns something; $1 is the organization, $2 an
   entry, or what the statement makes of it. */
void sealed_log_tamper(const struct sealed_log *sealed, const char *statement, const char *id);
/* Hashes the chain of an organization again from a block on, as docs/audit.md describes it: all
   that the owner of the database can do without the key. */
void sealed_log_rewrite(const struct sealed_log *sealed, int from);

/* A member of an object. */
long long sealed_log_integer(const json_t *in, const char *name);

#endif
