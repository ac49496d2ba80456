/*
 * conversation - the service's handlers: one file a command, three steps each (common/actor).
 *
 * Locks    No statement here waits for another transaction, so no two can wait for each other in a
 *          circle, and the order of commands in a batch is that of their arrival. What another
 *          transaction is changing makes one command ST_RETRY and no other of its batch:
 *
 *          Update, append, set-status, delete, erase-contact, and a create or an open that changes
 *          a contact's profile, lock the row before they look at it: FOR NO KEY UPDATE SKIP LOCKED.
 *
 *          Create and open claim unique keys by an advisory lock that is tried, not waited for
 *          (sql/claim.sql): a transaction that inserts into a unique index waits for another's
 *          uncommitted entry and then fails with all its batch.
 *
 *          Create looks its contact up and locks it for nothing but a change of its profile: contacts
 *          are never deleted (docs/decisions/0022-contacts-stay.md).
 *
 *          The unique keys stay the last word. Claims only keep commands from running into them:
 *          a writer without claims, such as a script, costs retries and breaks nothing.
 *
 *          A batch holds at most 128 times 4 advisory locks until it is committed. PostgreSQL has
 *          room for max_locks_per_transaction (64) for each of its max_connections.
 * Threads  The actor's.
 */
#ifndef SERVICES_CONVERSATION_CONVERSATION_H
#define SERVICES_CONVERSATION_CONVERSATION_H

#include "common/actor/actor.h"

/* The API's commands. */
extern const struct command_handler conversation_create;
extern const struct command_handler conversation_get;
extern const struct command_handler conversation_update;

/* What other channels and operators do. */
extern const struct command_handler conversation_open;
extern const struct command_handler conversation_append;
extern const struct command_handler conversation_set_status;
extern const struct command_handler conversation_delete;
extern const struct command_handler conversation_erase_contact;
extern const struct command_handler conversation_inbox;
extern const struct command_handler conversation_view;

/* Which way a status may go (set_status.c): any open status to any other open one and to `resolved`;
   `resolved` to `archived` or `active`; `archived` to `resolved`. The legacy `closed` counts as
   `resolved`. */
bool conversation_status_may_become(struct str from, struct str to);
/* They read as the same status. */
bool conversation_status_is_same(struct str a, struct str b);
/* Every status, the legacy one included, that may become `to`, as the text of an array:
   {active,waiting}. */
struct str conversation_status_sources(struct arena *arena, struct str to);

#endif
