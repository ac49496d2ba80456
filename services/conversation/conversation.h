/*
 * conversation - the service's command handlers, each with the steps parse, query and reply
 *                (common/actor).
 *
 * Locks    No statement here waits for another transaction, so that its order does not matter
 *          (docs/decisions/0017-claims-before-creates.md). Only the audit entries that go out with
 *          the commit may wait, for the same request's entry by the audit service or for the lock of
 *          a partition: until lock_timeout. If another transaction is
 *          changing a row or key that a command needs, that command alone returns ST_RETRY, and the
 *          others of its batch go on. The rules:
 *
 *          Update, append, set-status, delete, erase-contact, and a create or an open that changes
 *          a contact's profile, lock the row before they read it: FOR NO KEY UPDATE SKIP LOCKED.
 *
 *          Create and open try, without waiting, an advisory lock for each unique key they insert
 *          (sql/claim.sql). Without it, an insert would wait for another transaction's uncommitted
 *          entry in the unique index and then fail, and its whole batch with it.
 *
 *          Create locks its contact only to change the profile: contacts are never deleted
 *          (docs/decisions/0022-contacts-stay.md).
 *
 *          The unique indexes still enforce uniqueness; claims only avoid conflicts with them. A
 *          writer without claims, such as a script, costs retries but breaks nothing.
 *
 *          A batch of 128 commands holds at most 4 advisory locks for each until it commits.
 *          PostgreSQL's lock table has max_locks_per_transaction (64) entries for each of its
 *          max_connections.
 * Threads  The actor's.
 */
#ifndef SERVICES_CONVERSATION_CONVERSATION_H
#define SERVICES_CONVERSATION_CONVERSATION_H

#include "common/actor/actor.h"

/* The API's commands. */
extern const struct command_handler conversation_create;
extern const struct command_handler conversation_get;
extern const struct command_handler conversation_update;

/* Commands of other channels, of operators and of the dashboard. */
extern const struct command_handler conversation_open;
extern const struct command_handler conversation_append;
extern const struct command_handler conversation_set_status;
extern const struct command_handler conversation_delete;
extern const struct command_handler conversation_erase_contact;
extern const struct command_handler conversation_inbox;
extern const struct command_handler conversation_view;

/* Whether the transition is allowed (set_status.c). An open status may become any other open status
   or `resolved`; `resolved` may become `archived` or `active`; `archived` may become `resolved`.
   The legacy `closed` counts as `resolved`. */
bool conversation_status_may_become(struct str from, struct str to);
/* Whether clients see both as the same status: the legacy `closed` is shown as `resolved`. */
bool conversation_status_is_same(struct str a, struct str b);
/* The stored statuses, the legacy one included, that may become `to`; in PostgreSQL's array syntax:
   {active,waiting}. */
struct str conversation_status_sources(struct arena *arena, struct str to);

#endif
