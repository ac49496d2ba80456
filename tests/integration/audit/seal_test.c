/* The seal of the audit log: verifying finds and names changes made directly in the database. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(seal, .init = stack_share);

#define ENTRY " WHERE organization_id = $1::uuid AND request_id = $2::uuid RETURNING 1"

static void change_entry(const struct sealed_log *sealed, const char *how, const char *id)
{
    sealed_log_tamper(sealed, format("UPDATE audit.entries SET %s" ENTRY, how), id);
}

static void remove_entry(const struct sealed_log *sealed, const char *id)
{
    sealed_log_tamper(sealed, "DELETE FROM audit.entries" ENTRY, id);
}

Test(seal, finds_nothing_in_an_unaltered_log)
{
    struct sealed_log sealed;
    json_t *reply, *head;

    sealed_log_make(&sealed);
    reply = sealed_log_verify(&sealed);
    head = json_object_get(reply, "head");
    cr_assert(json_is_true(json_object_get(reply, "ok")));
    cr_assert_eq(sealed_log_integer(reply, "entries"), SEALED_LOG_ENTRIES);
    cr_assert_eq(sealed_log_integer(reply, "sealed"), SEALED_LOG_ENTRIES);
    cr_assert_eq(sealed_log_integer(reply, "unsealed"), 0);
    cr_assert_eq(sealed_log_integer(head, "number"), sealed_log_integer(reply, "blocks"));
    cr_assert_eq(sealed_log_integer(head, "entries"), SEALED_LOG_ENTRIES);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "block_hash"))), 64);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "signature"))), 128);
}

Test(seal, verifies_an_organization_that_has_no_audit_log)
{
    struct sealed_log sealed;

    org_new(&sealed.org);
    sealed_log_expect_sound(&sealed);
}

Test(seal, names_an_entry_whose_status_was_changed)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    change_entry(&sealed, "http_status = 500", sealed.ids[7]);
    sealed_log_expect_found(&sealed, "changed", sealed.ids[7]);
}

Test(seal, names_the_first_of_several_that_were_changed)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    for (int i = 15; i > 3; i -= 4)
        change_entry(&sealed, "operation = 'audit.list'", sealed.ids[i]);
    sealed_log_expect_found(&sealed, "changed", sealed.ids[7]);
}

Test(seal, names_an_entry_that_was_deleted)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    remove_entry(&sealed, sealed.ids[10]);
    sealed_log_expect_found(&sealed, "removed", sealed.ids[10]);
}

Test(seal, names_an_entry_that_was_inserted_among_sealed_ones)
{
    struct sealed_log sealed;
    const char *id;

    sealed_log_make(&sealed);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, xid FROM audit.entries, LATERAL (SELECT overlay(request_id::text"
                  " PLACING 'abcdef' FROM 31)::uuid AS id) AS other WHERE organization_id ="
                  " $1::uuid AND request_id = $2::uuid RETURNING request_id",
                  sealed.org.id, sealed.ids[5], NULL);
    sealed_log_expect_found(&sealed, "inserted", id);
}

/* Appended as services do, but dated back by a day: its transaction shows that it came later. */
Test(seal, names_an_entry_that_was_appended_with_an_old_date)
{
    struct sealed_log sealed;
    struct client_response *later;
    const char *id;

    sealed_log_make(&sealed);
    id = sql_text("INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                  " operation, http_status, outcome) SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome FROM audit.entries, LATERAL (SELECT"
                  " (lpad(to_hex((extract(epoch FROM now() - interval '1 day') *"
                  " 1000)::bigint), 12, '0') || substr(replace(request_id::text, '-', ''),"
                  " 13))::uuid AS id) AS other WHERE organization_id = $1::uuid AND request_id ="
                  " $2::uuid RETURNING request_id",
                  sealed.org.id, sealed.ids[5], NULL);
    /* Once an entry appended after it is sealed, sealing has passed it. */
    later = api_get(sealed.org.full_key, "/ping");
    postgres_await(stack_setting("DATABASE_URL"),
                   format("SELECT count(*) FROM audit.blocks WHERE '%s' = ANY (request_ids)",
                          later->request_id));
    sealed_log_expect_found(&sealed, "misdated", id);
    cr_assert_eq(sealed_log_integer(sealed_log_verify(&sealed), "unsealed"), 0,
                 "it is sealed as found");
    /* So a change of this entry is found as well, and it does not hide other findings. */
    change_entry(&sealed, "http_status = 500", id);
    remove_entry(&sealed, later->request_id);
    cr_assert_eq(sealed_log_count(&sealed, "changed"), 1);
    cr_assert_eq(sealed_log_count(&sealed, "removed"), 1);
    cr_assert_eq(sealed_log_count(&sealed, "misdated"), 1);
}

/* It would never be sealed: the numbers of all real transactions are lower. */
Test(seal, names_an_entry_of_a_transaction_that_has_not_begun)
{
    struct sealed_log sealed;
    const char *id;

    sealed_log_make(&sealed);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, (xid::text::bigint + 1000000000)::text::xid8 FROM audit.entries,"
                  " LATERAL (SELECT overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid AS id)"
                  " AS other WHERE organization_id = $1::uuid AND request_id = $2::uuid"
                  " RETURNING request_id",
                  sealed.org.id, sealed.ids[5], NULL);
    sealed_log_expect_found(&sealed, "inserted", id);
    /* Otherwise it would look like an entry that waits to be sealed, forever. */
    remove_entry(&sealed, id);
}

Test(seal, names_an_entry_whose_id_is_not_one_of_ours)
{
    struct sealed_log sealed;
    const char *id;

    sealed_log_make(&sealed);
    id = sql_text("INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                  " operation, http_status, outcome) SELECT $1::uuid, audit.time_of(id), id,"
                  " $1::uuid, 'ping', 200, 'allowed' FROM gen_random_uuid() AS id"
                  " RETURNING request_id",
                  sealed.org.id, NULL);
    sealed_log_expect_found(&sealed, "implausible", id);
}

/* Has another time, so that the primary key admits it. The policy that an entry's time is the one
   in its id does not bind the table's owner. */
Test(seal, names_an_entry_that_was_inserted_under_the_id_of_a_sealed_one)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    sealed_log_tamper(
        &sealed,
        "INSERT INTO audit.entries SELECT organization_id, created_at - interval '1 hour',"
        " request_id, api_key_id, 'conversation.update', http_status, outcome,"
        " denial_reason, conversation_id, contact_id, xid FROM audit.entries WHERE"
        " organization_id = $1::uuid AND request_id = $2::uuid RETURNING 1",
        sealed.ids[7]);
    sealed_log_expect_found(&sealed, "inserted", sealed.ids[7]);
    cr_assert_eq(sealed_log_integer(sealed_log_verify(&sealed), "sealed"), SEALED_LOG_ENTRIES);
}

Test(seal, continues_after_a_finding_and_can_be_resumed_after_it)
{
    struct sealed_log sealed;
    json_t *reply, *found;

    sealed_log_make(&sealed);
    for (int i = 1; i < 12; i += 5)
        change_entry(&sealed, "operation = 'audit.list'", sealed.ids[i]);
    remove_entry(&sealed, sealed.ids[13]);
    reply = sealed_log_verify(&sealed);
    found = json_object_get(reply, "findings");
    cr_assert_eq(sealed_log_integer(json_object_get(found, "changed"), "count"), 3);
    cr_assert_eq(sealed_log_integer(json_object_get(found, "removed"), "count"), 1);
    cr_assert_eq(json_object_size(found), 2);
    cr_assert_str_eq(
        json_string_value(json_object_get(json_object_get(found, "changed"), "request_id")),
        sealed.ids[1]);
    cr_assert_eq(sealed_log_integer(reply, "entries"), SEALED_LOG_ENTRIES - 1);
    /* From the block after the first finding, and then from after the last entry but one. */
    reply = never_free(convctl(
        "audit", "verify", "--org", sealed.org.id, "--from",
        format("%lld", sealed_log_integer(json_object_get(found, "changed"), "block") + 1), NULL));
    found = json_object_get(reply, "findings");
    cr_assert_eq(sealed_log_integer(json_object_get(found, "changed"), "count"), 2);
    cr_assert_eq(sealed_log_integer(reply, "entries"), SEALED_LOG_ENTRIES - 1);
    reply = never_free(convctl("audit", "verify", "--org", sealed.org.id, "--from",
                               sealed.ids[SEALED_LOG_ENTRIES - 2], NULL));
    cr_assert(json_is_true(json_object_get(reply, "ok")));
    cr_assert_str_eq(json_string_value(json_object_get(reply, "from")),
                     sealed.ids[SEALED_LOG_ENTRIES - 2]);
    cr_assert_eq(sealed_log_integer(reply, "entries"), 1);
}

Test(seal, refuses_to_begin_at_a_missing_block)
{
    struct sealed_log sealed;
    char code[64];

    org_new(&sealed.org);
    cr_assert_eq(
        convctl_fails(code, "audit", "verify", "--org", sealed.org.id, "--from", "0", NULL), 1);
    cr_assert_str_eq(code, "parameter_invalid");
}

Test(seal, names_the_first_of_two_entries_that_were_swapped)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    /* Everything but their ids and times. */
    sealed_log_tamper(
        &sealed,
        format("WITH done AS (UPDATE audit.entries AS entry SET operation = other.operation,"
               " http_status = other.http_status, outcome = other.outcome, xid = other.xid"
               " FROM audit.entries AS other WHERE entry.organization_id = $1::uuid AND"
               " other.organization_id = $1::uuid AND entry.request_id IN ($2, '%s') AND"
               " other.request_id IN ($2, '%s') AND entry.request_id <> other.request_id"
               " RETURNING 1) SELECT 1 FROM done HAVING count(*) = 2",
               sealed.ids[9], sealed.ids[9]),
        sealed.ids[2]);
    sealed_log_expect_found(&sealed, "changed", sealed.ids[2]);
}

Test(seal, is_the_chain_that_its_description_says)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    sealed_log_rewrite(&sealed, 1);
    sealed_log_expect_sound(&sealed);
}

Test(seal, names_where_a_chain_was_rewritten)
{
    struct sealed_log sealed;
    json_t *first;

    sealed_log_make(&sealed);
    change_entry(&sealed, "http_status = 500", sealed.ids[SEALED_LOG_LOT]);
    sealed_log_rewrite(&sealed, 2);
    sealed_log_expect_found(&sealed, "rewritten", NULL);
    first = json_object_get(sealed_log_verify(&sealed), "first");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid"
                             " AND number = $2::bigint AND $3::uuid = request_ids[1]",
                             sealed.org.id, format("%lld", sealed_log_integer(first, "block")),
                             json_string_value(json_object_get(first, "request_id")), NULL),
                 1);
}

/* The time is infinite and converts to no number; verifying still names the block. */
Test(seal, names_a_block_that_was_dated_for_ever)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    sealed_log_tamper(
        &sealed,
        "UPDATE audit.blocks SET made_at = 'infinity' WHERE organization_id = $1::uuid AND"
        " $2::uuid = ANY (request_ids) RETURNING 1",
        sealed.ids[SEALED_LOG_ENTRIES - 1]);
    sealed_log_expect_found(&sealed, "rewritten", NULL);
}

Test(seal, misses_a_block_with_its_entries)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    sealed_log_tamper(
        &sealed,
        "WITH block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid"
        " AND $2::uuid = ANY (request_ids) RETURNING request_ids), gone AS (DELETE FROM"
        " audit.entries USING block WHERE organization_id = $1::uuid AND request_id = ANY"
        " (request_ids) RETURNING 1) SELECT count(*) FROM gone",
        sealed.ids[SEALED_LOG_LOT]);
    sealed_log_expect_found(&sealed, "removed", NULL);
}

Test(seal, misses_the_front_of_a_chain)
{
    struct sealed_log sealed;

    sealed_log_make(&sealed);
    sealed_log_tamper(
        &sealed,
        "WITH block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid AND"
        " number = $2::bigint RETURNING request_ids), gone AS (DELETE FROM audit.entries"
        " USING block WHERE organization_id = $1::uuid AND request_id = ANY (request_ids)"
        " RETURNING 1) SELECT count(*) FROM gone",
        "1");
    sealed_log_expect_found(&sealed, "removed", NULL);
}

Test(seal, is_not_broken_by_traffic_while_it_is_verified)
{
    enum { MANY = 200 };
    struct org org;
    struct client_request requests[MANY];
    struct client_response *responses[MANY];
    struct sealed_log sealed;

    org_new(&org);
    for (int i = 0; i < MANY; i++)
        requests[i] =
            (struct client_request){.method = "GET", .path = "/ping", .key = org.full_key};
    sealed.org = org;
    for (int round = 0; round < 3; round++) {
        api_send_together(requests, MANY, responses);
        sealed_log_expect_sound(&sealed);
    }
    sealed_log_await_seal(&org);
    sealed_log_expect_sound(&sealed);
}
