/*
 * reference_model - the simplest search: a list of conversations, each checked against each filter.
 * Shares no code with the service. Header-only.
 *
 * Values are drawn from small sets, so that filters match. An attribute's value is an index into
 * model_values[]; two values of the same kind are equal.
 */
#ifndef TESTS_UNIT_SERVICES_SEARCH_REFERENCE_MODEL_H
#define TESTS_UNIT_SERVICES_SEARCH_REFERENCE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define MODEL_SECOND 1700000000

enum {
    MODEL_ORGANIZATIONS = 2,
    MODEL_CONTACTS = 6, /* in each organization; number 4 has no external id, number 5 is erased */
    MODEL_ROWS = 600,
    MODEL_FILTERS = 6,
    MODEL_LIST = 5,
};

static const char *const model_channels[] = {"api", "widget", "e,\\\"m{}ail", "pigeon"};
static const char *const model_statuses[] = {"active",   "waiting",  "human_takeover",
                                             "resolved", "archived", "closed"};
static const char *const model_keys[] = {"plan", "Plan", "a.b-c_1"};
static const struct {
    const char *json;
    int kind;
} model_values[] = {
    {"1", 0},
    {"1.0", 0},
    {"10e-1", 0},
    {"\"1\"", 1},
    {"true", 2},
    {"\"true\"", 3},
    {"false", 4},
    {"0", 5},
    {"-0", 5},
    {"0.1", 6},
    {"0.10000000000000000001", 7},
    {"9007199254740993", 8},
    {"9007199254740992", 9},
    {"\"\"", 10},
    {"\"a\\\"b\\\\{},'\"", 11},
    {"\"\\u00e9\"", 12},
    {"\"\xc3\xa9\"", 12},
};
#define MODEL_COUNT(array) ((int)ARRAY_SIZE(array))

struct model_row {
    int organization, contact; /* contact -1: none */
    int number;                /* gives the id and, for channel api, the external id */
    int channel, status;
    int attributes[3]; /* by model_keys[]; -1: absent */
    int64_t created_us, updated_us;
    bool deleted;
};

enum model_field {
    MODEL_ATTRIBUTE,
    MODEL_EXTERNAL_ID,
    MODEL_CHANNEL,
    MODEL_STATE,
    MODEL_STATUS,
    MODEL_CREATED,
    MODEL_UPDATED,
    MODEL_FIELDS
};

enum model_operator { MODEL_EQ, MODEL_NE, MODEL_IN, MODEL_NIN, MODEL_GT, MODEL_LT };

struct model_filter {
    enum model_field field;
    enum model_operator op;
    int key;
    int64_t values[MODEL_LIST]; /* indexes into the sets above, row numbers, or seconds */
    int n;
};

static struct model_row model_rows[MODEL_ROWS];

/* -- drawing --------------------------------------------------------------------------------- */

static uint64_t model_seed = 88172645463325252;

static inline int model_draw(int n)
{
    model_seed ^= model_seed << 13;
    model_seed ^= model_seed >> 7;
    model_seed ^= model_seed << 17;
    return (int)((model_seed >> 11) % (uint64_t)n);
}

static inline int64_t model_draw_us(void)
{
    static const int64_t parts[] = {0, 1, 500000, 999999};

    return (MODEL_SECOND + model_draw(8)) * INT64_C(1000000) + parts[model_draw(4)];
}

static inline void model_fill(void)
{
    for (int i = 0; i < MODEL_ROWS; i++) {
        struct model_row *row = &model_rows[i];

        *row = (struct model_row){
            .organization = model_draw(MODEL_ORGANIZATIONS),
            .contact = model_draw(MODEL_CONTACTS),
            .number = i,
            .channel = model_draw(3),
            .status = model_draw(6),
            .created_us = model_draw_us(),
            .updated_us = model_draw_us(),
            .deleted = model_draw(10) == 0,
        };
        if (row->channel != 0 && model_draw(20) == 0)
            row->contact = -1;
        for (int k = 0; k < 3; k++)
            row->attributes[k] = model_draw(MODEL_COUNT(model_values) + 6) - 6;
    }
}

/* A field's operators are those in docs/api.md. */
static inline struct model_filter model_draw_filter(void)
{
    struct model_filter filter = {.field = (enum model_field)model_draw(MODEL_FIELDS),
                                  .op = (enum model_operator)model_draw(2),
                                  .key = model_draw(3),
                                  .n = 1};

    if (filter.field >= MODEL_CREATED && model_draw(2) == 0)
        filter.op = model_draw(2) == 0 ? MODEL_GT : MODEL_LT;
    if ((filter.field == MODEL_EXTERNAL_ID || filter.field == MODEL_CHANNEL ||
         filter.field == MODEL_STATUS) &&
        model_draw(2) == 0) {
        filter.op = model_draw(2) == 0 ? MODEL_IN : MODEL_NIN;
        filter.n = 1 + model_draw(MODEL_LIST);
    }
    for (int i = 0; i < filter.n; i++) {
        static const int sizes[MODEL_FIELDS] = {[MODEL_ATTRIBUTE] = MODEL_COUNT(model_values),
                                                [MODEL_EXTERNAL_ID] = MODEL_ROWS + 5,
                                                [MODEL_CHANNEL] = 4,
                                                [MODEL_STATE] = 2,
                                                [MODEL_STATUS] = 5,
                                                [MODEL_CREATED] = 10,
                                                [MODEL_UPDATED] = 10};

        filter.values[i] = model_draw(sizes[filter.field]);
        if (filter.field >= MODEL_CREATED)
            filter.values[i] += MODEL_SECOND - 1;
    }
    return filter;
}

/* -- rules ----------------------------------------------------------------------------------- */

static inline bool model_is_closed(const struct model_row *row)
{
    return row->status >= 3;
}

/* Whether the row has this value. */
static inline bool model_has(const struct model_row *row, const struct model_filter *filter,
                             int64_t value)
{
    const int attribute = row->attributes[filter->key];

    switch (filter->field) {
    case MODEL_ATTRIBUTE:
        return attribute >= 0 && model_values[attribute].kind == model_values[value].kind;
    case MODEL_EXTERNAL_ID:
        return row->number == value;
    case MODEL_CHANNEL:
        return row->channel == value;
    case MODEL_STATE:
        return model_is_closed(row) == (value == 1);
    case MODEL_STATUS:
        return row->status == value || (value == 3 && row->status == 5);
    case MODEL_CREATED:
        return row->created_us / 1000000 == value;
    case MODEL_UPDATED:
        return row->updated_us / 1000000 == value;
    case MODEL_FIELDS:
        break;
    }
    abort();
}

static inline bool model_matches(const struct model_row *row, const struct model_filter *filter)
{
    const int64_t seconds =
        (filter->field == MODEL_CREATED ? row->created_us : row->updated_us) / 1000000;
    bool has = false;

    if (filter->field == MODEL_EXTERNAL_ID && row->channel != 0)
        return false;
    if (filter->op == MODEL_GT)
        return seconds > filter->values[0];
    if (filter->op == MODEL_LT)
        return seconds < filter->values[0];
    for (int i = 0; i < filter->n; i++)
        has |= model_has(row, filter, filter->values[i]);
    return filter->op == MODEL_EQ || filter->op == MODEL_IN ? has : !has;
}

static inline int model_newest_first(const void *a, const void *b)
{
    const struct model_row *x = *(struct model_row *const *)a, *y = *(struct model_row *const *)b;

    if (x->created_us != y->created_us)
        return x->created_us < y->created_us ? 1 : -1;
    return y->number - x->number;
}

/* Writes all conversations that the search must find to `found`, in order; returns how many. */
static inline int model_search(int organization, int contact, const struct model_filter *filters,
                               int n, const struct model_row *found[MODEL_ROWS])
{
    int n_found = 0;

    for (int i = 0; i < MODEL_ROWS; i++) {
        const struct model_row *row = &model_rows[i];
        bool matches = !row->deleted && row->organization == organization &&
                       row->contact == contact && contact != 5;

        for (int k = 0; k < n; k++)
            matches = matches && model_matches(row, &filters[k]);
        if (matches)
            found[n_found++] = row;
    }
    qsort(found, (size_t)n_found, sizeof(found[0]), model_newest_first);
    return n_found;
}

#endif
