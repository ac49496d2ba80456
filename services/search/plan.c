#include "services/search/plan.h"

#include <inttypes.h>

/* Seconds that a timestamptz can hold with room to spare, so that no filter can make the database
   fail. Nothing is as old as the first or as new as the second. */
#define SECONDS_LEAST INT64_C(-200000000000)
#define SECONDS_MOST  INT64_C(9000000000000)

/* What is stored. `closed` is a legacy row, which clients see as `resolved`. */
static const char *const stored_statuses[] = {"active",   "waiting",  "human_takeover",
                                              "resolved", "archived", "closed"};
enum { STATUSES = sizeof(stored_statuses) / sizeof(stored_statuses[0]) };

enum {
    STATUS_OPEN = 1u << 0 | 1u << 1 | 1u << 2,
    STATUS_CLOSED = 1u << 3 | 1u << 4 | 1u << 5,
    STATUS_RESOLVED = 1u << 3 | 1u << 5,
    STATUS_ANY = STATUS_OPEN | STATUS_CLOSED,
};

/* Values of which one must be there, and values of which none may be. */
struct set {
    bool is_limited; /* false: any value is fine */
    struct str *of;
    size_t n_of;
    struct buf without; /* an array's text */
};

struct interval {
    int64_t least, end; /* from the one to before the other */
    struct buf without; /* an array's text */
};

/* All filters of a query, drawn together. */
struct sieve {
    struct interval created, updated;
    unsigned statuses; /* a bit for each of stored_statuses */
    struct set channels, external_ids;
    struct buf attributes, attributes_not; /* arrays' texts */
    bool needs_rows;                       /* more is asked than the index knows */
};

/* -- arrays as text: {"a","b"} --------------------------------------------------------------------
 */

static void array_open(struct buf *array, struct arena *arena)
{
    buf_init(array, arena, 16);
    buf_char(array, '{');
}

static void array_add(struct buf *array, struct str text)
{
    if (array->n > 1)
        buf_char(array, ',');
    buf_char(array, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            buf_char(array, '\\');
        buf_char(array, text.p[i]);
    }
    buf_char(array, '"');
}

static struct str array_close(struct buf *array)
{
    buf_char(array, '}');
    return buf_str(array);
}

static struct str integer(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

/* -- drawing together
 * ------------------------------------------------------------------------------ */

static bool is_among(struct str value, const struct str *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_equal(value, values[i]))
            return true;
    }
    return false;
}

static bool is_negative(const struct filter *filter)
{
    return filter->op == OPERATOR_NOT_EQUAL || filter->op == OPERATOR_NOT_IN;
}

/* Keeps of a set what is also among these values. */
static void limit(struct set *set, const struct str *values, size_t n, struct arena *arena)
{
    struct str *both = ARENA_ARRAY(arena, struct str, n);
    size_t n_both = 0;

    for (size_t i = 0; i < n; i++) {
        if (!set->is_limited || is_among(values[i], set->of, set->n_of))
            both[n_both++] = values[i];
    }
    *set = (struct set){.is_limited = true, .of = both, .n_of = n_both, .without = set->without};
}

static void narrow_set(struct set *set, const struct filter *filter, struct arena *arena)
{
    if (!is_negative(filter)) {
        limit(set, filter->values, filter->n_values, arena);
        return;
    }
    for (size_t i = 0; i < filter->n_values; i++)
        array_add(&set->without, filter->values[i]);
}

static unsigned stored_as(struct str status)
{
    if (str_equal(status, STR("open")))
        return STATUS_OPEN;
    if (str_equal(status, STR("closed")))
        return STATUS_CLOSED;
    if (str_equal(status, STR("resolved")))
        return STATUS_RESOLVED;
    for (unsigned i = 0; i < STATUSES; i++) {
        if (str_equal(status, str_of(stored_statuses[i])))
            return 1u << i;
    }
    return 0;
}

/* Of a filter on status or on state: their values have no word in common. */
static unsigned status_set(const struct filter *filter)
{
    unsigned set = 0;

    for (size_t i = 0; i < filter->n_values; i++)
        set |= stored_as(filter->values[i]);
    return is_negative(filter) ? STATUS_ANY & ~set : set;
}

static void narrow_interval(struct interval *interval, const struct filter *filter,
                            struct arena *arena)
{
    int64_t second = filter->seconds, least = interval->least, end = interval->end;

    if (second < SECONDS_LEAST)
        second = SECONDS_LEAST;
    if (second > SECONDS_MOST - 1)
        second = SECONDS_MOST - 1;
    if (filter->op == OPERATOR_NOT_EQUAL) {
        array_add(&interval->without, integer(arena, second));
    } else if (filter->op == OPERATOR_ABOVE) {
        least = second + 1;
    } else if (filter->op == OPERATOR_BELOW) {
        end = second;
    } else {
        least = second;
        end = second + 1;
    }
    if (least > interval->least)
        interval->least = least;
    if (end < interval->end)
        interval->end = end;
}

static void add_attribute(struct buf *array, const struct filter *filter, struct arena *arena)
{
    struct buf object;

    buf_init(&object, arena, filter->key.n + filter->values[0].n + 8);
    buf_char(&object, '{');
    json_add_string(&object, filter->key);
    buf_char(&object, ':');
    buf_add(&object, filter->values[0]);
    buf_char(&object, '}');
    array_add(array, buf_str(&object));
}

static void add_filter(struct sieve *sieve, const struct filter *filter, struct arena *arena)
{
    const struct str api = STR("api");

    sieve->needs_rows |= filter->field != FILTER_CREATED_AT || is_negative(filter);
    switch (filter->field) {
    case FILTER_CREATED_AT:
        narrow_interval(&sieve->created, filter, arena);
        break;
    case FILTER_UPDATED_AT:
        narrow_interval(&sieve->updated, filter, arena);
        break;
    case FILTER_STATE:
    case FILTER_STATUS:
        sieve->statuses &= status_set(filter);
        break;
    case FILTER_CHANNEL:
        narrow_set(&sieve->channels, filter, arena);
        break;
    case FILTER_EXTERNAL_ID:
        /* != and NIN too match only conversations of the API. */
        limit(&sieve->channels, &api, 1, arena);
        narrow_set(&sieve->external_ids, filter, arena);
        break;
    case FILTER_ATTRIBUTE:
        add_attribute(is_negative(filter) ? &sieve->attributes_not : &sieve->attributes, filter,
                      arena);
        break;
    case FILTER_CONTACT_ID:
    case FILTER_CONTACT_EXTERNAL_ID:
        break;
    }
}

/* -- parameters
 * ------------------------------------------------------------------------------------ */

static struct str statuses_text(unsigned statuses, struct arena *arena)
{
    struct buf array;

    array_open(&array, arena);
    for (unsigned i = 0; i < STATUSES; i++) {
        if ((statuses & 1u << i) != 0)
            array_add(&array, str_of(stored_statuses[i]));
    }
    return array_close(&array);
}

static struct str set_text(const struct set *set, struct arena *arena)
{
    struct buf array;

    if (!set->is_limited)
        return STR_NONE;
    array_open(&array, arena);
    for (size_t i = 0; i < set->n_of; i++)
        array_add(&array, set->of[i]);
    return array_close(&array);
}

static void set_contact(const struct filter *contact, struct plan *out)
{
    struct uuid id;

    if (contact->field == FILTER_CONTACT_EXTERNAL_ID)
        out->params[PLAN_CONTACT_EXTERNAL_ID] = contact->values[0];
    else if (uuid_parse(contact->values[0], &id))
        out->params[PLAN_CONTACT_ID] = contact->values[0];
    /* What is no id is nobody's: both stay NULL. */
}

/* The first page begins behind the end of the interval: its very first moment, and the least id. */
static void set_place(const struct place *behind, const struct sieve *sieve, struct arena *arena,
                      struct plan *out)
{
    const struct place first = {.created_us = sieve->created.end * 1000000};
    const struct place *place = behind != NULL ? behind : &first;
    char id[UUID_TEXT + 1];

    uuid_format(&place->id, id);
    out->params[PLAN_BEHIND_TIME] = integer(arena, place->created_us);
    out->params[PLAN_BEHIND_ID] = arena_str(arena, str_of(id));
}

static void set_filters(struct sieve *sieve, struct arena *arena, struct plan *out)
{
    db_param *params = out->params;

    params[PLAN_UPDATED_LEAST] = integer(arena, sieve->updated.least);
    params[PLAN_UPDATED_END] = integer(arena, sieve->updated.end);
    params[PLAN_CREATED_NOT] = array_close(&sieve->created.without);
    params[PLAN_UPDATED_NOT] = array_close(&sieve->updated.without);
    params[PLAN_STATUSES] = statuses_text(sieve->statuses, arena);
    params[PLAN_CHANNELS] = set_text(&sieve->channels, arena);
    params[PLAN_CHANNELS_NOT] = array_close(&sieve->channels.without);
    params[PLAN_EXTERNAL_IDS] = set_text(&sieve->external_ids, arena);
    params[PLAN_EXTERNAL_IDS_NOT] = array_close(&sieve->external_ids.without);
    params[PLAN_ATTRIBUTES] = array_close(&sieve->attributes);
    params[PLAN_ATTRIBUTES_NOT] = array_close(&sieve->attributes_not);
}

static void sieve_init(struct sieve *sieve, struct arena *arena)
{
    struct buf *const arrays[] = {&sieve->created.without,  &sieve->updated.without,
                                  &sieve->channels.without, &sieve->external_ids.without,
                                  &sieve->attributes,       &sieve->attributes_not};

    *sieve = (struct sieve){.created = {.least = SECONDS_LEAST, .end = SECONDS_MOST},
                            .updated = {.least = SECONDS_LEAST, .end = SECONDS_MOST},
                            .statuses = STATUS_ANY};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        array_open(arrays[i], arena);
}

void plan_make(const struct query *query, const struct uuid *organization_id,
               const struct place *behind, struct arena *arena, struct plan *out)
{
    char organization[UUID_TEXT + 1];
    struct sieve sieve;

    sieve_init(&sieve, arena);
    for (size_t i = 0; i < query->n_filters; i++)
        add_filter(&sieve, &query->filters[i], arena);
    uuid_format(organization_id, organization);
    *out = (struct plan){
        .statement = sieve.needs_rows ? SQL_SEARCH_FILTERED : SQL_SEARCH_CONTACT,
        .n = sieve.needs_rows ? PLAN_PARAMS : PLAN_OF_CONTACT,
    };
    out->params[PLAN_ORGANIZATION] = arena_str(arena, str_of(organization));
    out->params[PLAN_CREATED_LEAST] = integer(arena, sieve.created.least);
    out->params[PLAN_CREATED_END] = integer(arena, sieve.created.end);
    out->params[PLAN_ROWS] = integer(arena, query->per_page + 1);
    set_contact(&query->contact, out);
    set_place(behind, &sieve, arena, out);
    if (sieve.needs_rows)
        set_filters(&sieve, arena, out);
}
