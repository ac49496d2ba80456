/*
 * conversation - the service's handlers: one file a command, three steps each (common/actor).
 *
 * Threads  The actor's.
 */
#ifndef SERVICES_CONVERSATION_CONVERSATION_H
#define SERVICES_CONVERSATION_CONVERSATION_H

#include "common/actor/actor.h"

/* The API's commands. */
enum status create_judge(struct command *command, void *service);
void create_ask(struct command *const *commands, size_t n, struct db *db, void *service);
enum status create_tell(struct command *command, struct db *db, void *service);

enum status get_judge(struct command *command, void *service);
void get_ask(struct command *const *commands, size_t n, struct db *db, void *service);
enum status get_tell(struct command *command, struct db *db, void *service);

enum status update_judge(struct command *command, void *service);
void update_ask(struct command *command, struct db *db, void *service);
enum status update_tell(struct command *command, struct db *db, void *service);

/* What other channels and operators do. */
enum status open_judge(struct command *command, void *service);
void open_ask(struct command *command, struct db *db, void *service);
enum status open_tell(struct command *command, struct db *db, void *service);

enum status append_judge(struct command *command, void *service);
void append_ask(struct command *command, struct db *db, void *service);
enum status append_tell(struct command *command, struct db *db, void *service);

enum status set_status_judge(struct command *command, void *service);
void set_status_ask(struct command *command, struct db *db, void *service);
enum status set_status_tell(struct command *command, struct db *db, void *service);

enum status delete_judge(struct command *command, void *service);
void delete_ask(struct command *command, struct db *db, void *service);
enum status delete_tell(struct command *command, struct db *db, void *service);

enum status inbox_judge(struct command *command, void *service);
void inbox_ask(struct command *command, struct db *db, void *service);
enum status inbox_tell(struct command *command, struct db *db, void *service);

enum status view_judge(struct command *command, void *service);
void view_ask(struct command *command, struct db *db, void *service);
enum status view_tell(struct command *command, struct db *db, void *service);

enum status erase_contact_judge(struct command *command, void *service);
void erase_contact_ask(struct command *command, struct db *db, void *service);
enum status erase_contact_tell(struct command *command, struct db *db, void *service);

#endif
