/* Contract 4.5, pagination rules 1 to 5: walking through pages, and cursors that are refused. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(search_pages, .init = stack_share);

#define CONTACT "{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"u\"}"
#define OPEN    "{\"field\":\"state\",\"operator\":\"=\",\"value\":\"open\"}"

/* An organization with a rate limit that no test reaches. */
static void org_new_unlimited(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "1000000", NULL));
}

static struct client_response *search(const struct org *org, const char *query, int per_page,
                                      const char *after)
{
    const char *quote = after != NULL ? "\"" : "";

    return api_post(org->read_key, "/conversations/search",
                    format("{\"query\":%s,\"pagination\":{\"per_page\":%d,\"starting_after\":"
                           "%s%s%s}}",
                           query, per_page, quote, after != NULL ? after : "null", quote));
}

/* NULL on the last page. */
static const char *next_of(const struct client_response *response)
{
    return json_string_value(at(response, "pages.next.starting_after"));
}

/* Conversations of contact u, numbered from 1; each group of ten shares one creation time. */
static void make(const struct org *org, int n)
{
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id, "
                    "external_id, contact_id, channel, status, created_at, updated_at) "
                    "SELECT c.organization_id, gen_random_uuid(), 'e' || i, c.contact_id, 'api', "
                    "'active', c.created_at - i / 10 * interval '0.01 s', c.created_at "
                    "FROM conversation.conversations c, generate_series(2, $2::int) i "
                    "WHERE c.organization_id = $1::uuid RETURNING 1) SELECT count(*) + 1 FROM made",
                    org->id, format("%d", n), NULL),
        n);
}

Test(search_pages, lead_through_everything_once)
{
    static const int sizes[] = {1, 7, 10, 30, 100};
    struct org org;

    org_new(&org);
    make(&org, 30);
    for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
        const char *after = NULL;
        json_t *seen = json_object();
        int page = 0;

        do {
            struct client_response *response = search(&org, CONTACT, sizes[k], after);

            expect_integer(response, "pages.page", ++page);
            expect_integer(response, "pages.per_page", sizes[k]);
            expect_integer(response, "total_count", 30);
            for (size_t i = 0; i < json_array_size(at(response, "conversations")); i++)
                json_object_set_new(seen, text_at(response, format("conversations[%zu].id", i)),
                                    json_true());
            after = next_of(response);
            cr_assert_eq(after == NULL, json_object_size(seen) == 30);
            cr_assert(after == NULL ||
                      json_array_size(at(response, "conversations")) == (size_t)sizes[k]);
        } while (after != NULL);
        cr_assert_eq(page, (30 + sizes[k] - 1) / sizes[k]);
        json_decref(seen);
    }
}

Test(search_pages, are_shown_newest_first_and_of_one_moment_by_id)
{
    struct org org;
    struct client_response *response;
    const char *ids;

    org_new(&org);
    make(&org, 100);
    response = search(&org, CONTACT, 100, NULL);
    for (int i = 1; i < 100; i++) {
        const long long before =
            integer_at(response, format("conversations[%d].created_at", i - 1));

        cr_assert_geq(before, integer_at(response, format("conversations[%d].created_at", i)));
    }
    ids = text_at(response, "conversations[0].id");
    for (int i = 1; i < 100; i++)
        ids = format("%s %s", ids, text_at(response, format("conversations[%d].id", i)));
    cr_assert_str_eq(ids, sql_text("SELECT string_agg(id::text, ' ' ORDER BY created_at DESC, "
                                   "id DESC) FROM conversation.conversations "
                                   "WHERE organization_id = $1::uuid",
                                   org.id, NULL));
}

Test(search_pages, arrive_whole_however_large_they_are)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    make(&org, 100);
    /* 20 attributes of 500 characters, each of which JSON escapes. */
    cr_assert_eq(sql_integer("WITH changed AS (UPDATE conversation.conversations "
                             "SET custom_attributes = (SELECT jsonb_object_agg('k' || i, "
                             "repeat(chr(1), 500)) FROM generate_series(1, 20) i) "
                             "WHERE organization_id = $1::uuid RETURNING 1) "
                             "SELECT count(*) FROM changed",
                             org.id, NULL),
                 100);
    response = search(&org, CONTACT, 100, NULL);
    expect_status(response, 200);
    cr_assert_eq(json_array_size(at(response, "conversations")), 100);
    cr_assert_gt(response->body_n, 6000000);
    expect_recorded(&org, response, "conversation.search");
}

/* -- the cursor ------------------------------------------------------------------------------ */

static void expect_refused(struct client_response *response)
{
    expect_error(response, 400, "invalid_cursor", "pagination.starting_after");
}

Test(search_pages, no_byte_of_a_cursor_can_be_altered)
{
    struct org org;
    char *cursor;

    org_new_unlimited(&org);
    make(&org, 3);
    cursor = format("%s", next_of(search(&org, CONTACT, 1, NULL)));
    for (size_t i = 0; cursor[i] != '\0'; i++) {
        const char was = cursor[i];

        for (const char *p = "A_9"; *p != '\0'; p++) {
            cursor[i] = *p;
            if (*p != was)
                expect_refused(search(&org, CONTACT, 1, cursor));
        }
        cursor[i] = was;
    }
    expect_refused(search(&org, CONTACT, 1, format("%sA", cursor)));
    expect_refused(search(&org, CONTACT, 1, format("%s=", cursor)));
    expect_refused(search(&org, CONTACT, 1, format("%.*s", (int)strlen(cursor) - 1, cursor)));
    expect_status(search(&org, CONTACT, 1, cursor), 200);
}

Test(search_pages, a_cursor_is_good_for_its_own_search_only)
{
    struct org org, other;
    const char *cursor, *filtered = "{\"operator\":\"AND\",\"value\":[" CONTACT "," OPEN "]}";
    const char *of_filtered;

    org_new(&org);
    org_new(&other);
    make(&org, 60);
    make(&other, 60);
    cursor = next_of(search(&org, CONTACT, 50, NULL));
    of_filtered = next_of(search(&org, filtered, 50, NULL));
    expect_refused(search(&other, CONTACT, 50, cursor));
    expect_refused(search(&org, CONTACT, 49, cursor));
    expect_refused(search(&org, filtered, 50, cursor));
    expect_refused(search(&org, CONTACT, 50, of_filtered));
    expect_refused(search(&org,
                          "{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"v\"}",
                          50, cursor));
    expect_status(search(&org, filtered, 50, of_filtered), 200);
}

Test(search_pages, a_cursor_depends_on_neither_key_order_nor_defaults_nor_the_api_key)
{
    struct org org;
    struct client_response *again, *response;
    const char *cursor;

    org_new(&org);
    make(&org, 60);
    cursor = next_of(search(&org, CONTACT, 50, NULL));
    response = search(&org, CONTACT, 50, cursor);
    expect_integer(response, "pages.page", 2);
    again =
        api_post(org.full_key, "/conversations/search",
                 format(" { \"pagination\": {\"starting_after\": \"%s\"},\n\"query\":"
                        "{\"value\":\"u\",\"operator\":\"=\",\"field\":\"contact.external_id\"}}",
                        cursor));
    expect_status(again, 200);
    cr_assert(json_equal(again->json, response->json));
}

/* -- a walk while others write --------------------------------------------------------------- */

enum { OLD = 1000, WRITERS = 10 };

struct writer {
    pthread_t thread;
    const struct org *org;
    int number, made;
};

static bool is_walked;

static void *keep_writing(void *closure)
{
    struct writer *writer = closure;

    while (!__atomic_load_n(&is_walked, __ATOMIC_ACQUIRE)) {
        const char *body = format("{\"external_id\":\"w%d-%d\",\"from\":{\"external_id\":\"u\"}}",
                                  writer->number, writer->made);
        struct client_response *response = api_post(writer->org->full_key, "/conversations", body);

        if (response->status != 201)
            break;
        writer->made++;
    }
    return NULL;
}

Test(search_pages, a_walk_misses_nothing_and_sees_nothing_twice_while_others_write)
{
    struct writer writers[WRITERS];
    json_t *seen = json_object();
    const char *after = NULL;
    int made = 0, old = 0;
    struct org org;

    org_new_unlimited(&org);
    make(&org, OLD);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.org = &org, .number = i};
        cr_assert_eq(pthread_create(&writers[i].thread, NULL, keep_writing, &writers[i]), 0);
    }
    do {
        struct client_response *response = search(&org, CONTACT, 20, after);

        expect_status(response, 200);
        for (size_t i = 0; i < json_array_size(at(response, "conversations")); i++) {
            const char *id = text_at(response, format("conversations[%zu].id", i));

            cr_assert_null(json_object_get(seen, id), "%s comes twice", id);
            json_object_set_new(seen, id, json_true());
            old += text_at(response, format("conversations[%zu].external_id", i))[0] != 'w';
        }
        after = next_of(response);
    } while (after != NULL);
    __atomic_store_n(&is_walked, true, __ATOMIC_RELEASE);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        made += writers[i].made;
    }
    cr_assert_eq(old, OLD);
    cr_assert_gt(made, 50, "%d were made meanwhile", made);
    expect_integer(search(&org, CONTACT, 1, NULL), "total_count", OLD + made);
    json_decref(seen);
}
