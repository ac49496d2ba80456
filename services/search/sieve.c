#include "services/search/sieve.h"

#include "common/db/array.h"

const char *const sieve_statuses[SIEVE_STATUSES] = {"active",   "waiting",  "human_takeover",
                                                    "resolved", "archived", "closed"};
enum {
    STATUS_OPEN = 1u << 0 | 1u << 1 | 1u << 2,
    STATUS_CLOSED = 1u << 3 | 1u << 4 | 1u << 5,
    STATUS_RESOLVED = 1u << 3 | 1u << 5,
    STATUS_ANY = STATUS_OPEN | STATUS_CLOSED,
};

/* What is left out, while it is gathered. */
struct gathered {
    struct buf created, updated, channels, external_ids, attributes, attributes_without;
};

static bool is_negative(const struct filter *filter)
{
    return filter->op == OPERATOR_NOT_EQUAL || filter->op == OPERATOR_NOT_IN;
}

/* -- sets ------------------------------------------------------------------------------------ */

static bool is_among(struct str value, const struct str *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_equal(value, values[i]))
            return true;
    }
    return false;
}

/* Keeps of a set what is also among these values. */
static void limit(struct sieve_set *set, const struct str *values, size_t n, struct arena *arena)
{
    struct str *both = ARENA_ARRAY(arena, struct str, n);
    size_t n_both = 0;

    for (size_t i = 0; i < n; i++) {
        if (!set->is_limited || is_among(values[i], set->of, set->n_of))
            both[n_both++] = values[i];
    }
    set->is_limited = true;
    set->of = both;
    set->n_of = n_both;
}

static void narrow_set(struct sieve_set *set, struct buf *without, const struct filter *filter,
                       struct arena *arena)
{
    if (!is_negative(filter)) {
        limit(set, filter->values, filter->n_values, arena);
        return;
    }
    for (size_t i = 0; i < filter->n_values; i++)
        array_add(without, filter->values[i]);
}

/* -- statuses -------------------------------------------------------------------------------- */

static unsigned stored_as(struct str value)
{
    if (str_equal(value, STR("open")))
        return STATUS_OPEN;
    if (str_equal(value, STR("closed")))
        return STATUS_CLOSED;
    if (str_equal(value, STR("resolved")))
        return STATUS_RESOLVED;
    for (unsigned i = 0; i < SIEVE_STATUSES; i++) {
        if (str_equal(value, str_of(sieve_statuses[i])))
            return 1u << i;
    }
    return 0;
}

/* Of a filter on status or on state: they have no word in common, for a client knows no status
   `closed`. */
static unsigned status_set(const struct filter *filter)
{
    unsigned set = 0;

    for (size_t i = 0; i < filter->n_values; i++)
        set |= stored_as(filter->values[i]);
    return is_negative(filter) ? STATUS_ANY & ~set : set;
}

/* -- times ----------------------------------------------------------------------------------- */

static int64_t bounded(int64_t second)
{
    if (second < SIEVE_SECONDS_LEAST)
        return SIEVE_SECONDS_LEAST;
    return second < SIEVE_SECONDS_MOST ? second : SIEVE_SECONDS_MOST - 1;
}

static void begin_at(struct sieve_interval *interval, int64_t second)
{
    if (second > interval->least)
        interval->least = second;
}

static void end_before(struct sieve_interval *interval, int64_t second)
{
    if (second < interval->end)
        interval->end = second;
}

/* A time is compared as clients see it, in whole seconds: what is later than a second begins with
   the next one. */
static void narrow_interval(struct sieve_interval *interval, struct buf *without,
                            const struct filter *filter)
{
    const int64_t second = bounded(filter->seconds);

    switch (filter->op) {
    case OPERATOR_NOT_EQUAL:
        array_add_int(without, second);
        break;
    case OPERATOR_ABOVE:
        begin_at(interval, second + 1);
        break;
    case OPERATOR_BELOW:
        end_before(interval, second);
        break;
    case OPERATOR_EQUAL:
    case OPERATOR_IN:
    case OPERATOR_NOT_IN:
        begin_at(interval, second);
        end_before(interval, second + 1);
        break;
    }
}

/* -- attributes ------------------------------------------------------------------------------ */

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

/* -- all of them ----------------------------------------------------------------------------- */

static void add_filter(struct sieve *sieve, struct gathered *gathered, const struct filter *filter,
                       struct arena *arena)
{
    const struct str api = STR("api");

    sieve->needs_rows |= filter->field != FILTER_CREATED_AT || is_negative(filter);
    switch (filter->field) {
    case FILTER_CREATED_AT:
        narrow_interval(&sieve->created, &gathered->created, filter);
        break;
    case FILTER_UPDATED_AT:
        narrow_interval(&sieve->updated, &gathered->updated, filter);
        break;
    case FILTER_STATE:
    case FILTER_STATUS:
        sieve->statuses &= status_set(filter);
        break;
    case FILTER_CHANNEL:
        narrow_set(&sieve->channels, &gathered->channels, filter, arena);
        break;
    case FILTER_EXTERNAL_ID:
        /* != and NIN too match only conversations of the API. */
        limit(&sieve->channels, &api, 1, arena);
        narrow_set(&sieve->external_ids, &gathered->external_ids, filter, arena);
        break;
    case FILTER_ATTRIBUTE:
        add_attribute(is_negative(filter) ? &gathered->attributes_without : &gathered->attributes,
                      filter, arena);
        break;
    case FILTER_CONTACT_ID:
    case FILTER_CONTACT_EXTERNAL_ID:
        break;
    }
}

void sieve_make(const struct query *query, struct arena *arena, struct sieve *out)
{
    const struct sieve_interval ever = {.least = SIEVE_SECONDS_LEAST, .end = SIEVE_SECONDS_MOST};
    struct gathered gathered;

    array_open(&gathered.created, arena, 16);
    array_open(&gathered.updated, arena, 16);
    array_open(&gathered.channels, arena, 16);
    array_open(&gathered.external_ids, arena, 16);
    array_open(&gathered.attributes, arena, 16);
    array_open(&gathered.attributes_without, arena, 16);
    *out = (struct sieve){.created = ever, .updated = ever, .statuses = STATUS_ANY};
    for (size_t i = 0; i < query->n_filters; i++)
        add_filter(out, &gathered, &query->filters[i], arena);
    out->created.without = array_close(&gathered.created);
    out->updated.without = array_close(&gathered.updated);
    out->channels.without = array_close(&gathered.channels);
    out->external_ids.without = array_close(&gathered.external_ids);
    out->attributes = array_close(&gathered.attributes);
    out->attributes_without = array_close(&gathered.attributes_without);
}
