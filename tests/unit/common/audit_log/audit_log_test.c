/* The audit log against a real table; how an actor uses it is in actor_test.c. */
#include "common/audit_log/audit_log.h"

#include <criterion/criterion.h>

#include "common/base/clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_service.h"

static struct postgres_server server;
static struct arena arena;
static struct db *db;

static void setup(void)
{
    postgres_server_share(&server, &sample_template);
    arena_init(&arena, 16 << 20);
    db = db_new(&(struct db_options){.url = server.url,
                                     .name = "audit_log_test",
                                     .statements = audit_log.entries,
                                     .n_statements = 1});
    cr_assert_eq(db_connect(db, 30000), ST_OK);
}

static void teardown(void)
{
    db_free(db);
    arena_release(&arena);
    postgres_server_stop(&server);
}

static struct audit_log_entry entry(int http_status, const char *code)
{
    return (struct audit_log_entry){
        .organization_id = uuid_v7(clock_us()),
        .request_id = uuid_v7(clock_us()),
        .api_key_id = uuid_v7(clock_us()),
        .operation = OP_CONVERSATION_GET,
        .http_status = http_status,
        .error_code = code,
    };
}

static enum status append(const struct audit_log_entry *entries, size_t n)
{
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_log_add(db, 0, entries, n, &arena);
    return db_commit(db);
}

Test(audit_log, names_the_outcome_of_a_status)
{
    cr_assert_str_eq(audit_log_outcome(200), "allowed");
    cr_assert_str_eq(audit_log_outcome(201), "allowed");
    cr_assert_str_eq(audit_log_outcome(400), "rejected");
    cr_assert_str_eq(audit_log_outcome(403), "denied");
    cr_assert_str_eq(audit_log_outcome(404), "rejected");
    cr_assert_str_eq(audit_log_outcome(429), "denied");
    cr_assert_str_eq(audit_log_outcome(500), "error");
    cr_assert_str_eq(audit_log_outcome(503), "error");
}

Test(audit_log, appends_many_entries_in_one_statement, .init = setup, .fini = teardown)
{
    enum { N = 128 };
    struct audit_log_entry entries[N];

    for (int i = 0; i < N; i++)
        entries[i] = entry(200, NULL);
    entries[1] = entry(403, "insufficient_scope");
    entries[2] = entry(404, "not_found");
    entries[3].conversation_id = uuid_v7(clock_us());
    entries[4].contact_id = uuid_v7(clock_us());
    cr_assert_eq(append(entries, N), ST_OK);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM audit.entries"), N);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM audit.entries WHERE outcome ="
                                              " 'denied' AND denial_reason = 'insufficient_scope'"),
                 1);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM audit.entries"
                                              " WHERE denial_reason IS NOT NULL"),
                 1);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM audit.entries"
                                              " WHERE outcome = 'rejected' AND http_status = 404"),
                 1);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(conversation_id) + count(contact_id)"
                                              " FROM audit.entries"),
                 2);
}

Test(audit_log, dates_an_entry_by_the_milliseconds_of_its_request, .init = setup, .fini = teardown)
{
    struct audit_log_entry one = entry(200, NULL);

    cr_assert_eq(append(&one, 1), ST_OK);
    cr_assert_eq(postgres_integer(server.url, "SELECT (extract(epoch FROM created_at) * 1000000)"
                                              "::bigint FROM audit.entries"),
                 uuid_v7_ms(&one.request_id) * 1000);
}

Test(audit_log, refuses_a_second_entry_for_a_request, .init = setup, .fini = teardown)
{
    struct audit_log_entry one = entry(200, NULL);

    cr_assert_eq(append(&one, 1), ST_OK);
    one.http_status = 500;
    cr_assert_eq(append(&one, 1), ST_RETRY);
    cr_assert_str_eq(db_last_sqlstate(db), "23505");
    cr_assert_eq(db_last_statement(db), 0);
    cr_assert_eq(postgres_integer(server.url, "SELECT http_status FROM audit.entries"), 200);
}
