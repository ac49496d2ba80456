/* Contract 4.6, 2.5, 2.6: the audit log as clients read it, and who may touch it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(audit, .init = stack_share);

#define ENTRY                                                                                      \
    "type id request_id api_key_id operation http_status outcome denial_reason conversation_id "   \
    "contact_id created_at"

static struct client_response *list(const struct org *org, const char *query)
{
    struct client_response *response = api_get(org->read_key, format("/audit%s", query));

    expect_status(response, 200);
    return response;
}

static size_t count(const struct client_response *response)
{
    return json_array_size(at(response, "audit_logs"));
}

static const char *next_of(const struct client_response *response)
{
    return json_string_value(at(response, "pages.next.starting_after"));
}

Test(audit, lists_entries_with_every_field_newest_first)
{
    struct org org;
    struct client_response *created, *refused, *listed;

    org_new(&org);
    created = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    expect_status(created, 201);
    refused = api_create(org.read_key, "{}");
    listed = list(&org, "");
    expect_members(listed->json, "type audit_logs pages");
    expect_text(listed, "type", "audit_log.list");
    expect_members(at(listed, "pages"), "type per_page");
    expect_text(listed, "pages.type", "pages");
    expect_integer(listed, "pages.per_page", 50);
    cr_assert_eq(count(listed), 2);
    for (int i = 0; i < 2; i++) {
        expect_members(at(listed, format("audit_logs[%d]", i)), ENTRY);
        expect_text(listed, format("audit_logs[%d].type", i), "audit_log");
        expect_uuid(text_at(listed, format("audit_logs[%d].id", i)));
        cr_assert_leq(llabs(integer_at(listed, format("audit_logs[%d].created_at", i)) -
                            (long long)time(NULL)),
                      60);
    }
    expect_text(listed, "audit_logs[0].request_id", refused->request_id);
    expect_text(listed, "audit_logs[0].api_key_id", org.read_key_id);
    expect_text(listed, "audit_logs[0].operation", "conversation.create");
    expect_integer(listed, "audit_logs[0].http_status", 403);
    expect_text(listed, "audit_logs[0].outcome", "denied");
    expect_text(listed, "audit_logs[0].denial_reason", "insufficient_scope");
    expect_null(listed, "audit_logs[0].conversation_id");
    expect_null(listed, "audit_logs[0].contact_id");
    expect_text(listed, "audit_logs[1].request_id", created->request_id);
    expect_text(listed, "audit_logs[1].api_key_id", org.full_key_id);
    expect_integer(listed, "audit_logs[1].http_status", 201);
    expect_text(listed, "audit_logs[1].outcome", "allowed");
    expect_null(listed, "audit_logs[1].denial_reason");
    expect_text(listed, "audit_logs[1].conversation_id", text_at(created, "id"));
    expect_text(listed, "audit_logs[1].contact_id", text_at(created, "contact.id"));
}

Test(audit, reading_the_audit_log_is_in_the_audit_log)
{
    struct org org;
    struct client_response *first, *second;

    org_new(&org);
    first = list(&org, "");
    expect_recorded(&org, first, "audit.list");
    second = list(&org, "");
    cr_assert_eq(count(second), 1);
    expect_text(second, "audit_logs[0].request_id", first->request_id);
    expect_text(second, "audit_logs[0].operation", "audit.list");
}

Test(audit, has_an_entry_for_every_operation_with_its_resources)
{
    struct org org;
    struct client_response *responses[8];
    static const char *const operations[] = {
        "conversation.create",
        "conversation.get",
        "conversation.update",
        "ping",
        "conversation.get",
        "unknown",
        "unknown",
        "conversation.create",
    };
    const char *id;

    org_new(&org);
    responses[0] =
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    id = text_at(responses[0], "id");
    responses[1] = read_conversation(&org, id);
    responses[2] = update_conversation(&org, id, "{\"custom_attributes\":{}}");
    responses[3] = api_get(org.full_key, "/ping");
    responses[4] = read_conversation(&org, "01890000-0000-7000-8000-000000000000");
    responses[5] = api_get(org.full_key, "/nothing");
    responses[6] = api_post(org.full_key, "/ping", "{}");
    responses[7] = api_create(org.full_key, "{");
    for (int i = 0; i < 8; i++)
        expect_recorded(&org, responses[i], operations[i]);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(
            sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid"
                        " AND request_id = $2::uuid AND conversation_id = $3::uuid"
                        " AND contact_id = $4::uuid",
                        org.id, responses[i]->request_id, id, text_at(responses[0], "contact.id"),
                        NULL),
            1, "%s", operations[i]);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 8);
}

/* About half of the searches go to a replica that cannot write entries itself. */
Test(audit, has_the_same_entry_of_a_search_on_a_replica_of_the_database)
{
    enum { ALL = 24 };
    struct replica search;
    struct org org;
    const char *contact;

    org_new(&org);
    contact = text_at(
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}"),
        "contact.id");
    replica_start_of(&search, "search", (const char *const[]){"DATABASE_IS_REPLICA=true", NULL});
    for (int i = 0; i < ALL; i++)
        expect_status(api_post(org.read_key, "/conversations/search",
                               "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                               "\"value\":\"c\"}}"),
                      200);
    replica_stop(&search);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid"
                             " AND operation = 'conversation.search' AND http_status = 200"
                             " AND contact_id = $2::uuid",
                             org.id, contact, NULL),
                 ALL);
}

Test(audit, pages_through_everything_once_and_in_order)
{
    enum { ALL = 25 };
    struct org org;
    const char *seen[ALL], *query = "?operation=ping&per_page=10";
    size_t n = 0;

    org_new(&org);
    for (int i = 0; i < ALL; i++)
        expect_status(api_get(org.full_key, "/ping"), 200);
    for (const char *cursor = NULL;;) {
        struct client_response *page =
            list(&org, cursor == NULL ? query : format("%s&starting_after=%s", query, cursor));

        for (size_t i = 0; i < count(page); i++) {
            cr_assert_lt(n, ALL);
            seen[n++] = text_at(page, format("audit_logs[%zu].id", i));
            /* UUIDv7: text order is time order. */
            cr_assert(n == 1 || strcmp(seen[n - 1], seen[n - 2]) < 0);
        }
        expect_integer(page, "pages.per_page", 10);
        cursor = next_of(page);
        cr_assert((cursor != NULL) == (n < ALL), "after %zu", n);
        if (cursor == NULL)
            break;
    }
    cr_assert_eq(n, ALL);
}

Test(audit, a_full_last_page_has_no_next)
{
    struct org org;

    org_new(&org);
    for (int i = 0; i < 5; i++)
        api_get(org.full_key, "/ping");
    cr_assert_null(at(list(&org, "?operation=ping&per_page=5"), "pages.next"));
    cr_assert_not_null(next_of(list(&org, "?operation=ping&per_page=4")));
    cr_assert_eq(count(list(&org, "?operation=ping&per_page=100")), 5);
    cr_assert_eq(count(list(&org, "?operation=ping&per_page=1")), 1);
}

Test(audit, filters_narrow_the_list_alone_and_together)
{
    struct org org;
    const char *id;
    struct client_response *page;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    read_conversation(&org, id);
    api_create(org.read_key, "{}");
    api_create(org.full_key, "{");
    api_get(org.full_key, "/ping");
    cr_assert_eq(count(list(&org, "?operation=conversation.create")), 3);
    cr_assert_eq(count(list(&org, "?operation=conversation.create&outcome=allowed")), 1);
    cr_assert_eq(count(list(&org, "?outcome=denied")), 1);
    cr_assert_eq(count(list(&org, "?outcome=rejected")), 1);
    cr_assert_eq(count(list(&org, "?outcome=error")), 0);
    cr_assert_eq(count(list(&org, format("?conversation_id=%s", id))), 2);
    cr_assert_eq(count(list(&org, format("?api_key_id=%s", org.full_key_id))), 3);
    page = list(&org, format("?api_key_id=%s&outcome=denied", org.read_key_id));
    cr_assert_eq(count(page), 1);
    expect_text(page, "audit_logs[0].denial_reason", "insufficient_scope");
}

Test(audit, times_bound_the_list_strictly)
{
    struct org org;
    struct client_response *page;
    long long at_s;

    org_new(&org);
    api_get(org.full_key, "/ping");
    page = list(&org, "?operation=ping");
    at_s = integer_at(page, "audit_logs[0].created_at");
    cr_assert_eq(count(list(&org, format("?operation=ping&created_at_after=%lld", at_s - 1))), 1);
    cr_assert_eq(count(list(&org, format("?operation=ping&created_at_after=%lld", at_s))), 0);
    cr_assert_eq(count(list(&org, format("?operation=ping&created_at_before=%lld", at_s + 1))), 1);
    cr_assert_eq(count(list(&org, format("?operation=ping&created_at_before=%lld", at_s))), 0);
    cr_assert_eq(
        count(list(&org, format("?operation=ping&created_at_after=%lld&created_at_before=%lld",
                                at_s - 1, at_s + 1))),
        1);
}

Test(audit, a_parameter_that_is_wrong_unknown_or_repeated_is_named)
{
    static const struct {
        const char *query, *field;
    } cases[] = {
        {"?per_page=0", "per_page"},
        {"?per_page=101", "per_page"},
        {"?per_page=abc", "per_page"},
        {"?per_page=", "per_page"},
        {"?per_page=10&per_page=10", "per_page"},
        {"?operation=nothing", "operation"},
        {"?outcome=maybe", "outcome"},
        {"?api_key_id=x", "api_key_id"},
        {"?conversation_id=x", "conversation_id"},
        {"?created_at_after=yesterday", "created_at_after"},
        {"?created_at_before=-1", "created_at_before"},
        {"?page=2", "page"},
        {"?organization_id=01890000-0000-7000-8000-000000000000", "organization_id"},
        {"?outcome=%zz", "outcome"},
        {"?per_page=%00", "per_page"},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct client_response *response =
            api_get(org.full_key, format("/audit%s", cases[i].query));

        expect_error(response, 400, "parameter_invalid", cases[i].field);
        expect_recorded(&org, response, "audit.list");
    }
}

Test(audit, a_cursor_is_good_for_its_own_query_only)
{
    static const struct {
        const char *query, *tail;
    } others[] = {
        {"per_page=3&operation=ping", ""},
        {"per_page=2", ""},
        {"per_page=2&operation=audit.list", ""},
        {"per_page=2&operation=ping&outcome=allowed", ""},
        {"per_page=2&operation=ping&created_at_after=1", ""},
        {"per_page=2&operation=ping", "x"},
        {"per_page=2&operation=ping", "%3D"},
    };
    struct org org, other;
    const char *cursor;
    char altered[256];

    org_new(&org);
    org_new(&other);
    for (int i = 0; i < 5; i++) {
        api_get(org.full_key, "/ping");
        api_get(other.full_key, "/ping");
    }
    cursor = next_of(list(&org, "?per_page=2&operation=ping"));
    cr_assert_not_null(cursor);
    /* Another key of the organization may use the cursor, with the parameters in another order. */
    expect_status(
        api_get(org.full_key, format("/audit?starting_after=%s&operation=ping&per_page=2", cursor)),
        200);
    snprintf(altered, sizeof(altered), "%s", cursor);
    altered[12] = altered[12] == 'A' ? 'B' : 'A';
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        expect_error(api_get(org.full_key, format("/audit?%s&starting_after=%s%s", others[i].query,
                                                  cursor, others[i].tail)),
                     400, "invalid_cursor", "starting_after");
    expect_error(api_get(org.full_key,
                         format("/audit?per_page=2&operation=ping&starting_after=%s", altered)),
                 400, "invalid_cursor", "starting_after");
    expect_error(api_get(other.full_key,
                         format("/audit?per_page=2&operation=ping&starting_after=%s", cursor)),
                 400, "invalid_cursor", "starting_after");
    expect_error(api_get(org.full_key, "/audit?per_page=2&operation=ping&starting_after="), 400,
                 "invalid_cursor", "starting_after");
}

Test(audit, the_default_page_size_said_or_not_is_the_same_query)
{
    struct org org;
    const char *cursor;

    org_new(&org);
    for (int i = 0; i < 51; i++)
        api_get(org.full_key, "/ping");
    cursor = next_of(list(&org, ""));
    cr_assert_not_null(cursor);
    cr_assert_eq(count(list(&org, format("?per_page=50&starting_after=%s", cursor))), 1);
}

Test(audit, shows_nothing_of_another_organization)
{
    struct org org, other;
    const char *id;

    org_new(&org);
    org_new(&other);
    id = new_conversation(&other, "e", "c");
    cr_assert_eq(count(list(&org, "")), 0);
    cr_assert_eq(count(list(&org, format("?conversation_id=%s", id))), 0);
    cr_assert_eq(count(list(&org, format("?api_key_id=%s", other.full_key_id))), 0);
}

Test(audit, a_request_without_a_valid_key_leaves_no_entry)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = api_get("svc_live_00000000000000000000000000000000000000", "/ping");
    expect_status(response, 401);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE request_id = $1::uuid",
                             response->request_id, NULL),
                 0);
}

Test(audit, no_role_can_change_or_remove_an_entry_and_only_one_can_read)
{
    static const char *const roles[] = {"conv_audit", "conv_conversation", "conv_search",
                                        "conv_access", "conv_webhook"};
    static const char *const changes[] = {
        "UPDATE audit.entries SET http_status = 200",
        "DELETE FROM audit.entries",
        "TRUNCATE audit.entries",
        "UPDATE audit.entries_default SET http_status = 200",
        "DROP TABLE audit.entries",
        "ALTER TABLE audit.entries DETACH PARTITION audit.entries_default",
        "SELECT audit.make_partition(now())",
    };

    for (size_t r = 0; r < ARRAY_SIZE(roles); r++) {
        for (size_t c = 0; c < ARRAY_SIZE(changes); c++)
            cr_assert_str_eq(sql_state_as(roles[r], changes[c]), "42501", "%s: %s", roles[r],
                             changes[c]);
        cr_assert_str_eq(sql_state_as(roles[r], "SELECT count(*) FROM audit.entries"),
                         strcmp(roles[r], "conv_audit") == 0 ? "00000" : "42501", "%s", roles[r]);
    }
}

Test(audit, entries_are_where_their_month_is_and_the_default_is_empty)
{
    struct org org;

    org_new(&org);
    api_get(org.full_key, "/ping");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries_default", NULL), 0);
    cr_assert_eq(sql_integer("SELECT count(*) FROM pg_inherits"
                             " WHERE inhparent = 'audit.entries'::regclass",
                             NULL),
                 4);
}
