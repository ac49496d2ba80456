#include "services/search/search_statement.h"

#include <inttypes.h>

#include "common/db/array.h"
#include "services/search/predicates.h"

static struct str integer(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

static struct str id_text(struct arena *arena, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    return arena_str(arena, str_of(text));
}

static struct str statuses_text(struct arena *arena, unsigned statuses)
{
    struct buf array;

    array_open(&array, arena, 16);
    for (unsigned i = 0; i < PREDICATES_STATUSES; i++) {
        if ((statuses & 1u << i) != 0)
            array_add(&array, str_of(predicates_statuses[i]));
    }
    return array_close(&array);
}

static struct str set_text(struct arena *arena, const struct predicates_set *set)
{
    struct buf array;

    if (!set->is_limited)
        return STR_NONE;
    array_open(&array, arena, 16);
    for (size_t i = 0; i < set->n_of; i++)
        array_add(&array, set->of[i]);
    return array_close(&array);
}

/* An invalid id matches no contact: both parameters stay NULL. */
static void set_contact(const struct filter *contact, db_param *params)
{
    struct uuid id;

    if (contact->field == FILTER_CONTACT_EXTERNAL_ID)
        params[STATEMENT_CONTACT_EXTERNAL_ID] = contact->values[0];
    else if (uuid_parse(contact->values[0], &id))
        params[STATEMENT_CONTACT_ID] = contact->values[0];
}

/* The first page is behind the first moment of what comes after the interval, and the least id. */
static void set_page(const struct page_token *behind, const struct predicates *predicates,
                     struct arena *arena, db_param *params)
{
    const struct page_token first = {.created_us = predicates->created.end * 1000000};
    const struct page_token *token = behind != NULL ? behind : &first;

    params[STATEMENT_BEHIND_TIME] = integer(arena, token->created_us);
    params[STATEMENT_BEHIND_ID] = id_text(arena, &token->id);
    if (token->has_total)
        params[STATEMENT_KNOWN_TOTAL] = integer(arena, (int64_t)token->total);
}

static void set_filters(const struct predicates *predicates, struct arena *arena, db_param *params)
{
    params[STATEMENT_UPDATED_MIN] = integer(arena, predicates->updated.min);
    params[STATEMENT_UPDATED_END] = integer(arena, predicates->updated.end);
    params[STATEMENT_CREATED_NOT] = predicates->created.without;
    params[STATEMENT_UPDATED_NOT] = predicates->updated.without;
    params[STATEMENT_STATUSES] = statuses_text(arena, predicates->statuses);
    params[STATEMENT_CHANNELS] = set_text(arena, &predicates->channels);
    params[STATEMENT_CHANNELS_NOT] = predicates->channels.without;
    params[STATEMENT_EXTERNAL_IDS] = set_text(arena, &predicates->external_ids);
    params[STATEMENT_EXTERNAL_IDS_NOT] = predicates->external_ids.without;
    params[STATEMENT_ATTRIBUTES] = predicates->attributes;
    params[STATEMENT_ATTRIBUTES_ALL] = predicates->attributes_all;
    params[STATEMENT_ATTRIBUTES_NOT] = predicates->attributes_without;
}

void search_statement_make(const struct search_query *query, const struct uuid *organization_id,
                           const struct page_token *behind, struct arena *arena,
                           struct search_statement *out)
{
    struct predicates predicates;

    predicates_make(query, arena, &predicates);
    *out = (struct search_statement){.sql = SQL_SEARCH_CONTACT, .n = STATEMENT_OF_CONTACT};
    out->params[STATEMENT_ORGANIZATION] = id_text(arena, organization_id);
    set_contact(&query->contact, out->params);
    out->params[STATEMENT_CREATED_MIN] = integer(arena, predicates.created.min);
    out->params[STATEMENT_CREATED_END] = integer(arena, predicates.created.end);
    set_page(behind, &predicates, arena, out->params);
    out->params[STATEMENT_ROWS] = integer(arena, query->per_page + 1);
    if (predicates.needs_rows) {
        out->sql = SQL_SEARCH_FILTERED;
        out->n = STATEMENT_PARAMS;
        set_filters(&predicates, arena, out->params);
    }
}
