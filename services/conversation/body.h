/*
 * body - what the API's callers send to create and to change a conversation (contract 4.2, 4.4).
 *
 * Owns     Texts are copied into the arena of `errors`.
 * Threads  Any; pure.
 * Fails    False: `errors` say why.
 */
#ifndef SERVICES_CONVERSATION_BODY_H
#define SERVICES_CONVERSATION_BODY_H

#include "services/conversation/attributes.h"

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
