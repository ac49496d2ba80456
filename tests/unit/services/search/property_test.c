/* Random searches of random conversations find what a naive model finds. */
#include "services/search/found.h"

#include <criterion/criterion.h>

#include "tests/unit/services/search/reference_model.h"
#include "tests/unit/services/search/search_fixture.h"

TestSuite(search_property, .init = start, .fini = stop);

enum { CASES = 10000, BATCH = 200 };

#define ORGANIZATION "0192000%d-0000-7000-8000-000000000000"
#define CONTACT_ID   "01930000-0000-7000-8000-00000000000%d"
/* Ids sort in the order of the rows' numbers. */
#define ROW_ID "01940000-0000-7000-8000-%012d"

struct one {
    char *body;
    int organization, per_page;
    const struct model_row *expected[MODEL_ROWS];
    int n, from; /* how many match in all; index of the first one on the page */
    int contact; /* -1: no contact matches */
    struct search_statement statement;
    struct found found;
};

/* -- the conversations ----------------------------------------------------------------------- */

static void add_row(struct buf *sql, const struct model_row *row)
{
    buf_printf(sql, "('" ORGANIZATION "','" ROW_ID "',", row->organization, row->number);
    buf_printf(sql, row->channel == 0 ? "'e,%d'," : "NULL,", row->number);
    buf_printf(sql, row->contact < 0 ? "NULL," : "'" CONTACT_ID "',", row->contact);
    buf_printf(sql, "$$%s$$,'%s',$${", model_channels[row->channel], model_statuses[row->status]);
    for (int k = 0, n = 0; k < 3; k++) {
        if (row->attributes[k] >= 0)
            buf_printf(sql, "%s\"%s\":%s", n++ > 0 ? "," : "", model_keys[k],
                       model_values[row->attributes[k]].json);
    }
    buf_printf(sql, "}$$,to_timestamp(%.6f),to_timestamp(%.6f),%s)", (double)row->created_us / 1e6,
               (double)row->updated_us / 1e6, row->deleted ? "now()" : "NULL");
}

static void store_rows(void)
{
    struct buf sql;

    model_fill();
    buf_init(&sql, &arena, 1 << 16);
    buf_add(&sql, STR("INSERT INTO conversation.contacts "
                      "(organization_id, id, external_id, created_at, erased_at) VALUES "));
    for (int i = 0; i < MODEL_ORGANIZATIONS * MODEL_CONTACTS; i++) {
        const int contact = i % MODEL_CONTACTS;

        buf_printf(&sql, "%s('" ORGANIZATION "','" CONTACT_ID "',", i > 0 ? "," : "",
                   i / MODEL_CONTACTS, contact);
        if (contact < 4)
            buf_printf(&sql, "'u%d',now(),NULL)", contact);
        else
            buf_printf(&sql, "NULL,now(),%s)", contact == 5 ? "now()" : "NULL");
    }
    buf_add(&sql, STR(";INSERT INTO conversation.conversations (organization_id, id, external_id, "
                      "contact_id, channel, status, custom_attributes, created_at, updated_at, "
                      "deleted_at) VALUES "));
    for (int i = 0; i < MODEL_ROWS; i++) {
        if (i > 0)
            buf_char(&sql, ',');
        add_row(&sql, &model_rows[i]);
    }
    postgres_do(server.url, arena_cstr(&arena, buf_str(&sql)));
}

/* -- the searches ---------------------------------------------------------------------------- */

static void add_value(struct buf *body, const struct model_filter *filter, int64_t value)
{
    static const char *const states[] = {"open", "closed"};

    switch (filter->field) {
    case MODEL_ATTRIBUTE:
        buf_add(body, str_of(model_values[value].json));
        break;
    case MODEL_EXTERNAL_ID:
        buf_printf(body, "\"e,%d\"", (int)value);
        break;
    case MODEL_CHANNEL:
        json_add_string(body, str_of(model_channels[value]));
        break;
    case MODEL_STATE:
        json_add_string(body, str_of(states[value]));
        break;
    case MODEL_STATUS:
        json_add_string(body, str_of(model_statuses[value]));
        break;
    default:
        buf_int(body, value);
        break;
    }
}

static void add_filter(struct buf *body, const struct model_filter *filter)
{
    static const char *const fields[][2] = {
        [MODEL_ATTRIBUTE] = {"custom_attributes.", "custom_attributes."},
        [MODEL_EXTERNAL_ID] = {"external_id", "external_id"},
        [MODEL_CHANNEL] = {"channel", "source.type"},
        [MODEL_STATE] = {"state", "state"},
        [MODEL_STATUS] = {"status", "status"},
        [MODEL_CREATED] = {"created_at", "created_at"},
        [MODEL_UPDATED] = {"updated_at", "updated_at"},
    };
    static const char *const operators[] = {"=", "!=", "IN", "NIN", ">", "<"};
    const bool is_list = filter->op == MODEL_IN || filter->op == MODEL_NIN;

    buf_printf(body, ",{\"field\":\"%s%s\",\"operator\":\"%s\",\"value\":%s",
               fields[filter->field][model_draw(2)],
               filter->field == MODEL_ATTRIBUTE ? model_keys[filter->key] : "",
               operators[filter->op], is_list ? "[" : "");
    for (int i = 0; i < filter->n; i++) {
        if (i > 0)
            buf_char(body, ',');
        add_value(body, filter, filter->values[i]);
    }
    buf_add(body, is_list ? STR("]}") : STR("}"));
}

/* Adds a contact filter; returns the contact that it matches, -1 for none. */
static int draw_contact(struct buf *body)
{
    const int contact = model_draw(MODEL_CONTACTS + 1), how = model_draw(3);

    if (how == 0) {
        buf_printf(body, FILTER("contact.external_id", "=", "\"u%d\""), contact);
        return contact < 4 ? contact : -1;
    }
    if (contact == MODEL_CONTACTS && model_draw(2) == 0)
        buf_add(body, STR(FILTER("contact.id", "=", "\"nobody's\"")));
    else
        buf_printf(body, "{\"field\":\"%s\",\"operator\":\"=\",\"value\":\"" CONTACT_ID "\"}",
                   how == 1 ? "contact.id" : "contact_ids", contact);
    return contact < 5 ? contact : -1;
}

static void draw(struct one *one)
{
    struct model_filter filters[MODEL_FILTERS];
    const int n_filters = model_draw(MODEL_FILTERS);
    struct buf body;

    *one = (struct one){.organization = model_draw(MODEL_ORGANIZATIONS),
                        .per_page = 1 + model_draw(20)};
    buf_init(&body, &arena, 1024);
    buf_printf(&body,
               "{\"pagination\":{\"per_page\":%d},\"query\":{\"operator\":\"AND\","
               "\"value\":[",
               one->per_page);
    one->contact = draw_contact(&body);
    for (int i = 0; i < n_filters; i++) {
        filters[i] = model_draw_filter();
        add_filter(&body, &filters[i]);
    }
    buf_add(&body, STR("]}}"));
    one->body = arena_cstr(&arena, buf_str(&body));
    if (one->contact >= 0)
        one->n = model_search(one->organization, one->contact, filters, n_filters, one->expected);
    one->from = one->n > 0 && model_draw(2) == 0 ? model_draw(one->n) : 0;
}

static void ask(struct one *one)
{
    struct uuid organization;
    struct page_token token = {0};

    assert_reads(one->body);
    cr_assert(
        uuid_parse(str_of(arena_printf(&arena, ORGANIZATION, one->organization)), &organization));
    if (one->from > 0) {
        const struct model_row *last = one->expected[one->from - 1];

        token.created_us = last->created_us;
        cr_assert(uuid_parse(str_of(arena_printf(&arena, ROW_ID, last->number)), &token.id));
    }
    search_statement_make(&query, &organization, one->from > 0 ? &token : NULL, &arena,
                          &one->statement);
    found_ask(&one->found, db, &one->statement);
}

/* -- results --------------------------------------------------------------------------------- */

static void assert_row(const struct one *one, size_t i)
{
    const struct model_row *expected = one->expected[one->from + (int)i];
    struct found_row row;
    char id[UUID_TEXT + 1];

    found_row_read(&one->found, i, &row);
    uuid_format(&row.id, id);
    cr_assert_str_eq(id, arena_printf(&arena, ROW_ID, expected->number),
                     "%s: row %zu is %s, not %d", one->body, i, id, expected->number);
    cr_assert_eq(row.created_us, expected->created_us);
    cr_assert_eq(row.updated_us, expected->updated_us);
}

static void assert_found(struct one *one)
{
    struct found *const found = &one->found;
    size_t n = (size_t)(one->n - one->from);

    if (n > (size_t)one->per_page + 1)
        n = (size_t)one->per_page + 1;
    cr_assert(found_read(found, db));
    cr_assert_eq(found->n_total, one->n, "%s: %d in all, not %d", one->body, (int)found->n_total,
                 one->n);
    cr_assert_eq(found->has_contact, one->contact >= 0, "%s", one->body);
    cr_assert_eq(found->n, n, "%s: %zu rows, not %zu", one->body, found->n, n);
    for (size_t i = 0; i < n; i++)
        assert_row(one, i);
}

Test(search_property, random_searches_find_what_the_model_finds)
{
    static struct one ones[BATCH];
    struct found *all[BATCH];
    int64_t found = 0, empty = 0;

    store_rows();
    for (int done = 0; done < CASES; done += BATCH) {
        db_open_batch(db, clock_us() + 30 * 1000 * 1000);
        for (int i = 0; i < BATCH; i++) {
            draw(&ones[i]);
            ask(&ones[i]);
            all[i] = &ones[i].found;
        }
        found_ask_totals(all, BATCH, db, &arena);
        cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
        for (int i = 0; i < BATCH; i++)
            found_ask_rest(&ones[i].found, db, &arena);
        cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
        for (int i = 0; i < BATCH; i++) {
            assert_found(&ones[i]);
            found += ones[i].n;
            empty += ones[i].n == 0;
        }
        cr_assert_eq(db_commit(db), ST_OK);
        arena_clear(&arena);
    }
    /* The test proves little if searches seldom find anything. */
    cr_assert_gt(found, CASES);
    cr_assert_lt(empty, CASES * 3 / 4);
}
