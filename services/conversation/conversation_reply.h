/*
 * conversation_reply - what the handlers of this service have in common when they ask and answer.
 *
 * Owns     Everything lives in the command's arena.
 * Threads  The actor's.
 */
#ifndef SERVICES_CONVERSATION_CONVERSATION_REPLY_H
#define SERVICES_CONVERSATION_CONVERSATION_REPLY_H

#include "common/actor/actor.h"
#include "common/json/fields.h"
#include "common/model/conversation_model.h"

/* An id as a parameter: its canonical text. */
struct str conversation_id_param(struct command *command, const struct uuid *id);
/* A new id, as a parameter. */
struct str conversation_new_id_param(struct command *command);
/* The organization, which is the first parameter of every statement. */
struct str conversation_organization_param(struct command *command);

/* Refuses: there is no such conversation, or it belongs to another organization. */
enum status conversation_refuse_absent(struct command *command);

/* Answers with a conversation and names it in the audit log. */
enum status conversation_reply(struct command *command,
                               const struct str values[CONVERSATION_COLUMNS]);
enum status conversation_reply_row(struct command *command, const struct db_rows *rows, size_t row,
                                   int first);

/* Takes the text of an id for the audit log; STR_NONE is nil. */
void conversation_note_id(struct uuid *out, struct str text);

#endif
