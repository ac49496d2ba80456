/*
 * audit - the service that keeps the trail: it takes the entries of what ended in the gateway and
 * serves GET /audit.
 *
 * Threads  struct audit is shared by the actors and read-only after start, except for what
 *          audit_upkeep() keeps, which only the first actor's thread touches.
 */
#ifndef SERVICES_AUDIT_AUDIT_H
#define SERVICES_AUDIT_AUDIT_H

#include "common/actor/actor.h"
#include "common/crypto/cursor.h"
#include "common/trail/trail.h"

struct audit {
    struct cursor_keys keys;
    int64_t upkeep_due_us; /* clock_mono_us() */
};

/* v1.audit.append: judging is all there is; the ledger does the rest. */
enum status audit_append_judge(struct command *command, void *service);

/* v1.audit.list */
enum status audit_list_judge(struct command *command, void *service);
void audit_list_ask(struct command *command, struct db *db, void *service);
enum status audit_list_tell(struct command *command, struct db *db, void *service);

/* One INSERT a batch, for the entries handed in with append and those of the lists themselves. */
extern const struct ledger audit_ledger;

/* Partitions made ahead, about once an hour. */
void audit_upkeep(struct db *db, struct arena *arena, void *service);

#endif
