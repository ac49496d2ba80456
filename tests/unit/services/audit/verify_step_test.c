/* Verifying step by step while services run: sealed entries pass, and no step misses a change. */
#include "tests/support/measure.h"
#include "tests/unit/services/audit/tamper_fixture.h"

TestSuite(verify_step, .init = start, .fini = stop);

/* With entries that wait to be sealed, and blocks that are made between steps. */
Test(verify_step, finds_nothing_in_an_unaltered_log)
{
    const int draws = long_form_or(200, 20);

    open_audit_log();
    for (int n = 0; n < draws; n++) {
        struct seal_step sealing = {0};

        put_back();
        if (n % 2 == 1)
            postgres_do(server.url, ENTRY(ORG, "0 s", 4000) ENTRY(OTHER, "20 s", 4001));
        if (n % 4 == 3)
            seal(&sealing);
        cr_assert(is_fine(ORG) && is_fine(OTHER), "draw %d", n);
        arena_clear(&arena);
    }
    PQfinish(owner);
}

/* The entries exist while steps walk the chain, and are gone when steps walk the entries. */
Test(verify_step, finds_nothing_if_retention_drops_entries_during_the_check)
{
    struct seal_step sealing = {0};
    json_t *first;

    audit.signing = keys;
    make_old_months(&sealing);
    first = step(ORG, NULL);
    cr_assert_not_null(json_object_get(first, "position"));
    drop_old_months();
    cr_assert(is_fine_from(ORG, first));
    cr_assert(is_fine(ORG));
}

/* The entry's own time is before all others, the time in its id is after them. */
Test(verify_step, continues_after_an_entry_whose_time_is_not_the_one_in_its_id)
{
    struct seal_step sealing = {0};
    json_t *from, *answer;
    const char *us;

    open_audit_log();
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) VALUES ('" ORG "', now() - interval '1 hour',"
                " 'f0000000-0000-7000-8000-000000000000', '" ORG "', 'ping', 200, 'allowed')");
    seal(&sealing);
    us = query("SELECT audit.us(created_at) FROM audit.entries WHERE request_id ="
               " 'f0000000-0000-7000-8000-000000000000'");
    from = json_pack("{s:s}", "from", "f0000000-0000-7000-8000-000000000000");
    answer = step(ORG, from);
    cr_assert_eq(json_integer_value(json_object_get(answer, "entries")), 0);
    json_free(answer);
    json_object_set_new(
        from, "from",
        json_string(arena_printf(&arena, "%s@%s", "f0000000-0000-7000-8000-000000000000", us)));
    answer = step(ORG, from);
    cr_assert_eq(json_integer_value(json_object_get(answer, "entries")), LOTS * LOT);
    json_free(answer);
    json_decref(from);
    PQfinish(owner);
}

/* An entry without an id, at the place where the next step begins. */
Test(verify_step, finds_alterations_at_the_end_of_a_step)
{
    struct seal_step sealing = {0};

    audit.signing = keys;
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', audit.time_of(id), id, '" ORG
                "', 'ping', 200, 'allowed' FROM generate_series(1, 1500) AS n,"
                " test_id(interval '2 s' - n * interval '1 ms', n) AS id");
    seal(&sealing);
    cr_assert(is_fine(ORG));
    postgres_do(server.url,
                "ALTER TABLE audit.entries DROP CONSTRAINT entries_pkey;"
                "ALTER TABLE audit.entries ALTER request_id DROP NOT NULL;"
                "CREATE INDEX by_key ON audit.entries (organization_id, created_at, request_id);"
                "INSERT INTO audit.entries SELECT organization_id, created_at, NULL, api_key_id,"
                " operation, 201, outcome, denial_reason, conversation_id, contact_id, xid FROM"
                " audit.entries ORDER BY created_at OFFSET 1000 LIMIT 1");
    cr_assert_not(is_fine(ORG));
}
