/* Pages of the audit log with a filter that few entries match: the work is bounded, and no entry is
   missed or returned twice.
 */
#include "services/audit/audit.h"
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(list, .init = start, .fini = stop);

enum { MANY = 12000 };

static uint32_t cost; /* of the last page */

/* MANY entries of one millisecond; the first, the last and every 4,000th are searches. */
static void fill(void)
{
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', audit.time_of(id), id,"
                " '" ORG "', CASE WHEN n % 4000 = 0 OR n = 1 THEN 'conversation.search' ELSE 'ping'"
                " END, 200, 'allowed' FROM generate_series(1, 12000) AS n, LATERAL (SELECT"
                " (left(test_id(interval '1 min', 1)::text, 14) || '7000-8000-' ||"
                " lpad(to_hex(n), 12, '0'))::uuid AS id) AS made");
}

static const char *page(struct audit *audit, const char *query)
{
    struct command *command = ARENA_NEW(&arena, struct command);

    *command = (struct command){.handler = &audit_list, .arena = &arena, .query = str_of(query)};
    errors_init(&command->errors, &arena);
    buf_init(&command->reply, &arena, 4096);
    cr_assert(uuid_parse(STR(ORG), &command->caller.organization_id));
    cr_assert_eq(command_parse(command, audit), ST_OK);
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_list.query(command, db, audit);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    cr_assert_eq(audit_list.reply(command, db, audit), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    cost = command->cost;
    return arena_cstr(&arena, buf_str(&command->reply));
}

static int occurrences(const char *text, const char *of)
{
    int n = 0;

    for (const char *p = strstr(text, of); p != NULL; p = strstr(p + 1, of))
        n++;
    return n;
}

/* The cursor of the next page, or NULL. */
static const char *next_of(const char *reply)
{
    const char *begin = strstr(reply, "\"starting_after\":\"");

    if (begin == NULL)
        return NULL;
    begin += strlen("\"starting_after\":\"");
    return arena_cstr(&arena, (struct str){begin, strcspn(begin, "\"")});
}

/* How many entries all pages of that query have, and how many pages there are. */
static int walk(const char *query, int *pages)
{
    struct audit audit = {0};
    const char *after = NULL;
    int n = 0;

    cr_assert(cursor_keys_read("a cursor key that is long enough for a test", NULL, &audit.keys));
    *pages = 0;
    do {
        const char *reply = page(
            &audit,
            after == NULL ? query : arena_printf(&arena, "%s&starting_after=%s", query, after));

        n += occurrences(reply, "\"type\":\"audit_log\"");
        after = next_of(reply);
        cr_assert_lt(++*pages, 1000);
    } while (after != NULL);
    return n;
}

Test(list, looks_at_a_bounded_number_of_entries_for_a_page)
{
    int pages;

    fill();
    cr_assert_eq(walk("operation=conversation.search", &pages), 4);
    cr_assert_eq(pages, 13, "of 1,000 entries each that were looked at, and one of none");
    cr_assert_eq(walk("operation=audit.list", &pages), 0);
    cr_assert_eq(pages, 13);
    cr_assert_eq(walk("operation=conversation.search&per_page=1", &pages), 4);
}

Test(list, is_not_limited_if_pages_are_full)
{
    int pages;

    fill();
    cr_assert_eq(walk("per_page=100", &pages), MANY);
    cr_assert_eq(pages, MANY / 100);
    cr_assert_eq(walk("operation=ping&per_page=100", &pages), MANY - 4);
}

/* A full page has no cursor if the scan for it reached the end of the audit log. */
Test(list, announces_no_page_after_the_last_one)
{
    int pages;

    postgres_do(server.url, ENTRY(ORG, "2 s", 1) ENTRY(ORG, "1 s", 2));
    postgres_do(server.url, "UPDATE audit.entries SET operation = 'unknown' WHERE"
                            " right(request_id::text, 1) = '1'");
    cr_assert_eq(walk("operation=ping&per_page=1", &pages), 1);
    cr_assert_eq(pages, 1);
    cr_assert_eq(walk("operation=unknown&per_page=1", &pages), 1);
    cr_assert_eq(pages, 1);
    cr_assert_eq(walk("per_page=1", &pages), 2);
    cr_assert_eq(pages, 2);
}

Test(list, costs_by_what_it_looked_at)
{
    struct audit audit = {0};

    cr_assert(cursor_keys_read("a cursor key that is long enough for a test", NULL, &audit.keys));
    fill();
    (void)page(&audit, "per_page=10");
    cr_assert_eq(cost, 1);
    (void)page(&audit, "operation=audit.list");
    cr_assert_eq(cost, 1 + 1000 / 25);
    postgres_do(server.url, "DELETE FROM audit.entries WHERE request_id NOT IN (SELECT request_id"
                            " FROM audit.entries LIMIT 250)");
    (void)page(&audit, "operation=audit.list");
    cr_assert_eq(cost, 1 + 250 / 25);
}

Test(list, ends_with_the_audit_log)
{
    int pages;

    cr_assert_eq(walk("operation=ping", &pages), 0);
    cr_assert_eq(pages, 1);
    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    cr_assert_eq(walk("operation=ping", &pages), 1);
    cr_assert_eq(walk("operation=audit.list", &pages), 0);
    cr_assert_eq(pages, 1);
}

/* A compromised role can insert entries whose ids hold another time. */
Test(list, continues_after_entries_whose_time_is_not_the_one_in_their_ids)
{
    int pages;

    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', now() - n * interval"
                " '1.000001 s', gen_random_uuid(), '" ORG "', 'ping', 200, 'allowed' FROM"
                " generate_series(1, 300) AS n");
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', '9000-01-01 00:00+00'::"
                "timestamptz + n * interval '1 microsecond', gen_random_uuid(), '" ORG "', 'ping',"
                " 200, 'allowed' FROM generate_series(1, 100) AS n");
    cr_assert_eq(walk("per_page=7", &pages), 400);
    cr_assert_eq(pages, 58);
    cr_assert_eq(walk("operation=audit.list&per_page=7", &pages), 0);
}
