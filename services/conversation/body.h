/*
 * body - what the API's callers send to create and to change a conversation.
 *
 * What     Checks it. The custom attributes that are stored are made by PostgreSQL
 *          from the caller's own bytes, so that numbers keep every digit.
 * Owns     Texts are copied into the arena of `errors`.
 * Threads  Any; pure.
 * Fails    False: `errors` say why.
 */
#ifndef SERVICES_CONVERSATION_BODY_H
#define SERVICES_CONVERSATION_BODY_H

#include "common/json/fields.h"

/* -- custom attributes ------------------------------------------------------------------------- */

#define ATTRIBUTES_MAX 20 /* stored on one conversation */

struct attributes {
    bool given;
    size_t n_values; /* members that are not null */
};

/* A field_read_fn; the slot is a struct attributes. */
void attributes_read(json_t *value, const char *path, void *slot, struct errors *errors);

/* What a caller is told whose change would make them too many. */
#define ATTRIBUTES_TOO_MANY "custom_attributes must not have more than 20 keys"

/* -- bodies ------------------------------------------------------------------------------------ */

/* The customer. STR_NONE where nothing was sent; either external_id or id is there. */
struct body_from {
    struct str external_id;
    struct str id; /* well-formed; ids that are not in lower case name nothing */
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

#endif
