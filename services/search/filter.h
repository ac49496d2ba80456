/*
 * filter - one filter of a search: {"field", "operator", "value"}, checked against the fields that
 * can be searched (docs/api.md, "Search").
 *
 * What     A tree keeps a decimal as a double, which is not what the client sent: so each number of
 *          the tree is put beside its text, in what the tree was read from.
 * Owns     Values are copied into the arena of the errors. A list of numbers lives in the arena;
 *          its texts point into the text that was read, its numbers into the tree.
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

/* `root` is what json_read() made of `text`. False: they do not have as many numbers. */
MUST_CHECK bool number_texts_read(struct str text, json_t *root, struct arena *arena,
                                  struct number_texts *out);

/* The text of a number of that tree. */
struct str number_texts_find(const struct number_texts *numbers, const json_t *number);

/* -- what can be searched ---------------------------------------------------------------------- */

/* Which fields there are, by which operators, for which kind of value. Aliases are resolved:
   contact_ids is contact.id, source.type is channel. */

#define SEARCH_FIELD_ATTRIBUTES "custom_attributes." /* the key follows */

/* Cursors are signed over the numbers of fields and operators, and are good for a week, in replicas of
   the next version too: a new one gets a new number, and no number is used again. */
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

/* NULL: there is no such field, or the key of the attribute could not be one. */
const struct search_field *search_field_find(struct str name);
/* NULL stands for a field that is not known: then any operator may be right. */
bool search_field_allows(const struct search_field *searchable, enum filter_operator op);
bool search_operator_find(struct str text, enum filter_operator *out);

/* For messages: lists, and the name of an operator, which is not repeated unless it is a known one,
   even if left out here. */
const char *search_fields_text(struct arena *arena);
const char *search_operators_text(const struct search_field *searchable, struct arena *arena);
const char *search_operator_name(struct str text);

/* -- a filter ---------------------------------------------------------------------------------- */

#define FILTER_VALUES_MAX 100

struct filter {
    enum filter_field field;
    enum filter_operator op;
    struct str key; /* FILTER_ATTRIBUTE: of the attribute */
    /* What it is compared with: an attribute as JSON text, everything else that is not a time as it
       is. One value, unless the operator is IN or NIN. */
    struct str *values;
    size_t n_values;
    int64_t seconds; /* FILTER_CREATED_AT, FILTER_UPDATED_AT */
};

/* Reads the filter that stands at `path`; `value` may be anything. Problems are added in the order
   of the document; *filter then means nothing. `*names_contact` says whether its field is one that
   names the contact, be the rest of it right or wrong. */
void filter_read(json_t *value, const char *path, const struct number_texts *numbers,
                 struct filter *filter, bool *names_contact, struct errors *errors);

static inline bool filter_names_contact(enum filter_field field)
{
    return field == FILTER_CONTACT_ID || field == FILTER_CONTACT_EXTERNAL_ID;
}

#endif
