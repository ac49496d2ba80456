#include "services/search/plan.h"

#include <inttypes.h>

#include "common/db/array.h"
#include "services/search/sieve.h"

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
    for (unsigned i = 0; i < SIEVE_STATUSES; i++) {
        if ((statuses & 1u << i) != 0)
            array_add(&array, str_of(sieve_statuses[i]));
    }
    return array_close(&array);
}

static struct str set_text(struct arena *arena, const struct sieve_set *set)
{
    struct buf array;

    if (!set->is_limited)
        return STR_NONE;
    array_open(&array, arena, 16);
    for (size_t i = 0; i < set->n_of; i++)
        array_add(&array, set->of[i]);
    return array_close(&array);
}

/* What is no id is nobody's: both parameters stay NULL. */
static void set_contact(const struct filter *contact, db_param *params)
{
    struct uuid id;

    if (contact->field == FILTER_CONTACT_EXTERNAL_ID)
        params[PLAN_CONTACT_EXTERNAL_ID] = contact->values[0];
    else if (uuid_parse(contact->values[0], &id))
        params[PLAN_CONTACT_ID] = contact->values[0];
}

/* The first page is behind the first moment of what comes after the interval, and the least id. */
static void set_place(const struct place *behind, const struct sieve *sieve, struct arena *arena,
                      db_param *params)
{
    const struct place first = {.created_us = sieve->created.end * 1000000};
    const struct place *place = behind != NULL ? behind : &first;

    params[PLAN_BEHIND_TIME] = integer(arena, place->created_us);
    params[PLAN_BEHIND_ID] = id_text(arena, &place->id);
}

static void set_filters(const struct sieve *sieve, struct arena *arena, db_param *params)
{
    params[PLAN_UPDATED_LEAST] = integer(arena, sieve->updated.least);
    params[PLAN_UPDATED_END] = integer(arena, sieve->updated.end);
    params[PLAN_CREATED_NOT] = sieve->created.without;
    params[PLAN_UPDATED_NOT] = sieve->updated.without;
    params[PLAN_STATUSES] = statuses_text(arena, sieve->statuses);
    params[PLAN_CHANNELS] = set_text(arena, &sieve->channels);
    params[PLAN_CHANNELS_NOT] = sieve->channels.without;
    params[PLAN_EXTERNAL_IDS] = set_text(arena, &sieve->external_ids);
    params[PLAN_EXTERNAL_IDS_NOT] = sieve->external_ids.without;
    params[PLAN_ATTRIBUTES] = sieve->attributes;
    params[PLAN_ATTRIBUTES_NOT] = sieve->attributes_without;
}

void plan_make(const struct query *query, const struct uuid *organization_id,
               const struct place *behind, struct arena *arena, struct plan *out)
{
    struct sieve sieve;

    sieve_make(query, arena, &sieve);
    *out = (struct plan){.statement = SQL_SEARCH_CONTACT, .n = PLAN_OF_CONTACT};
    out->params[PLAN_ORGANIZATION] = id_text(arena, organization_id);
    set_contact(&query->contact, out->params);
    out->params[PLAN_CREATED_LEAST] = integer(arena, sieve.created.least);
    out->params[PLAN_CREATED_END] = integer(arena, sieve.created.end);
    set_place(behind, &sieve, arena, out->params);
    out->params[PLAN_ROWS] = integer(arena, query->per_page + 1);
    if (sieve.needs_rows) {
        out->statement = SQL_SEARCH_FILTERED;
        out->n = PLAN_PARAMS;
        set_filters(&sieve, arena, out->params);
    }
}
