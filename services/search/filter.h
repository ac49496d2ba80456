/*
 * filter - one filter of a search: field, operator and value, judged and brought into one form.
 *
 * What     The table of contract 4.5: which fields can be searched, by which operators, for which
 *          values. Aliases are resolved: contact_ids is contact.id, source.type is channel.
 * Owns     What is read is copied into the arena of the problems.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_FILTER_H
#define SERVICES_SEARCH_FILTER_H

#include "common/wire/json.h"
#include "common/wire/problems.h"
#include "services/search/literals.h"

#define FILTER_VALUES_MOST 100

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
void filter_read(json_t *value, const char *path, const struct literals *literals,
                 struct filter *filter, bool *names_contact, struct problems *problems);

static inline bool filter_names_contact(enum filter_field field)
{
    return field == FILTER_CONTACT_ID || field == FILTER_CONTACT_EXTERNAL_ID;
}

#endif
