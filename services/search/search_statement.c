#include "services/search/search_statement.h"

#include "common/db/params.h"
#include "common/model/conversation_model.h"
#include "services/search/predicates.h"

static struct str statuses_text(struct arena *arena, unsigned statuses)
{
    struct buf array;

    array_open(&array, arena, 16);
    for (unsigned i = 0; i < CONVERSATION_STORED_STATUSES; i++) {
        if ((statuses & 1u << i) != 0)
            array_add(&array, str_of(conversation_stored_statuses[i]));
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
static void set_contact(const struct filter *contact, struct str *params)
{
    struct uuid id;

    if (contact->field == FILTER_CONTACT_EXTERNAL_ID)
        params[STATEMENT_CONTACT_EXTERNAL_ID] = contact->values[0];
    else if (uuid_parse(contact->values[0], &id))
        params[STATEMENT_CONTACT_ID] = contact->values[0];
}

/* The place of the first page is the end of the interval, with the smallest id. */
static void set_page(const struct page_token *behind, const struct predicates *predicates,
                     struct arena *arena, struct search_statement *out)
{
    const struct page_token first = {.created_us = predicates->created.end * 1000000};
    const struct page_token *token = behind != NULL ? behind : &first;

    out->params[STATEMENT_BEHIND_TIME] = param_int(arena, token->created_us);
    out->params[STATEMENT_BEHIND_ID] = param_id(arena, &token->id);
    out->is_first_page = behind == NULL;
    out->created_end = param_int(arena, predicates->created.end);
    out->end_time = param_int(arena, first.created_us);
    out->end_id = param_id(arena, &first.id);
    if (!token->has_total)
        return;
    out->total = (int64_t)token->total;
    out->known_total = param_int(arena, out->total);
}

static void set_filters(const struct predicates *predicates, struct arena *arena,
                        struct str *params)
{
    if (predicates->updated.min > PREDICATES_SECONDS_MIN)
        params[STATEMENT_UPDATED_MIN] = param_int(arena, predicates->updated.min);
    if (predicates->updated.end < PREDICATES_SECONDS_MAX)
        params[STATEMENT_UPDATED_END] = param_int(arena, predicates->updated.end);
    params[STATEMENT_CREATED_NOT] = predicates->created.without;
    params[STATEMENT_UPDATED_NOT] = predicates->updated.without;
    if (predicates->statuses != PREDICATES_STATUS_ANY)
        params[STATEMENT_STATUSES] = statuses_text(arena, predicates->statuses);
    params[STATEMENT_CHANNELS] = set_text(arena, &predicates->channels);
    params[STATEMENT_CHANNELS_NOT] = predicates->channels.without;
    params[STATEMENT_EXTERNAL_IDS] = set_text(arena, &predicates->external_ids);
    params[STATEMENT_EXTERNAL_IDS_NOT] = predicates->external_ids.without;
    params[STATEMENT_ATTRIBUTES] = predicates->attributes;
    params[STATEMENT_ATTRIBUTES_ALL] = predicates->attributes_all;
    params[STATEMENT_ATTRIBUTES_NOT] = predicates->attributes_without;
}

static bool leaves_out(const struct str *params)
{
    int i = STATEMENT_CREATED_NOT;

    while (i < STATEMENT_ROWS && params[i].p == NULL)
        i++;
    return i < STATEMENT_ROWS;
}

void search_statement_make(const struct search_query *query, const struct uuid *organization_id,
                           const struct page_token *behind, struct arena *arena,
                           struct search_statement *out)
{
    struct predicates predicates;

    predicates_make(query, arena, &predicates);
    *out = (struct search_statement){.sql = SQL_SEARCH_CONTACT};
    out->params[STATEMENT_ORGANIZATION] = param_id(arena, organization_id);
    set_contact(&query->contact, out->params);
    out->params[STATEMENT_CREATED_MIN] = param_int(arena, predicates.created.min);
    set_page(behind, &predicates, arena, out);
    out->rows = (size_t)query->per_page + 1;
    out->params[STATEMENT_ROWS] = param_int(arena, (int64_t)out->rows);
    if (predicates.needs_rows) {
        set_filters(&predicates, arena, out->params);
        out->sql = leaves_out(out->params) ? SQL_SEARCH_WITHOUT : SQL_SEARCH_FILTERED;
    }
}
