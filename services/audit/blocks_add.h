/*
 * blocks_add - signs blocks and writes them into the table.
 *
 * Owns     Nothing: parameters live in the arena.
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_BLOCKS_ADD_H
#define SERVICES_AUDIT_BLOCKS_ADD_H

#include "common/crypto/signing.h"
#include "common/db/db.h"
#include "services/audit/chain.h"

/* Adds the statement to the batch. */
void blocks_add(struct db *db, struct signing_key *key, const struct block_made *blocks, size_t n,
                struct arena *arena);

#endif
