/*
 * filter - one filter of a search: {"field", "operator", "value"}, checked against the fields that
 * can be searched (docs/api.md, "Search").
 *
 * What     The JSON tree stores decimals as doubles, which may differ from what the client sent. So
 *          each number of the tree is paired with its spelling in the text.
 * Owns     Values are copied into the arena of the errors. A struct number_texts lives in its
 *          arena; its elements point into the text and into the tree.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_FILTER_H
#define SERVICES_SEARCH_FILTER_H

#include "common/base/arena.h"
#include "common/json/fields.h"
#include "common/json/json.h"

/* -- numbers as they were spelled -------------------------------------------------------------- */

struct number_text {
    const json_t *number;
    struct str text;
};

struct number_texts {
    struct number_text *at; /* in the order of the document */
    size_t n;
};

/* `root` is the tree that json_read() made of `text`. False: their counts of numbers differ. */
MUST_CHECK bool number_texts_read(struct str text, json_t *root, struct arena *arena,
                                  struct number_texts *out);

/* The text of a number of that tree. */
struct str number_texts_find(const struct number_texts *numbers, const json_t *number);

/* -- what can be searched ---------------------------------------------------------------------- */

/* The fields, with the operators and the kind of value that each takes. Aliases are resolved:
   contact_ids is contact.id, source.type is channel. */

#define SEARCH_FIELD_ATTRIBUTES "custom_attributes." /* the key follows */

/* A cursor's signature covers these numbers, and cursors stay valid for a week, also in replicas of
   the next version. So a new field or operator gets a new number, and no number is reused. */
enum filter_field {
    FILTER_CONTACT_ID = 0,
    FILTER_CONTACT_EXTERNAL_ID = 1,
    FILTER_ATTRIBUTE = 2,
    FILTER_EXTERNAL_ID = 3,
    FILTER_CHANNEL = 4,
    FILTER_STATE = 5,
    FILTER_STATUS = 6,
    FILTER_CREATED_AT = 7,
    FILTER_UPDATED_AT = 8,
};

enum filter_operator {
    OPERATOR_EQUAL = 0,
    OPERATOR_NOT_EQUAL = 1,
    OPERATOR_IN = 2,
    OPERATOR_NOT_IN = 3,
    OPERATOR_ABOVE = 4,
    OPERATOR_BELOW = 5,
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

/* NULL: there is no such field, or the attribute's key is invalid. */
const struct search_field *search_field_find(struct str name);
/* NULL: the field is unknown; then every operator is allowed. */
bool search_field_allows(const struct search_field *searchable, enum filter_operator op);
bool search_operator_find(struct str text, enum filter_operator *out);

/* For messages: lists of names. search_operator_name() returns the operator only if it is a known
   one, supported or not, and "this operator" for any other text. */
const char *search_fields_text(struct arena *arena);
const char *search_operators_text(const struct search_field *searchable, struct arena *arena);
const char *search_operator_name(struct str text);

/* -- a filter ---------------------------------------------------------------------------------- */

#define FILTER_VALUES_MAX 100

struct filter {
    enum filter_field field;
    enum filter_operator op;
    struct str key; /* FILTER_ATTRIBUTE: of the attribute */
    /* The values to compare with, except for times; those of an attribute are JSON text. One value,
       unless the operator is IN or NIN. */
    struct str *values;
    size_t n_values;
    int64_t seconds; /* FILTER_CREATED_AT, FILTER_UPDATED_AT */
};

/* Reads the filter at `path`; `value` may be any JSON. Errors are added in the order of the
   document; if there are any, *filter is unusable. *names_contact tells whether the filter's field
   names the contact, even if the rest is invalid. */
void filter_read(json_t *value, const char *path, const struct number_texts *numbers,
                 struct filter *filter, bool *names_contact, struct errors *errors);

static inline bool filter_names_contact(enum filter_field field)
{
    return field == FILTER_CONTACT_ID || field == FILTER_CONTACT_EXTERNAL_ID;
}

#endif
