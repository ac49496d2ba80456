#include "services/search/predicates.h"

#include "common/db/params.h"
#include "common/model/conversation_model.h"

/* The text of an array, and the number of its elements. */
struct text_array {
    struct buf array;
    size_t n;
};

/* Excluded values, and the filters that require attributes, collected while filters are merged. */
struct gathered {
    struct text_array created, updated; /* of seconds */
    struct text_array channels, external_ids, attributes_without;
    const struct filter *attributes[SEARCH_QUERY_FILTERS_MAX];
    size_t n_attributes;
};

static void text_array_add(struct text_array *list, struct str value)
{
    array_add(&list->array, value);
    list->n++;
}

/* STR_NONE if it is empty. */
static struct str text_array_close(struct text_array *list)
{
    return list->n > 0 ? array_close(&list->array) : STR_NONE;
}

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

/* Intersects a set with these values. */
static void limit(struct predicates_set *set, const struct str *values, size_t n,
                  struct arena *arena)
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

static void narrow_set(struct predicates_set *set, struct text_array *without,
                       const struct filter *filter, struct arena *arena)
{
    if (!is_negative(filter)) {
        limit(set, filter->values, filter->n_values, arena);
        return;
    }
    for (size_t i = 0; i < filter->n_values; i++)
        text_array_add(without, filter->values[i]);
}

/* -- statuses -------------------------------------------------------------------------------- */

/* The stored statuses that clients see as this status or state. */
static unsigned stored_as(struct str value, enum filter_field field)
{
    unsigned set = 0;

    for (unsigned i = 0; i < CONVERSATION_STORED_STATUSES; i++) {
        const struct str stored = str_of(conversation_stored_statuses[i]);
        const struct str shown =
            field == FILTER_STATE ? conversation_state(stored) : conversation_status_shown(stored);

        if (str_equal(shown, value))
            set |= 1u << i;
    }
    return set;
}

/* The stored statuses that a filter on status or state matches. */
static unsigned status_set(const struct filter *filter)
{
    unsigned set = 0;

    for (size_t i = 0; i < filter->n_values; i++)
        set |= stored_as(filter->values[i], filter->field);
    return is_negative(filter) ? PREDICATES_STATUS_ANY & ~set : set;
}

/* -- times ----------------------------------------------------------------------------------- */

static void begin_at(struct predicates_interval *interval, int64_t second)
{
    if (second > interval->min)
        interval->min = second;
}

static void end_before(struct predicates_interval *interval, int64_t second)
{
    if (second < interval->end)
        interval->end = second;
}

/* Times are compared as clients see them, in whole seconds: later than a second means from the next
   second on. */
static void narrow_interval(struct predicates_interval *interval, struct text_array *without,
                            const struct filter *filter)
{
    const int64_t second = filter->seconds;

    switch (filter->op) {
    case OPERATOR_NOT_EQUAL:
        array_add_int(&without->array, second);
        without->n++;
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

static void add_member(struct buf *object, const struct filter *filter)
{
    buf_char(object, object->n == 0 ? '{' : ',');
    json_add_string(object, filter->key);
    buf_char(object, ':');
    buf_add(object, filter->values[0]);
}

static struct str object_of(const struct filter *filter, struct arena *arena)
{
    struct buf object;

    buf_init(&object, arena, filter->key.n + filter->values[0].n + 8);
    add_member(&object, filter);
    buf_char(&object, '}');
    return buf_str(&object);
}

/* How many of the filters before the i-th have the same key. */
static size_t turn_of(const struct filter *const *filters, size_t i)
{
    size_t n = 0;

    for (size_t k = 0; k < i; k++)
        n += str_equal(filters[k]->key, filters[i]->key);
    return n;
}

/* Merges the required attributes into objects and returns how many: one, unless a key has several
   values. These may be equal (1 and 1.0) or contradict each other; each goes into another
   object. */
static size_t objects_of(const struct filter *const *filters, size_t n, struct arena *arena,
                         struct str *out)
{
    size_t n_objects = 0, n_members = 0;
    struct buf object;

    while (n_members < n) {
        buf_init(&object, arena, 64);
        for (size_t i = 0; i < n; i++) {
            if (turn_of(filters, i) == n_objects) {
                add_member(&object, filters[i]);
                n_members++;
            }
        }
        buf_char(&object, '}');
        out[n_objects++] = buf_str(&object);
    }
    return n_objects;
}

static void merge_attributes(struct predicates *predicates, struct gathered *gathered,
                             struct arena *arena)
{
    struct str objects[SEARCH_QUERY_FILTERS_MAX];
    const size_t n = objects_of(gathered->attributes, gathered->n_attributes, arena, objects);
    struct buf all;

    if (n <= 1 && gathered->attributes_without.n == 0) {
        predicates->attributes = n == 1 ? objects[0] : STR_NONE;
        return;
    }
    array_open(&all, arena, 64);
    for (size_t i = 0; i < n; i++)
        array_add(&all, objects[i]);
    predicates->attributes_all = array_close(&all);
    predicates->attributes_without = array_close(&gathered->attributes_without.array);
}

/* -- all of them ----------------------------------------------------------------------------- */

static void add_filter(struct predicates *predicates, struct gathered *gathered,
                       const struct filter *filter, struct arena *arena)
{
    const struct str api = STR("api");

    predicates->needs_rows |= filter->field != FILTER_CREATED_AT || is_negative(filter);
    switch (filter->field) {
    case FILTER_CREATED_AT:
        narrow_interval(&predicates->created, &gathered->created, filter);
        break;
    case FILTER_UPDATED_AT:
        narrow_interval(&predicates->updated, &gathered->updated, filter);
        break;
    case FILTER_STATE:
    case FILTER_STATUS:
        predicates->statuses &= status_set(filter);
        break;
    case FILTER_CHANNEL:
        narrow_set(&predicates->channels, &gathered->channels, filter, arena);
        break;
    case FILTER_EXTERNAL_ID:
        /* Only conversations of the API have an external id; != and NIN match no others either. */
        limit(&predicates->channels, &api, 1, arena);
        narrow_set(&predicates->external_ids, &gathered->external_ids, filter, arena);
        break;
    case FILTER_ATTRIBUTE:
        if (is_negative(filter))
            text_array_add(&gathered->attributes_without, object_of(filter, arena));
        else
            gathered->attributes[gathered->n_attributes++] = filter;
        break;
    case FILTER_CONTACT_ID:
    case FILTER_CONTACT_EXTERNAL_ID:
        break;
    }
}

static bool is_same(const struct filter *a, const struct filter *b)
{
    if (a->field != b->field || a->op != b->op || a->seconds != b->seconds ||
        a->n_values != b->n_values || !str_equal(a->key, b->key))
        return false;
    for (size_t i = 0; i < a->n_values; i++) {
        if (!str_equal(a->values[i], b->values[i]))
            return false;
    }
    return true;
}

static bool is_repeated(const struct search_query *query, size_t i)
{
    size_t k = 0;

    while (k < i && !is_same(&query->filters[k], &query->filters[i]))
        k++;
    return k < i;
}

void predicates_make(const struct search_query *query, struct arena *arena, struct predicates *out)
{
    const struct predicates_interval ever = {.min = PREDICATES_SECONDS_MIN,
                                             .end = PREDICATES_SECONDS_MAX};
    struct gathered gathered = {0};

    array_open(&gathered.created.array, arena, 16);
    array_open(&gathered.updated.array, arena, 16);
    array_open(&gathered.channels.array, arena, 16);
    array_open(&gathered.external_ids.array, arena, 16);
    array_open(&gathered.attributes_without.array, arena, 16);
    *out = (struct predicates){.created = ever, .updated = ever, .statuses = PREDICATES_STATUS_ANY};
    for (size_t i = 0; i < query->n_filters; i++) {
        if (!is_repeated(query, i))
            add_filter(out, &gathered, &query->filters[i], arena);
    }
    out->created.without = text_array_close(&gathered.created);
    out->updated.without = text_array_close(&gathered.updated);
    out->channels.without = text_array_close(&gathered.channels);
    out->external_ids.without = text_array_close(&gathered.external_ids);
    merge_attributes(out, &gathered, arena);
}
