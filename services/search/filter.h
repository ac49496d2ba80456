/*
 * filter - one filter of a search: {"field", "operator", "value"}, checked against the fields that
 * can be searched.
 *
 * Owns     What is read is copied into the arena of the errors.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_FILTER_H
#define SERVICES_SEARCH_FILTER_H

#include "common/wire/errors.h"
#include "common/wire/json.h"
#include "services/search/number_text.h"
#include "services/search/search_fields.h"

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
