/*
 * search_fields - what can be searched: the table of contract 4.5.
 *
 * What     Which fields there are, by which operators, for which kind of value. Aliases are
 *          resolved: contact_ids is contact.id, source.type is channel.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_FIELDS_H
#define SERVICES_SEARCH_FIELDS_H

#include "common/base/arena.h"

#define SEARCH_FIELD_ATTRIBUTES "custom_attributes." /* the key follows */

enum filter_field {
    FILTER_CONTACT_ID,
    FILTER_CONTACT_EXTERNAL_ID,
    FILTER_ATTRIBUTE,
    FILTER_EXTERNAL_ID,
    FILTER_CHANNEL,
    FILTER_STATE,
    FILTER_STATUS,
    FILTER_CREATED_AT,
    FILTER_UPDATED_AT,
};

enum filter_operator {
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_IN,
    OPERATOR_NOT_IN,
    OPERATOR_ABOVE,
    OPERATOR_BELOW,
};

enum value_kind {
    VALUE_TEXT,
    VALUE_IDENTIFIER,
    VALUE_STATE,
    VALUE_STATUS,
    VALUE_SECONDS,
    VALUE_ATTRIBUTE,
};

struct search_field {
    const char *name;
    enum filter_field field;
    unsigned operators; /* a bit for each enum filter_operator */
    enum value_kind value;
};

/* NULL: there is no such field, or the key of the attribute could not be one. */
const struct search_field *search_field_find(struct str name);
/* NULL stands for a field that is not known: then any operator may be right. */
bool search_field_allows(const struct search_field *searchable, enum filter_operator op);
bool search_operator_find(struct str text, enum filter_operator *out);

/* For messages: lists, and the name of an operator, which is not repeated unless it is a known one,
   be it one that is left out here. */
const char *search_fields_text(struct arena *arena);
const char *search_operators_text(const struct search_field *searchable, struct arena *arena);
const char *search_operator_name(struct str text);

#endif
