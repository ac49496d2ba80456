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
 *          Create and open claim what has a unique key by an advisory lock that is tried, not
 *          waited for (sql/claim.sql): who inserts into a unique index waits for the uncommitted
 *          entry of another and then fails with all its batch.
 *
 *          Create takes the contact of a conversation FOR KEY SHARE, by the foreign key; none of
 *          the locks above blocks it.
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
enum status conversation_create_parse(struct command *command, void *service);
void conversation_create_query(struct command *const *commands, size_t n, struct db *db,
                               void *service);
enum status conversation_create_reply(struct command *command, struct db *db, void *service);

enum status conversation_get_parse(struct command *command, void *service);
void conversation_get_query(struct command *const *commands, size_t n, struct db *db,
                            void *service);
enum status conversation_get_reply(struct command *command, struct db *db, void *service);

enum status conversation_update_parse(struct command *command, void *service);
void conversation_update_query(struct command *command, struct db *db, void *service);
enum status conversation_update_reply(struct command *command, struct db *db, void *service);

/* What other channels and operators do. */
enum status conversation_open_parse(struct command *command, void *service);
void conversation_open_query(struct command *command, struct db *db, void *service);
enum status conversation_open_reply(struct command *command, struct db *db, void *service);

enum status conversation_append_parse(struct command *command, void *service);
void conversation_append_query(struct command *command, struct db *db, void *service);
enum status conversation_append_reply(struct command *command, struct db *db, void *service);

enum status conversation_set_status_parse(struct command *command, void *service);
void conversation_set_status_query(struct command *command, struct db *db, void *service);
enum status conversation_set_status_reply(struct command *command, struct db *db, void *service);

enum status conversation_delete_parse(struct command *command, void *service);
void conversation_delete_query(struct command *command, struct db *db, void *service);
enum status conversation_delete_reply(struct command *command, struct db *db, void *service);

enum status conversation_inbox_parse(struct command *command, void *service);
void conversation_inbox_query(struct command *command, struct db *db, void *service);
enum status conversation_inbox_reply(struct command *command, struct db *db, void *service);

enum status conversation_view_parse(struct command *command, void *service);
void conversation_view_query(struct command *command, struct db *db, void *service);
enum status conversation_view_reply(struct command *command, struct db *db, void *service);

enum status conversation_erase_contact_parse(struct command *command, void *service);
void conversation_erase_contact_query(struct command *command, struct db *db, void *service);
enum status conversation_erase_contact_reply(struct command *command, struct db *db, void *service);

#endif
