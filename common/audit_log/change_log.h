/*
 * change_log - the log of changes (table audit.changes): who changed what, when and how.
 *
 * What     One row for every command that succeeded, whose route names a change and that changed
 *          something, written in the transaction of the work. It takes its target and detail from
 *          the request and the reply as proto/change.def has it, and from what the handler noted
 *          (command_note()). Without User-Email it was an operator, by convctl.
 * Owns     Everything is made in the arena.
 * Threads  The actor's.
 * Fails    Never. A value that is too long for a detail is put down as its size.
 */
#ifndef COMMON_AUDIT_LOG_CHANGE_LOG_H
#define COMMON_AUDIT_LOG_CHANGE_LOG_H

#include "common/actor/actor.h"

#define CHANGE_LOG_VALUE_MAX 1024 /* bytes of JSON; no more of one value stand in a detail */

struct change_entry {
    struct str target; /* STR_NONE = nothing in particular */
    struct str detail; /* a JSON object */
};

/* What is audited of a command that succeeded. */
struct change_entry change_entry_of(const struct command *command, struct arena *arena);

/* Queues `statement` (sql/append_changes.sql) for those of `commands` that are to be recorded, if
   there are any. */
void change_log_add(struct db *db, int statement, struct command *const *commands, size_t n,
                    struct arena *arena);

#endif
