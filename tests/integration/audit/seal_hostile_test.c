/* No row in the audit log's tables stops sealing or verifying: neither one that a service's role
   can append, nor a damaged block. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <string.h>

#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(seal_hostile, .init = stack_have_alone);

/* The organization's requests are still answered and sealed. */
static void expect_to_seal_on(struct org *org)
{
    cr_assert_eq(api_get(org->full_key, "/ping")->status, 200);
    sealed_log_await_seal(org);
}

/* Tries a statement as that role: true if the database takes it, false if it refuses. */
static bool is_taken(PGconn *in, const char *role, const char *statement)
{
    PGresult *result = PQexec(in, format("BEGIN; SET LOCAL ROLE %s; %s; COMMIT", role, statement));
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const bool taken = state == NULL;

    /* Permission denied, constraint violated, or invalid value; any other state is a mistake in
       this test. */
    cr_assert(taken || strcmp(state, "42501") == 0 || strncmp(state, "23", 2) == 0 ||
                  strncmp(state, "22", 2) == 0,
              "%s: %s", statement, PQerrorMessage(in));
    PQclear(result);
    PQclear(PQexec(in, "ROLLBACK"));
    return taken;
}

#define ENTRY                                                                                      \
    "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,"   \
    " http_status, outcome, denial_reason) SELECT "
#define NOBODY "'01890a5d-ac96-774b-bcce-b302099a8057'"

/* Entries of the organization in the session's setting test.org, and of one that does not exist. */
#define OURS "current_setting('test.org')::uuid"
static const char *const entries[] = {
    ENTRY OURS
    ", '294276-12-31', gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed', NULL",
    ENTRY OURS ", 'infinity', gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed', NULL",
    ENTRY OURS ", '-infinity', gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed', NULL",
    ENTRY OURS ", '4713-01-01 BC', gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed', "
               "NULL",
    ENTRY OURS ", '1970-01-01 00:00+00', gen_random_uuid(), gen_random_uuid(), 'ping', 200, "
               "'allowed', NULL",
    ENTRY OURS ", '10899-12-31 23:59:59.999999+00', gen_random_uuid(), gen_random_uuid(), 'ping', "
               "200, 'allowed', NULL",
    ENTRY OURS ", now(), '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'ping', 200, "
               "'allowed', NULL",
    ENTRY OURS ", now(), 'ffffffff-ffff-ffff-ffff-ffffffffffff', gen_random_uuid(), 'ping', 200, "
               "'allowed', NULL",
    ENTRY OURS ", now(), gen_random_uuid(), '00000000-0000-0000-0000-000000000000', "
               "repeat('x', 10000000), 200, 'allowed', NULL",
    ENTRY OURS ", now(), gen_random_uuid(), gen_random_uuid(), repeat('x', 64), -32768, "
               "repeat('y', 64), repeat('z', 64)",
    ENTRY OURS ", now(), gen_random_uuid(), gen_random_uuid(), '', 32767, '', ''",
    ENTRY OURS ", now(), gen_random_uuid(), gen_random_uuid(), E'a\\nb', 200, E'=\\n', E'\\n'",
    ENTRY OURS ", now(), gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed', NULL FROM "
               "generate_series(1, 3000)",
    ENTRY NOBODY ", now() + n * interval '1 day', gen_random_uuid(), " OURS ", 'ping', 599, "
                 "repeat('y', 64), repeat('z', 64) FROM generate_series(1, 3000) AS n",
    ENTRY OURS ", now() - n * interval '1 day', " NOBODY ", gen_random_uuid(), 'ping', 200, "
               "'allowed', NULL FROM generate_series(1, 50) AS n",
    ENTRY OURS ", now() + n * interval '1 microsecond', " NOBODY ", gen_random_uuid(), 'ping', "
               "200, 'allowed', NULL FROM generate_series(1, 2000) AS n",
    /* With the time of their ids. */
    ENTRY OURS ", audit.time_of(id), id, gen_random_uuid(), 'ping', 200, 'allowed', NULL FROM "
               "(SELECT gen_random_uuid() AS id FROM generate_series(1, 3000)) AS made",
    ENTRY OURS ", audit.time_of(id), id, gen_random_uuid(), repeat('x', 64), -32768, "
               "repeat('y', 64), repeat('z', 64) FROM gen_random_uuid() AS id",
    ENTRY OURS ", audit.time_of(id), id, id, repeat('x', 64), 599, repeat('y', 64), "
               "repeat('z', 64) FROM unnest(ARRAY['00000000-0000-0000-0000-000000000000', "
               "'ffffffff-ffff-ffff-ffff-ffffffffffff', " OURS "::text]::uuid[]) AS id",
    ENTRY NOBODY ", audit.time_of(id), id, " OURS ", 'ping', 599, repeat('y', 64), "
                 "repeat('z', 64) FROM (SELECT overlay(" NOBODY "::uuid::text PLACING "
                 "lpad(n::text, 6, '0') FROM 31)::uuid AS id FROM generate_series(1, 3000) AS n) "
                 "AS made",
};

#define BLOCK                                                                                      \
    "INSERT INTO audit.blocks (organization_id, number, previous_hash, entries, last_xid,"         \
    " last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash, key_id,"          \
    " signature) SELECT "
#define REST                                                                                       \
    ", sha256(''), 1, pg_snapshot_xmin(pg_current_snapshot())::text::bigint::text::xid8, " NOBODY  \
    ", pg_current_xact_id(), now(), ARRAY[" NOBODY "::uuid], sha256(''), sha256(''), "

static const char *const blocks[] = {
    BLOCK NOBODY ", 1, sha256(''), 1, '18446744073709551615', " OURS
                 ", '0', now(), '{}', '', '', '', "
                 "''",
    BLOCK OURS ", 9223372036854775807, '', -9223372036854775808, '9000000000000000000', " NOBODY
               ", '18446744073709551615', '294276-12-31', ARRAY[NULL::uuid], '', 'x', '', 'y'",
    BLOCK OURS ", 1, '', 1, '3', " NOBODY ", '3', 'infinity', ARRAY[ARRAY[" NOBODY "::uuid]], '', "
               "'x', repeat('k', 1000000), 'y'",
    /* Valid in all but the signature. */
    BLOCK "organization_id, max(number) + 1, sha256(''), 1, (pg_snapshot_xmin("
          "pg_current_snapshot())::text::bigint - 1)::text::xid8, " NOBODY
          ", pg_current_xact_id(), clock_timestamp(), ARRAY[" NOBODY "::uuid], sha256(''), "
          "sha256(''), max(key_id), sha512('') FROM audit.blocks WHERE organization_id = " OURS " "
          "GROUP BY organization_id",
    BLOCK OURS ", 1" REST "'k', sha512('')",
    /* Three thousand chains, just below the oldest open transaction. */
    BLOCK "gen_random_uuid(), 1, sha256(''), 1, (pg_snapshot_xmin(pg_current_snapshot())"
          "::text::bigint - 1)::text::xid8, " NOBODY ", pg_current_xact_id(), clock_timestamp(), "
          "ARRAY[" NOBODY "::uuid], sha256(''), sha256(''), key_id, sha512('') FROM (SELECT key_id "
          "FROM audit.blocks LIMIT 1) AS ours, generate_series(1, 3000)",
    /* Of an unknown key, with the largest count of entries. */
    BLOCK "organization_id, max(number) + 1, sha256(''), 9007199254740992, (pg_snapshot_xmin("
          "pg_current_snapshot())::text::bigint - 1)::text::xid8, " NOBODY
          ", pg_current_xact_id(), clock_timestamp(), ARRAY[" NOBODY "::uuid], sha256(''), "
          "sha256(''), 'x', sha512('') FROM audit.blocks WHERE organization_id = " OURS " "
          "GROUP BY organization_id",
    /* Two-dimensional arrays of marks, in a block after the chain's last. */
    "INSERT INTO audit.blocks (organization_id, number, previous_hash, entries, last_xid, "
    "last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash, key_id, signature, "
    "implausible, implausible_times) SELECT organization_id, number + 1, sha256(''), 1, xid, "
    "request_id, pg_current_xact_id(), clock_timestamp(), ARRAY[request_id], sha256(''), "
    "sha256(''), key_id, sha512(''), '{{1}}', ARRAY[ARRAY[now()]] FROM (SELECT * FROM audit.blocks "
    "WHERE organization_id = " OURS " ORDER BY number DESC LIMIT 1) AS last JOIN audit.entries "
    "USING (organization_id) ORDER BY entries.xid LIMIT 1",
    "INSERT INTO audit.heads (organization_id, number, last_xid, block_hash, published_at) VALUES "
    "(" OURS ", 9223372036854775807, '18446744073709551615', '', 'infinity')",
    "INSERT INTO audit.heads (organization_id, number, last_xid, block_hash, published_at) VALUES "
    "(" OURS ", -1, '9000000000000000000', repeat('x', 100000)::bytea, '-infinity')",
    "INSERT INTO audit.minimums (organization_id, months, set_at) VALUES (" OURS ", 1200, "
    "'294276-12-31')",
};

static const char *const changes[] = {
    "INSERT INTO audit.changes (organization_id, id, who, change, target, detail, address) VALUES "
    "(" OURS ", 'ffffffff-ffff-ffff-ffff-ffffffffffff', repeat('w', 1024), repeat('c', 64), "
    "repeat('t', 1024), json_build_array(repeat('d', 65000)), repeat('a', 64))",
    "INSERT INTO audit.changes (organization_id, id, who, change, target, detail, address) VALUES "
    "(" OURS ", '00000000-0000-0000-0000-000000000000', repeat('w', 1000000), '', '', '{}', '')",
    "INSERT INTO audit.changes (organization_id, id, who, change, detail) SELECT " OURS ", "
    "gen_random_uuid(), 'w', 'c', json_build_array(repeat('d', 60000)) FROM generate_series(1, 60)",
};

static int try_all(PGconn *in, const char *role, const char *const *statements, size_t n,
                   struct org *org)
{
    int taken = 0;

    for (size_t i = 0; i < n; i++)
        taken += is_taken(in, role, statements[i]);
    expect_to_seal_on(org);
    return taken;
}

#define TRY_ALL(role, list) try_all(in, role, list, ARRAY_SIZE(list), &org)

Test(seal_hostile, continues_whatever_a_role_has_appended)
{
    static const char *const roles[] = {"conv_access", "conv_audit", "conv_conversation",
                                        "conv_search", "conv_webhook"};
    PGconn *in = PQconnectdb(stack_setting("DATABASE_URL"));
    const pid_t audit = stack_pid("audit-0");
    struct org org, other;
    json_t *reply;
    int taken = 0;

    cr_assert_eq(PQstatus(in), CONNECTION_OK);
    org_new(&org);
    org_new(&other);
    PQclear(PQexec(in, format("SET test.org = '%s'", org.id)));
    expect_to_seal_on(&org);
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        taken += TRY_ALL(roles[i], entries);
        taken += TRY_ALL(roles[i], blocks);
        taken += TRY_ALL(roles[i], changes);
    }
    cr_assert_geq(taken, 10, "only %d statements succeed, too few for a meaningful test", taken);
    PQfinish(in);
    /* The other audit log is intact, and this one is reported in full. */
    expect_to_seal_on(&other);
    reply = never_free(convctl("audit", "verify", "--org", other.id, NULL));
    cr_assert(json_is_true(json_object_get(reply, "ok")), "%s",
              (char *)never_free(json_dumps(reply, 0)));
    reply = never_free(convctl("audit", "verify", "--org", org.id, NULL));
    cr_assert(json_is_false(json_object_get(reply, "ok")));
    cr_assert_eq(sealed_log_integer(reply, "unsealed"), 0, "%s",
                 (char *)never_free(json_dumps(reply, 0)));
    cr_assert_eq(api_get(org.full_key, "/audit?per_page=100")->status, 200);
    cr_assert_not_null(never_free(convctl("audit", "changes", "--org", org.id, NULL)));
    cr_assert_eq(stack_pid("audit-0"), audit, "audit has died");
}

#undef TRY_ALL

/* The table's owner damages a block in each of these ways. */
Test(seal_hostile, does_not_affect_others_if_one_organizations_block_was_altered)
{
    static const char *const losses[] = {"block_hash = substr(block_hash, 1, 5)",
                                         "previous_hash = ''",
                                         "signature = '', key_id = ''",
                                         "request_ids = '{}', entry_hashes = ''",
                                         "made_at = '294276-12-31'",
                                         "entries = -1"};
    const pid_t audit = stack_pid("audit-0");
    struct org other;

    org_new(&other);
    for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
        struct sealed_log sealed;

        sealed_log_make(&sealed);
        sealed_log_tamper(&sealed,
                          format("UPDATE audit.blocks SET %s WHERE organization_id = $1::uuid AND"
                                 " $2::uuid = ANY (request_ids) RETURNING 1",
                                 losses[i]),
                          sealed.ids[SEALED_LOG_ENTRIES - 1]);
        cr_assert_eq(api_get(sealed.org.full_key, "/ping")->status, 200);
        for (int n = 0; n < 20; n++)
            cr_assert_eq(api_get(other.full_key, "/ping")->status, 200, "%s", losses[i]);
        sealed_log_await_seal(&other);
        sealed_log_expect_found(&sealed, "rewritten", NULL);
        cr_assert_eq(stack_pid("audit-0"), audit, "audit has died: %s", losses[i]);
    }
}
