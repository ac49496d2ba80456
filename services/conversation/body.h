/*
 * body - the request bodies that create and change a conversation, and what this service's handlers
 *        share: parameters of statements, and replies.
 *
 * What     Checks bodies. PostgreSQL parses the stored custom attributes from the client's original
 *          bytes, so numbers keep every digit.
 * Owns     Texts are copied into the arena of `errors`; replies live in the command's arena.
 * Threads  Any; pure. Functions that take a command run on the actor's.
 * Fails    False: `errors` say why.
 */
#ifndef SERVICES_CONVERSATION_BODY_H
#define SERVICES_CONVERSATION_BODY_H

#include "common/actor/actor.h"
#include "common/json/fields.h"
#include "common/model/conversation_model.h"

/* -- custom attributes ------------------------------------------------------------------------- */

#define ATTRIBUTES_MAX 20 /* stored on one conversation */

struct attributes {
    bool given;
    size_t n_values; /* members that are not null */
};

/* A field_read_fn; the slot is a struct attributes. */
void attributes_read(json_t *value, const char *path, void *slot, struct errors *errors);

/* The message when a change would exceed ATTRIBUTES_MAX. */
#define ATTRIBUTES_TOO_MANY "custom_attributes must not have more than 20 keys"

/* -- bodies ------------------------------------------------------------------------------------ */

/* The contact. Absent fields are STR_NONE; a valid body has exactly one of external_id and id. */
struct body_from {
    struct str external_id;
    struct str id; /* well-formed; one that is not in lower case matches no contact */
    struct str name;
    struct str email; /* in lower case */
    struct str phone; /* trimmed */
};

struct create_body {
    struct str external_id;
    struct body_from from;
    struct attributes custom_attributes;
};

struct update_body {
    struct attributes custom_attributes;
};

MUST_CHECK bool create_body_read(struct str body, struct create_body *out, struct errors *errors);
MUST_CHECK bool update_body_read(struct str body, struct update_body *out, struct errors *errors);

/* -- parameters and replies -------------------------------------------------------------------- */

/* An id as a parameter: its canonical text. */
struct str conversation_id_param(struct command *command, const struct uuid *id);
/* A new id, as a parameter. */
struct str conversation_new_id_param(struct command *command);
/* The caller's organization, as a parameter. */
struct str conversation_organization_param(struct command *command);

/* Refuses: there is no such conversation, or it belongs to another organization. */
enum status conversation_refuse_absent(struct command *command);

/* Answers with a conversation and names it in the audit log. */
enum status conversation_reply(struct command *command,
                               const struct str values[CONVERSATION_COLUMNS]);
enum status conversation_reply_row(struct command *command, const struct db_rows *rows, size_t row,
                                   int first);

/* Parses an id for the audit log; STR_NONE becomes nil. */
void conversation_note_id(struct uuid *out, struct str text);

#endif
