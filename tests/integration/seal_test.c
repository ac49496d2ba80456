/* The seal of the trail: what is done to it behind the services' backs is found and named. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"
#include "tests/support/keep.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"

TestSuite(seal, .init = api_open, .timeout = 120);

enum { LOT = 6, LOTS = 3, PATIENCE_MS = 20000 };

/* An organization with three lots of entries, each of which is sealed before the next is begun. */
struct trail {
    struct org org;
    const char *ids[LOTS * LOT]; /* in the order of sealing */
};

static bool is_sealed(void *closure)
{
    const struct org *org = closure;

    return sql_integer(
               "SELECT (SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid)"
               " - (SELECT coalesce(max(entries), 0) FROM audit.blocks"
               " WHERE organization_id = $1::uuid)",
               org->id, NULL) == 0;
}

static void make_trail(struct trail *trail)
{
    org_new(&trail->org);
    for (int lot = 0; lot < LOTS; lot++) {
        for (int i = 0; i < LOT; i++) {
            /* Pings and pages that are not there, in turn: entries that differ. */
            struct answer *answer = api_get(trail->org.full_key, i % 2 == 0 ? "/ping" : "/none");

            trail->ids[lot * LOT + i] = format("%s", answer->request_id);
        }
        cr_assert(stack_wait(is_sealed, &trail->org, PATIENCE_MS));
    }
    cr_assert_geq(sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid",
                              trail->org.id, NULL),
                  LOTS);
}

static const char *text_of(const json_t *value)
{
    return keep(json_dumps(value, 0));
}

static json_t *verify(const struct trail *trail)
{
    return keep(convctl("audit", "verify", "--org", trail->org.id, NULL));
}

static long long integer_of(const json_t *in, const char *name)
{
    const json_t *value = json_object_get(in, name);

    cr_assert(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

static void expect_sound(const struct trail *trail)
{
    json_t *said = verify(trail);

    cr_assert(json_is_true(json_object_get(said, "ok")), "%s", text_of(said));
    cr_assert(json_is_null(json_object_get(said, "first")));
}

/* Expects that verifying fails, names that kind and, unless NULL, that entry. */
static void expect_found(const struct trail *trail, const char *kind, const char *id)
{
    json_t *said = verify(trail), *first = json_object_get(said, "first");
    const char *text = text_of(said);

    cr_assert(json_is_false(json_object_get(said, "ok")), "%s", text);
    cr_assert_str_eq(json_string_value(json_object_get(first, "kind")), kind, "%s", text);
    if (id != NULL)
        cr_assert_str_eq(json_string_value(json_object_get(first, "request_id")), id, "%s", text);
}

/* A statement of the database's owner; $1 is the organization, $2 an entry. */
static void tamper(const struct trail *trail, const char *statement, const char *id)
{
    cr_assert_not_null(sql_text(statement, trail->org.id, id, NULL), "%s", statement);
}

Test(seal, finds_nothing_where_nothing_was_done)
{
    struct trail trail;
    json_t *said, *head;

    make_trail(&trail);
    said = verify(&trail);
    head = json_object_get(said, "head");
    cr_assert(json_is_true(json_object_get(said, "ok")));
    cr_assert_eq(integer_of(said, "entries"), LOTS * LOT);
    cr_assert_eq(integer_of(said, "sealed"), LOTS * LOT);
    cr_assert_eq(integer_of(said, "unsealed"), 0);
    cr_assert_eq(integer_of(head, "number"), integer_of(said, "blocks"));
    cr_assert_eq(integer_of(head, "entries"), LOTS * LOT);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "block_hash"))), 64);
    cr_assert_eq(strlen(json_string_value(json_object_get(head, "signature"))), 128);
}

Test(seal, verifies_an_organization_that_has_no_trail)
{
    struct trail trail;

    org_new(&trail.org);
    expect_sound(&trail);
}

Test(seal, names_an_entry_whose_status_was_changed)
{
    struct trail trail;

    make_trail(&trail);
    tamper(&trail,
           "UPDATE audit.entries SET http_status = 500 WHERE organization_id = $1::uuid"
           " AND request_id = $2::uuid RETURNING 1",
           trail.ids[7]);
    expect_found(&trail, "changed", trail.ids[7]);
}

Test(seal, names_the_first_of_several_that_were_changed)
{
    struct trail trail;

    make_trail(&trail);
    for (int i = 15; i > 3; i -= 4)
        tamper(&trail,
               "UPDATE audit.entries SET operation = 'audit.list' WHERE organization_id = $1::uuid"
               " AND request_id = $2::uuid RETURNING 1",
               trail.ids[i]);
    expect_found(&trail, "changed", trail.ids[7]);
}

Test(seal, names_an_entry_that_was_deleted)
{
    struct trail trail;

    make_trail(&trail);
    tamper(&trail,
           "DELETE FROM audit.entries WHERE organization_id = $1::uuid AND request_id = $2::uuid"
           " RETURNING 1",
           trail.ids[10]);
    expect_found(&trail, "removed", trail.ids[10]);
}

Test(seal, names_an_entry_that_was_slipped_in_among_sealed_ones)
{
    struct trail trail;
    const char *id;

    make_trail(&trail);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, xid FROM audit.entries, LATERAL (SELECT overlay(request_id::text"
                  " PLACING 'abcdef' FROM 31)::uuid AS id) AS other WHERE organization_id ="
                  " $1::uuid AND request_id = $2::uuid RETURNING request_id",
                  trail.org.id, trail.ids[5], NULL);
    expect_found(&trail, "slipped_in", id);
}

/* As services do, but dated back by a day: its transaction says that it came later. */
Test(seal, names_an_entry_that_was_appended_with_an_old_date)
{
    struct trail trail;
    struct answer *later;
    const char *id;

    make_trail(&trail);
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
    expect_found(&trail, "slipped_in", id);
}

/* Nor will it ever be sealed: every transaction comes before. */
Test(seal, names_an_entry_of_a_transaction_that_has_not_begun)
{
    struct trail trail;
    const char *id;

    make_trail(&trail);
    id = sql_text("INSERT INTO audit.entries SELECT organization_id, audit.time_of(id), id,"
                  " api_key_id, operation, http_status, outcome, denial_reason, conversation_id,"
                  " contact_id, (xid::text::bigint + 1000000000)::text::xid8 FROM audit.entries,"
                  " LATERAL (SELECT overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid AS id)"
                  " AS other WHERE organization_id = $1::uuid AND request_id = $2::uuid"
                  " RETURNING request_id",
                  trail.org.id, trail.ids[5], NULL);
    expect_found(&trail, "slipped_in", id);
    /* It would look like one that waits, for ever. */
    tamper(&trail,
           "DELETE FROM audit.entries WHERE organization_id = $1::uuid AND request_id = $2::uuid"
           " RETURNING 1",
           id);
}

Test(seal, names_an_entry_whose_id_is_none_of_ours)
{
    struct trail trail;
    const char *id;

    make_trail(&trail);
    id = sql_text("INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                  " operation, http_status, outcome) VALUES ($1::uuid, now(), gen_random_uuid(),"
                  " $1::uuid, 'ping', 200, 'allowed') RETURNING request_id",
                  trail.org.id, NULL);
    expect_found(&trail, "slipped_in", id);
}

Test(seal, names_the_first_of_two_entries_that_were_swapped)
{
    struct trail trail;

    make_trail(&trail);
    /* All but their ids and times. */
    tamper(&trail,
           format("WITH done AS (UPDATE audit.entries AS entry SET operation = other.operation,"
                  " http_status = other.http_status, outcome = other.outcome, xid = other.xid"
                  " FROM audit.entries AS other WHERE entry.organization_id = $1::uuid AND"
                  " other.organization_id = $1::uuid AND entry.request_id IN ($2, '%s') AND"
                  " other.request_id IN ($2, '%s') AND entry.request_id <> other.request_id"
                  " RETURNING 1) SELECT 1 FROM done HAVING count(*) = 2",
                  trail.ids[9], trail.ids[9]),
           trail.ids[2]);
    expect_found(&trail, "changed", trail.ids[2]);
}

/* Hashes the chain of an organization anew from a block on, as docs/audit.md describes it: all that
   somebody can do who owns the database and does not have the key. */
static void rewrite(const struct trail *trail, int from)
{
    postgres_do(
        stack_setting("DATABASE_URL"),
        format(
            "CREATE FUNCTION pg_temp.line(field text) RETURNS text LANGUAGE sql AS"
            " $$ SELECT coalesce('=' || field, '') || E'\\n' $$;"
            "CREATE FUNCTION pg_temp.hash(e audit.entries) RETURNS bytea LANGUAGE sql AS $$ SELECT"
            " sha256(convert_to(E'audit-entry-v1\\n' || pg_temp.line(e.organization_id::text) ||"
            " pg_temp.line(e.request_id::text) ||"
            " pg_temp.line(((extract(epoch FROM e.created_at) * 1000000)::bigint)::text) ||"
            " pg_temp.line(e.api_key_id::text) || pg_temp.line(e.operation) ||"
            " pg_temp.line(e.http_status::text) || pg_temp.line(e.outcome) ||"
            " pg_temp.line(e.denial_reason) || pg_temp.line(e.conversation_id::text) ||"
            " pg_temp.line(e.contact_id::text) || pg_temp.line(e.xid::text), 'UTF8')) $$;"
            "DO $$ DECLARE b audit.blocks; hashes bytea; contents bytea; previous bytea; BEGIN"
            " FOR b IN SELECT * FROM audit.blocks WHERE organization_id = '%s' AND number >= %d"
            " ORDER BY number LOOP"
            " SELECT string_agg(pg_temp.hash(e), '' ORDER BY i.place),"
            " string_agg(uuid_send(i.id) || pg_temp.hash(e), '' ORDER BY i.place)"
            " INTO hashes, contents FROM unnest(b.request_ids) WITH ORDINALITY AS i (id, place)"
            " JOIN audit.entries AS e ON e.organization_id = b.organization_id AND"
            " e.request_id = i.id;"
            " previous := coalesce((SELECT block_hash FROM audit.blocks WHERE organization_id ="
            " b.organization_id AND number = b.number - 1), decode(repeat('00', 32), 'hex'));"
            " UPDATE audit.blocks SET previous_hash = previous, entry_hashes = hashes, block_hash ="
            " sha256(convert_to(concat_ws(E'\\n', 'audit-block-v1', b.organization_id, b.number,"
            " encode(previous, 'hex'), b.entries, cardinality(b.request_ids), b.last_xid,"
            " b.last_request_id, b.made_xid,"
            " (extract(epoch FROM b.made_at) * 1000000)::bigint, encode(sha256(contents), 'hex'),"
            " b.key_id, ''), 'UTF8')) WHERE organization_id = b.organization_id AND"
            " number = b.number; END LOOP; END $$",
            trail->org.id, from));
}

Test(seal, is_the_chain_that_its_description_says)
{
    struct trail trail;

    make_trail(&trail);
    rewrite(&trail, 1);
    expect_sound(&trail);
}

Test(seal, names_where_a_chain_was_rewritten)
{
    struct trail trail;
    json_t *first;

    make_trail(&trail);
    tamper(&trail,
           "UPDATE audit.entries SET http_status = 500 WHERE organization_id = $1::uuid"
           " AND request_id = $2::uuid RETURNING 1",
           trail.ids[LOT]);
    rewrite(&trail, 2);
    expect_found(&trail, "rewritten", NULL);
    first = json_object_get(verify(&trail), "first");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid"
                             " AND number = $2::bigint AND $3::uuid = request_ids[1]",
                             trail.org.id, format("%lld", integer_of(first, "block")),
                             json_string_value(json_object_get(first, "request_id")), NULL),
                 1);
}

Test(seal, misses_a_block_with_its_entries)
{
    struct trail trail;

    make_trail(&trail);
    tamper(&trail,
           "WITH block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid"
           " AND $2::uuid = ANY (request_ids) RETURNING request_ids), gone AS (DELETE FROM"
           " audit.entries USING block WHERE organization_id = $1::uuid AND request_id = ANY"
           " (request_ids) RETURNING 1) SELECT count(*) FROM gone",
           trail.ids[LOT]);
    expect_found(&trail, "removed", NULL);
}

/* With a note that retention did it. */
Test(seal, misses_the_front_of_a_chain_whatever_is_noted_of_retention)
{
    static const char *const notes[] = {"0 s", "3 months 2 days"};

    for (int i = 0; i < 2; i++) {
        struct trail trail;

        make_trail(&trail);
        tamper(&trail,
               "WITH note AS (INSERT INTO audit.dropped (until) VALUES (now() - $2::interval)),"
               " block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid AND"
               " number = 1 RETURNING request_ids), gone AS (DELETE FROM audit.entries USING block"
               " WHERE organization_id = $1::uuid AND request_id = ANY (request_ids) RETURNING 1)"
               " SELECT count(*) FROM gone",
               notes[i]);
        expect_found(&trail, "removed", NULL);
    }
}

Test(seal, compares_with_a_head_that_was_kept_elsewhere)
{
    struct trail trail;
    const json_t *head;
    const char *number, *hash, *other;
    char code[64];
    json_t *said;

    make_trail(&trail);
    head = json_object_get(verify(&trail), "head");
    number = format("%lld", integer_of(head, "number"));
    hash = json_string_value(json_object_get(head, "block_hash"));
    other = format("%c%s", hash[0] == '0' ? '1' : '0', hash + 1);
    said = keep(convctl("audit", "verify", "--org", trail.org.id, "--head-number", number,
                        "--head-hash", hash, NULL));
    cr_assert(json_is_true(json_object_get(said, "ok")));
    said = keep(convctl("audit", "verify", "--org", trail.org.id, "--head-number", number,
                        "--head-hash", other, NULL));
    cr_assert(json_is_false(json_object_get(said, "ok")));
    said = keep(convctl("audit", "verify", "--org", trail.org.id, "--head-number", "1000000",
                        "--head-hash", hash, NULL));
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(said, "first"), "kind")),
                     "removed");
    cr_assert_eq(
        convctl_fails(code, "audit", "verify", "--org", trail.org.id, "--head-hash", hash, NULL),
        1);
    cr_assert_str_eq(code, "parameter_invalid");
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
        expect_sound(&trail);
    }
    cr_assert(stack_wait(is_sealed, &org, PATIENCE_MS));
    expect_sound(&trail);
}

/* -- export ----------------------------------------------------------------------------------- */

/* The lines of an export with these options. */
static size_t export(const struct trail *trail, const char *options, json_t *lines[], size_t most)
{
    const char *directory = getenv("BIN_DIR");
    FILE *from = popen(format("'%s/convctl' audit export --org %s %s",
                              directory != NULL ? directory : "build/bin", trail->org.id, options),
                       "r");
    char line[4096];
    size_t n = 0;

    cr_assert_not_null(from);
    for (; fgets(line, sizeof(line), from) != NULL; n++) {
        cr_assert_lt(n, most);
        lines[n] = keep(json_loads(line, 0, NULL));
        cr_assert_not_null(lines[n], "%s", line);
    }
    cr_assert_eq(pclose(from), 0);
    return n;
}

static void expect_ids(json_t *lines[], size_t n, const char *const *ids)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(json_string_value(json_object_get(lines[i], "request_id")), ids[i]);
}

Test(seal, exports_the_trail_oldest_first_and_goes_on_behind_an_entry)
{
    struct trail trail;
    json_t *lines[LOTS * LOT + 1];

    make_trail(&trail);
    cr_assert_eq(export(&trail, "", lines, LOTS * LOT + 1), LOTS * LOT);
    expect_ids(lines, LOTS * LOT, trail.ids);
    expect_members(lines[0], "type id request_id api_key_id operation http_status outcome "
                             "denial_reason conversation_id contact_id created_at");
    cr_assert_eq(export(&trail, format("--from %s", trail.ids[9]), lines, LOTS * LOT),
                 LOTS * LOT - 10);
    expect_ids(lines, LOTS * LOT - 10, trail.ids + 10);
    cr_assert_eq(export(&trail, format("--from %s", trail.ids[LOTS * LOT - 1]), lines, 1), 0);
}

Test(seal, exports_what_lies_between_two_times)
{
    struct trail trail;
    json_t *lines[LOTS * LOT + 1];
    long long first;

    make_trail(&trail);
    cr_assert_eq(export(&trail, "", lines, LOTS * LOT + 1), LOTS * LOT);
    first = integer_of(lines[0], "created_at");
    cr_assert_eq(export(&trail, format("--before %lld", first), lines, 1), 0);
    cr_assert_eq(export(&trail, format("--after %lld", first - 1), lines, LOTS * LOT), LOTS * LOT);
    for (size_t i = export(&trail, format("--after %lld --before %lld", first, first + 2), lines,
                           LOTS * LOT);
         i > 0; i--)
        cr_assert_eq(integer_of(lines[i - 1], "created_at"), first + 1);
}

Test(seal, exports_more_than_one_step_takes)
{
    enum { MANY = 2345 };
    static json_t *lines[MANY + 1];
    struct trail trail;

    org_new(&trail.org);
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO audit.entries (organization_id, created_at,"
                    " request_id, api_key_id, operation, http_status, outcome) SELECT $1::uuid,"
                    " audit.time_of(id), id, $1::uuid, 'ping', 200, 'allowed' FROM"
                    " generate_series(1, $2::int) AS n, LATERAL (SELECT (lpad(to_hex((extract(epoch"
                    " FROM now()) * 1000)::bigint), 12, '0') || '7000' || '8000' ||"
                    " lpad(to_hex(n), 12, '0'))::uuid AS id) AS made RETURNING 1)"
                    " SELECT count(*) FROM made",
                    trail.org.id, format("%d", MANY), NULL),
        MANY);
    cr_assert_eq(export(&trail, "", lines, MANY + 1), MANY);
    for (size_t i = 1; i < MANY; i++)
        cr_assert_lt(strcmp(json_string_value(json_object_get(lines[i - 1], "id")),
                            json_string_value(json_object_get(lines[i], "id"))),
                     0);
    cr_assert(stack_wait(is_sealed, &trail.org, PATIENCE_MS));
    expect_sound(&trail);
    cr_assert_eq(integer_of(verify(&trail), "sealed"), MANY);
}

/* -- retention -------------------------------------------------------------------------------- */

Test(seal, keeps_the_longest_minimum_that_was_asked_for)
{
    struct trail trail;
    char code[64];

    org_new(&trail.org);
    cr_assert_eq(
        integer_of(keep(convctl("audit", "retain", "--org", trail.org.id, "--months", "24", NULL)),
                   "minimum_months"),
        24);
    cr_assert_eq(
        integer_of(keep(convctl("audit", "retain", "--org", trail.org.id, "--months", "6", NULL)),
                   "minimum_months"),
        24);
    cr_assert_eq(
        convctl_fails(code, "audit", "retain", "--org", trail.org.id, "--months", "0", NULL), 1);
    cr_assert_str_eq(code, "parameter_invalid");
}
