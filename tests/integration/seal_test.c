/* The seal of the trail: what is done to it behind the services' backs is found and named. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/keep.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"
#include "tests/support/trail.h"

TestSuite(seal, .init = api_open, .timeout = 120);

Test(seal, finds_nothing_where_nothing_was_done)
{
    struct trail trail;
    json_t *said, *head;

    trail_make(&trail);
    said = trail_verify(&trail);
    head = json_object_get(said, "head");
    cr_assert(json_is_true(json_object_get(said, "ok")));
    cr_assert_eq(trail_integer(said, "entries"), TRAIL_ENTRIES);
    cr_assert_eq(trail_integer(said, "sealed"), TRAIL_ENTRIES);
    cr_assert_eq(trail_integer(said, "unsealed"), 0);
    cr_assert_eq(trail_integer(head, "number"), trail_integer(said, "blocks"));
    cr_assert_eq(trail_integer(head, "entries"), TRAIL_ENTRIES);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "block_hash"))), 64);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "signature"))), 128);
}

Test(seal, verifies_an_organization_that_has_no_trail)
{
    struct trail trail;

    org_new(&trail.org);
    trail_expect_sound(&trail);
}

Test(seal, names_an_entry_whose_status_was_changed)
{
    struct trail trail;

    trail_make(&trail);
    trail_tamper(&trail,
                 "UPDATE audit.entries SET http_status = 500 WHERE organization_id = $1::uuid"
                 " AND request_id = $2::uuid RETURNING 1",
                 trail.ids[7]);
    trail_expect_found(&trail, "changed", trail.ids[7]);
}

Test(seal, names_the_first_of_several_that_were_changed)
{
    struct trail trail;

    trail_make(&trail);
    for (int i = 15; i > 3; i -= 4)
        trail_tamper(
            &trail,
            "UPDATE audit.entries SET operation = 'audit.list' WHERE organization_id = $1::uuid"
            " AND request_id = $2::uuid RETURNING 1",
            trail.ids[i]);
    trail_expect_found(&trail, "changed", trail.ids[7]);
}

Test(seal, names_an_entry_that_was_deleted)
{
    struct trail trail;

    trail_make(&trail);
    trail_tamper(
        &trail,
        "DELETE FROM audit.entries WHERE organization_id = $1::uuid AND request_id = $2::uuid"
        " RETURNING 1",
        trail.ids[10]);
    trail_expect_found(&trail, "removed", trail.ids[10]);
}

Test(seal, names_an_entry_that_was_slipped_in_among_sealed_ones)
{
    struct trail trail;
    const char *id;

    trail_make(&trail);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, xid FROM audit.entries, LATERAL (SELECT overlay(request_id::text"
                  " PLACING 'abcdef' FROM 31)::uuid AS id) AS other WHERE organization_id ="
                  " $1::uuid AND request_id = $2::uuid RETURNING request_id",
                  trail.org.id, trail.ids[5], NULL);
    trail_expect_found(&trail, "slipped_in", id);
}

/* As services do, but dated back by a day: its transaction says that it came later. */
Test(seal, names_an_entry_that_was_appended_with_an_old_date)
{
    struct trail trail;
    struct answer *later;
    const char *id;

    trail_make(&trail);
    id = sql_text("INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                  " operation, http_status, outcome) SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome FROM audit.entries, LATERAL (SELECT"
                  " (lpad(to_hex((extract(epoch FROM now() - interval '1 day') *"
                  " 1000)::bigint), 12, '0') || substr(replace(request_id::text, '-', ''),"
                  " 13))::uuid AS id) AS other WHERE organization_id = $1::uuid AND request_id ="
                  " $2::uuid RETURNING request_id",
                  trail.org.id, trail.ids[5], NULL);
    /* Sealing has gone past it when what came behind it is sealed. */
    later = api_get(trail.org.full_key, "/ping");
    postgres_await(stack_setting("DATABASE_URL"),
                   format("SELECT count(*) FROM audit.blocks WHERE '%s' = ANY (request_ids)",
                          later->request_id));
    trail_expect_found(&trail, "slipped_in", id);
}

/* Nor will it ever be sealed: every transaction comes before. */
Test(seal, names_an_entry_of_a_transaction_that_has_not_begun)
{
    struct trail trail;
    const char *id;

    trail_make(&trail);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, (xid::text::bigint + 1000000000)::text::xid8 FROM audit.entries,"
                  " LATERAL (SELECT overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid AS id)"
                  " AS other WHERE organization_id = $1::uuid AND request_id = $2::uuid"
                  " RETURNING request_id",
                  trail.org.id, trail.ids[5], NULL);
    trail_expect_found(&trail, "slipped_in", id);
    /* It would look like one that waits, for ever. */
    trail_tamper(
        &trail,
        "DELETE FROM audit.entries WHERE organization_id = $1::uuid AND request_id = $2::uuid"
        " RETURNING 1",
        id);
}

Test(seal, names_an_entry_whose_id_is_none_of_ours)
{
    struct trail trail;
    const char *id;

    trail_make(&trail);
    id = sql_text("INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                  " operation, http_status, outcome) VALUES ($1::uuid, now(), gen_random_uuid(),"
                  " $1::uuid, 'ping', 200, 'allowed') RETURNING request_id",
                  trail.org.id, NULL);
    trail_expect_found(&trail, "slipped_in", id);
}

Test(seal, names_the_first_of_two_entries_that_were_swapped)
{
    struct trail trail;

    trail_make(&trail);
    /* All but their ids and times. */
    trail_tamper(
        &trail,
        format("WITH done AS (UPDATE audit.entries AS entry SET operation = other.operation,"
               " http_status = other.http_status, outcome = other.outcome, xid = other.xid"
               " FROM audit.entries AS other WHERE entry.organization_id = $1::uuid AND"
               " other.organization_id = $1::uuid AND entry.request_id IN ($2, '%s') AND"
               " other.request_id IN ($2, '%s') AND entry.request_id <> other.request_id"
               " RETURNING 1) SELECT 1 FROM done HAVING count(*) = 2",
               trail.ids[9], trail.ids[9]),
        trail.ids[2]);
    trail_expect_found(&trail, "changed", trail.ids[2]);
}

Test(seal, is_the_chain_that_its_description_says)
{
    struct trail trail;

    trail_make(&trail);
    trail_rewrite(&trail, 1);
    trail_expect_sound(&trail);
}

Test(seal, names_where_a_chain_was_rewritten)
{
    struct trail trail;
    json_t *first;

    trail_make(&trail);
    trail_tamper(&trail,
                 "UPDATE audit.entries SET http_status = 500 WHERE organization_id = $1::uuid"
                 " AND request_id = $2::uuid RETURNING 1",
                 trail.ids[TRAIL_LOT]);
    trail_rewrite(&trail, 2);
    trail_expect_found(&trail, "rewritten", NULL);
    first = json_object_get(trail_verify(&trail), "first");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid"
                             " AND number = $2::bigint AND $3::uuid = request_ids[1]",
                             trail.org.id, format("%lld", trail_integer(first, "block")),
                             json_string_value(json_object_get(first, "request_id")), NULL),
                 1);
}

/* Times that are none, which no number can be made of, do not keep it from being named. */
Test(seal, names_a_block_that_was_dated_for_ever)
{
    struct trail trail;

    trail_make(&trail);
    trail_tamper(&trail,
                 "UPDATE audit.blocks SET made_at = 'infinity' WHERE organization_id = $1::uuid AND"
                 " $2::uuid = ANY (request_ids) RETURNING 1",
                 trail.ids[TRAIL_ENTRIES - 1]);
    trail_expect_found(&trail, "rewritten", NULL);
}

Test(seal, misses_a_block_with_its_entries)
{
    struct trail trail;

    trail_make(&trail);
    trail_tamper(&trail,
                 "WITH block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid"
                 " AND $2::uuid = ANY (request_ids) RETURNING request_ids), gone AS (DELETE FROM"
                 " audit.entries USING block WHERE organization_id = $1::uuid AND request_id = ANY"
                 " (request_ids) RETURNING 1) SELECT count(*) FROM gone",
                 trail.ids[TRAIL_LOT]);
    trail_expect_found(&trail, "removed", NULL);
}

/* With a note that retention did it. */
Test(seal, misses_the_front_of_a_chain_whatever_is_noted_of_retention)
{
    static const char *const notes[] = {"0 s", "3 months 2 days"};

    for (int i = 0; i < 2; i++) {
        struct trail trail;

        trail_make(&trail);
        trail_tamper(
            &trail,
            "WITH note AS (INSERT INTO audit.dropped (until) VALUES (now() - $2::interval)),"
            " block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid AND"
            " number = 1 RETURNING request_ids), gone AS (DELETE FROM audit.entries USING block"
            " WHERE organization_id = $1::uuid AND request_id = ANY (request_ids) RETURNING 1)"
            " SELECT count(*) FROM gone",
            notes[i]);
        trail_expect_found(&trail, "removed", NULL);
    }
}

Test(seal, is_not_broken_by_traffic_while_it_is_verified)
{
    enum { MANY = 200 };
    struct org org;
    struct http_request requests[MANY];
    struct answer *answers[MANY];
    struct trail trail;

    org_new(&org);
    for (int i = 0; i < MANY; i++)
        requests[i] = (struct http_request){.method = "GET", .path = "/ping", .key = org.full_key};
    trail.org = org;
    for (int round = 0; round < 3; round++) {
        api_send_together(requests, MANY, answers);
        trail_expect_sound(&trail);
    }
    trail_await_seal(&org);
    trail_expect_sound(&trail);
}
