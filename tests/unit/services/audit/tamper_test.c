/*
 * The audit log after its database's owner has changed it: by all that he can do to entries, blocks
 * and the notes of what retention dropped, without the signing key, drawn at random, one to three
 * at a time. Verifying finds each.
 *
 * TAMPER_SEED repeats a run; each failure names its draw. TEST_LONG=1: 2,000 draws.
 */
#include "common/base/buf.h"
#include "common/json/json.h"
#include "services/audit/audit.h"
#include "services/audit/retention.h"
#include "services/audit/verify_step.h"
#include "tests/support/limit_scale.h"
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(tamper, .init = start, .fini = stop);

/* What retention has dropped was a separate lot. */
enum { LOTS = 6, LOT = 7, BLOCKS = 1 + LOTS, STEPS_MAX = 100, DONE_MAX = 2048, VACUUM_AFTER = 25 };

static const char *const organizations[] = {ORG, OTHER};
static bool is_drawn[2], is_touched[2]; /* of these: by one way, by all of a draw */
static uint64_t state;                  /* of the draw */
static char done[DONE_MAX];
static PGconn *owner; /* of the database */

/* The first value of what a query gives; NULL when there is no row. */
static const char *query(const char *query)
{
    PGresult *result = PQexec(owner, query);
    const char *value = NULL;

    cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK, "%s", PQerrorMessage(owner));
    if (PQntuples(result) > 0)
        value = arena_cstr(&arena, str_of(PQgetvalue(result, 0, 0)));
    PQclear(result);
    return value;
}

/* -- chance ------------------------------------------------------------------------------------ */

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * UINT64_C(2685821657736338717) >> 33) % below;
}

#define ONE_OF(list) ((list)[draw(ARRAY_SIZE(list))])

/* Notes are of no organization: each one's verifying tells of them. */
static void draw_both(void)
{
    is_drawn[0] = is_drawn[1] = true;
}

static const char *organization(void)
{
    const uint64_t which = draw(2);

    is_drawn[which] = true;
    return organizations[which];
}

static uint64_t seed_of_run(void)
{
    const char *given = getenv("TAMPER_SEED");

    return given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_us();
}

static void seed_draw(uint64_t seed, int n)
{
    state = (seed + (uint64_t)n) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 8; i++)
        (void)draw(2);
}

/* -- the audit log ----------------------------------------------------------------------------- */

/* Kept aside, and put back before each draw. What is drawn from is the copy: entries that were
   sealed, as they were sealed. */
#define TABLES(action) action(entries) action(blocks) action(heads) action(dropped)
#define KEEP(table)    "CREATE TABLE kept_" #table " AS TABLE audit." #table ";"
#define PUT_BACK(table)                                                                            \
    "DELETE FROM audit." #table "; INSERT INTO audit." #table " SELECT * FROM kept_" #table ";"

/* An entry in each of two old months, which are sealed. */
static void make_old_months(struct seal_step *sealing)
{
    postgres_do(server.url,
                "SELECT audit.make_partition(date_trunc('month', now(), 'UTC') - n * interval"
                " '1 month') FROM generate_series(4, 6) AS n;"
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT org::uuid, audit.time_of(id), id, '" ORG
                "', 'ping', 200, 'allowed' FROM generate_series(5, 6) AS n,"
                " unnest(ARRAY['" ORG "', '" OTHER "']) AS org, test_id(now() -"
                " (date_trunc('month', now(), 'UTC') - n * interval '1 month' + interval '1 day'),"
                " 2000 + n) AS id");
    seal(sealing);
}

static void drop_old_months(void)
{
    struct retention_job job = {.keys = &keys, .name = "audit-0", .months = 4};

    do
        retention_job_step(&job, db, &arena);
    while (job.due_us <= clock_mono_us());
    cr_assert_eq(count("SELECT count(*) FROM audit.dropped"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

static void make_audit_log(void)
{
    struct seal_step sealing = {0};

    make_old_months(&sealing);
    drop_old_months();
    for (int lot = 0; lot < LOTS; lot++) {
        postgres_do(
            server.url,
            arena_printf(&arena,
                         "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                         " api_key_id, operation, http_status, outcome) SELECT org::uuid,"
                         " audit.time_of(id), id, org::uuid, 'ping', 200, 'allowed' FROM"
                         " generate_series(1, %d) AS n, unnest(ARRAY['" ORG "', '" OTHER
                         "']) AS org,"
                         " test_id(interval '1 s' - n * interval '10 ms', n + 100 * %d) AS id",
                         LOT, lot));
        seal(&sealing);
    }
    /* The place up to which everything is sealed is one organization's alone. */
    postgres_do(server.url, ENTRY(OTHER, "0 s", 3999));
    seal(&sealing);
    postgres_do(server.url, "INSERT INTO audit.heads SELECT organization_id, number, last_xid,"
                            " block_hash FROM audit.blocks WHERE number IN (3, 7)");
    postgres_do(server.url,
                "ALTER TABLE audit.entries DROP CONSTRAINT entries_pkey;"
                "CREATE INDEX by_key ON audit.entries (organization_id, created_at, request_id);"
                "ALTER TABLE audit.dropped DROP CONSTRAINT dropped_bounds,"
                " DROP CONSTRAINT dropped_pkey;"
                "ALTER TABLE audit.blocks DROP CONSTRAINT blocks_number_check,"
                " DROP CONSTRAINT blocks_pkey; DROP INDEX audit.blocks_of_organization;"
                "CREATE INDEX by_number ON audit.blocks (organization_id, number);"
                "CREATE INDEX by_place ON audit.blocks (organization_id, last_xid,"
                " last_request_id);" TABLES(KEEP));
}

static void put_back(void)
{
    say(owner, TABLES(PUT_BACK));
    done[0] = '\0';
    memset(is_touched, 0, sizeof(is_touched));
}

/* -- what is done to it ------------------------------------------------------------------------ */

/* Runs a statement as the owner; how many rows it touched is what it returns. */
static int64_t tamper(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int64_t tamper(const char *format, ...)
{
    va_list args;
    char *statement;

    va_start(args, format);
    statement = arena_vprintf(&arena, format, args);
    va_end(args);
    strncat(done, statement, sizeof(done) - strlen(done) - 1);
    strncat(done, "\n", sizeof(done) - strlen(done) - 1);
    return atoll(query(arena_printf(
        &arena, "WITH touched AS (%s RETURNING 1) SELECT count(*) FROM touched", statement)));
}

/* An entry as it was sealed: a condition that holds for it alone. */
static const char *entry(const char *table)
{
    const char *of = organization();
    const unsigned lot = (unsigned)draw(LOTS), n = 1 + (unsigned)draw(LOT);
    const char *id =
        query(arena_printf(&arena,
                           "SELECT request_id FROM kept_entries WHERE organization_id = '%s' AND"
                           " right(request_id::text, 12) = '%012x'",
                           of, n + 100 * lot));

    cr_assert_not_null(id);
    return arena_printf(&arena, "%s.organization_id = '%s' AND %s.request_id = '%s'", table, of,
                        table, id);
}

static const char *block(void)
{
    return arena_printf(&arena, "organization_id = '%s' AND number = %u", organization(),
                        1 + (unsigned)draw(BLOCKS));
}

static const char *other_than(const char *organization)
{
    return arena_printf(&arena,
                        "CASE %s WHEN '" ORG "' THEN '" OTHER "'::uuid ELSE '" ORG "'::uuid END",
                        organization);
}

static int64_t alter_entry(void)
{
    static const char *const changes[] = {
        "api_key_id = gen_random_uuid()", "operation = 'conversation.get'", "operation = ''",
        "operation = repeat('long', 100000)", "http_status = 201", "http_status = -32768",
        "outcome = 'denied'", "denial_reason = 'insufficient_scope'", "denial_reason = ''",
        "conversation_id = gen_random_uuid()", "contact_id = gen_random_uuid()",
        "xid = (xid::text::bigint + 1)::text::xid8", "xid = '0'", "xid = '18446744073709551615'",
        "operation = E'ping\\n=200'",
        /* What stands in a page, and what does not. */
        "http_status = 500, outcome = 'error', api_key_id = gen_random_uuid()"};

    return tamper("UPDATE audit.entries SET %s WHERE %s", ONE_OF(changes), entry("entries"));
}

static int64_t remove_entry(void)
{
    return tamper("DELETE FROM audit.entries WHERE %s", entry("entries"));
}

/* Anywhere in time, of any transaction. */
static int64_t add_entry(void)
{
    static const char *const ids[] = {"overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid",
                                      "gen_random_uuid()",
                                      "overlay(request_id::text PLACING '0190' FROM 1)::uuid",
                                      "overlay(request_id::text PLACING 'f' FROM 1)::uuid",
                                      "'00000000-0000-0000-0000-000000000000'::uuid",
                                      "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"};
    static const char *const times[] = {
        "audit.time_of(id)", "created_at",      "'infinity'", "'-infinity'",
        "'294276-12-31'",    "'4713-01-01 BC'", "now()"};
    static const char *const xids[] = {"xid", "'3'", "'9000000000000000000'"};

    return tamper("INSERT INTO audit.entries SELECT organization_id, %s, id, api_key_id, operation,"
                  " 201, outcome, denial_reason, conversation_id, contact_id, %s FROM kept_entries,"
                  " LATERAL (SELECT %s AS id) AS made WHERE %s",
                  ONE_OF(times), ONE_OF(xids), ONE_OF(ids), entry("kept_entries"));
}

/* The id of a sealed one, with another time or with the same. */
static int64_t add_known_entry(void)
{
    static const char *const times[] = {"created_at",
                                        "created_at - interval '1 hour'",
                                        "created_at + interval '1 microsecond'",
                                        "created_at + interval '1 year'",
                                        "'infinity'",
                                        "'-infinity'",
                                        "'294276-12-31'"};
    static const char *const xids[] = {"xid", "'3'", "(xid::text::bigint + 1)::text::xid8"};

    return tamper("INSERT INTO audit.entries SELECT organization_id, %s, request_id, api_key_id,"
                  " operation, %s, outcome, denial_reason, conversation_id, contact_id, %s FROM"
                  " kept_entries WHERE %s",
                  ONE_OF(times), draw(2) ? "http_status" : "403", ONE_OF(xids),
                  entry("kept_entries"));
}

static int64_t move_in_time(void)
{
    static const char *const times[] = {"created_at - interval '1 hour'",
                                        "created_at + interval '1 microsecond'",
                                        "created_at + interval '1 ms'",
                                        "created_at - interval '5 years'",
                                        "'infinity'",
                                        "'-infinity'",
                                        "'294276-12-31'"};

    return tamper("UPDATE audit.entries SET created_at = %s WHERE %s", ONE_OF(times),
                  entry("entries"));
}

static int64_t rename_entry(void)
{
    return tamper("UPDATE audit.entries SET request_id = %s WHERE %s",
                  draw(2) ? "gen_random_uuid()"
                          : "overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid",
                  entry("entries"));
}

static int64_t move_to_another_organization(void)
{
    return tamper("UPDATE audit.entries SET organization_id = %s WHERE %s",
                  other_than("organization_id"), entry("entries"));
}

/* Two entries, their ids apart; they differ in their transactions or their ids at least. */
static int64_t swap_entries(void)
{
    const char *one = entry("kept_entries"), *two = entry("kept_entries");

    if (strcmp(one, two) == 0)
        return 0;
    return tamper(
        "UPDATE audit.entries SET (organization_id, created_at, request_id, xid, http_status) ="
        " (SELECT other.organization_id, other.created_at, %s, other.xid, 202 FROM kept_entries AS"
        " other WHERE NOT (other.organization_id = entries.organization_id AND other.request_id ="
        " entries.request_id) AND (SELECT count(*) FROM kept_entries WHERE ((%s) OR (%s)) AND"
        " kept_entries.organization_id = other.organization_id AND kept_entries.request_id ="
        " other.request_id) = 1) WHERE (organization_id, request_id) IN (SELECT organization_id,"
        " request_id FROM kept_entries WHERE (%s) OR (%s))",
        draw(2) ? "other.request_id" : "entries.request_id", one, two, one, two);
}

static int64_t remove_block_with_entries(void)
{
    const char *of = block();

    return tamper("DELETE FROM audit.blocks WHERE %s", of) +
           tamper("DELETE FROM audit.entries WHERE (organization_id, request_id) IN (SELECT"
                  " organization_id, unnest(request_ids) FROM kept_blocks WHERE %s)",
                  of);
}

static int64_t remove_front_with_note(void)
{
    const char *of = arena_printf(&arena, "organization_id = '%s' AND number <= %u", organization(),
                                  1 + (unsigned)draw(BLOCKS - 1));

    return tamper("DELETE FROM audit.blocks WHERE %s", of) +
           tamper("DELETE FROM audit.entries WHERE (organization_id, request_id) IN (SELECT"
                  " organization_id, unnest(request_ids) FROM kept_blocks WHERE %s)",
                  of) +
           tamper("INSERT INTO audit.dropped (until) SELECT now() - interval '%s' ON CONFLICT DO"
                  " NOTHING",
                  draw(2) ? "0 s" : "3 months 2 days");
}

static int64_t alter_block(void)
{
    static const char *const changes[] = {
        "previous_hash = sha256('')",
        "block_hash = sha256('')",
        "block_hash = substr(block_hash, 1, 5)",
        "entries = entries + 1",
        "entries = 9223372036854775807",
        "entries = -9223372036854775808",
        "last_xid = '9000000000000000000'",
        "last_xid = '3'",
        "last_request_id = request_ids[1]",
        "made_xid = '1'",
        "made_at = made_at - interval '1 year'",
        "made_at = 'infinity'",
        "made_at = '294276-12-31'",
        "request_ids = request_ids[2:]",
        "request_ids = '{}'",
        "request_ids = request_ids || gen_random_uuid()",
        "request_ids[1] = NULL",
        "request_ids = ARRAY[request_ids, request_ids]",
        "entry_hashes = sha256('')",
        "entry_hashes = entry_hashes || sha256('')",
        "key_id = 'another'",
        "key_id = ''",
        "signature = signature || 'x'",
        "signature = sha512('')",
        "implausible = '{1}'",
        "implausible = '{1}', implausible_times = ARRAY[now()]",
        "implausible = '{2,1,0,-1}', implausible_times = '{infinity,NULL}'",
        "implausible = '{{1}}', implausible_times = ARRAY[now()]",
        "implausible = '{{1},{2}}', implausible_times = ARRAY[ARRAY[now()], ARRAY[now()]]",
        "implausible = array_fill(1, ARRAY[1001]), implausible_times = array_fill(now(),"
        " ARRAY[1001])",
        "request_ids = ARRAY[request_ids]",
        "number = number + 100",
        "number = -number",
        "number = 9223372036854775807",
        "number = 0"};
    const char *change = ONE_OF(changes);

    /* Nothing is changed of a block whose only entry it is. */
    return tamper("UPDATE audit.blocks SET %s WHERE %s AND last_request_id <> request_ids[1]",
                  change, block());
}

static int64_t move_block_to_another_organization(void)
{
    return tamper("UPDATE audit.blocks SET organization_id = %s WHERE %s",
                  other_than("organization_id"), block());
}

static int64_t add_block(void)
{
    static const char *const numbers[] = {"number", "-number",    "0",
                                          "8",      "number + 1", "9223372036854775807"};

    return tamper("INSERT INTO audit.blocks SELECT organization_id, %s, previous_hash, entries,"
                  " last_xid, last_request_id, made_xid, made_at, request_ids, entry_hashes,"
                  " block_hash, key_id, signature, implausible, implausible_times FROM kept_blocks"
                  " WHERE %s",
                  ONE_OF(numbers), block());
}

/* An entry with a block that names it, in whose reach it lies, before the block that would have. */
static int64_t add_entry_with_block(void)
{
    static const char *const numbers[] = {"8", "-1", "0", "number", "9007199254740993"};
    const char *of = entry("kept_entries"), *number = ONE_OF(numbers);
    const char *id = "overlay(kept_entries.request_id::text PLACING 'abcdef' FROM 31)::uuid";

    return tamper(
               "INSERT INTO audit.entries SELECT organization_id, audit.time_of(%s), %s,"
               " api_key_id, operation, 201, outcome, denial_reason, conversation_id, contact_id,"
               " xid FROM kept_entries WHERE %s",
               id, id, of) +
           tamper("INSERT INTO audit.blocks SELECT kept_entries.organization_id, %s, previous_hash,"
                  " entries, kept_entries.xid, %s, made_xid, made_at, ARRAY[%s], sha256(''),"
                  " block_hash, key_id, signature FROM kept_entries JOIN kept_blocks ON"
                  " kept_entries.organization_id = kept_blocks.organization_id AND"
                  " kept_entries.request_id = ANY (request_ids) WHERE %s",
                  number, id, id, of);
}

/* As somebody does who has read docs/audit.md, but has another key. */
static int64_t rewrite_block_with_entry(void)
{
    const char *of = entry("entries");

    return tamper("UPDATE audit.entries SET http_status = 403, outcome = 'denied' WHERE %s", of) +
           tamper("UPDATE audit.blocks SET entry_hashes = sha256('') || substr(entry_hashes, 33),"
                  " block_hash = sha256(entry_hashes), signature = sha512('') WHERE (SELECT"
                  " organization_id = blocks.organization_id AND request_id = ANY"
                  " (blocks.request_ids) FROM audit.entries WHERE %s LIMIT 1)",
                  of);
}

/* An entry between the last block of its chain and the place up to which everything is sealed, which
   is the other organization's; and a block that is greater than that, or the end of that. */
static int64_t add_entry_below_foreign_top(void)
{
    const char *id = "overlay(request_id::text PLACING '0190' FROM 1)::uuid";

    is_drawn[0] = true;
    if (draw(2))
        (void)tamper(
            "UPDATE audit.blocks SET signature = sha512('') WHERE organization_id = '" OTHER
            "' AND number = (SELECT max(number) FROM kept_blocks WHERE organization_id = '" OTHER
            "')");
    else
        (void)tamper("INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, previous_hash, 1,"
                     " (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8,"
                     " last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash,"
                     " %s, sha512('') FROM (SELECT * FROM kept_blocks LIMIT 1) AS block,"
                     " generate_series(1, %u)",
                     draw(2) ? "key_id" : "'x'", draw(2) ? 1 : 700);
    return tamper(
        "INSERT INTO audit.entries SELECT organization_id, audit.time_of(%s), %s,"
        " api_key_id, operation, 201, outcome, denial_reason, conversation_id, contact_id,"
        " (xid::text::bigint + 1)::text::xid8 FROM (SELECT * FROM kept_entries WHERE "
        "organization_id = '" ORG "' ORDER BY"
        " xid DESC, request_id DESC LIMIT 1) AS last",
        id, id);
}

/* For as much as retention has dropped, or for more. */
static int64_t forge_note(void)
{
    static const char *const untils[] = {"until + interval '1 month'",
                                         "until + interval '1 day'",
                                         "now() - interval '3 months 2 days'",
                                         "now()",
                                         "now() + interval '1 year'",
                                         "'infinity'",
                                         "'-infinity'",
                                         "'294276-12-31'"};
    static const char *const signatures[] = {"signature", "sha512('')", "signature || 'x'", "NULL"};

    draw_both();
    return tamper("INSERT INTO audit.dropped (until, since, months, dropped_at, dropped_by, key_id,"
                  " signature) SELECT %s, %s, months, now(), dropped_by, %s, %s FROM kept_dropped"
                  " ORDER BY until DESC LIMIT 1",
                  ONE_OF(untils), draw(2) ? "until" : "NULL", draw(2) ? "key_id" : "'another'",
                  ONE_OF(signatures));
}

static int64_t alter_note(void)
{
    static const char *const changes[] = {"until = until + interval '1 month'",
                                          "until = until - interval '1 month'",
                                          "until = 'infinity'",
                                          "since = coalesce(since, until) - interval '1 month'",
                                          "since = until",
                                          "since = '-infinity'",
                                          "months = months + 1",
                                          "months = NULL",
                                          "dropped_at = dropped_at - interval '1 day'",
                                          "dropped_by = 'audit-1'",
                                          "dropped_by = NULL",
                                          "dropped_by = repeat('long', 100000)",
                                          "key_id = 'another'",
                                          "key_id = NULL",
                                          "signature = NULL",
                                          "signature = sha512('')",
                                          "signature = substr(signature, 1, 5)",
                                          "since = NULL, months = NULL, dropped_by = NULL, key_id ="
                                          " NULL, signature = NULL"};

    draw_both();
    return tamper("UPDATE audit.dropped SET %s WHERE until = (SELECT until FROM kept_dropped ORDER"
                  " BY until OFFSET %u LIMIT 1)",
                  ONE_OF(changes), (unsigned)draw(2));
}

static int64_t remove_note(void)
{
    draw_both();
    return tamper("DELETE FROM audit.dropped WHERE until = (SELECT until FROM kept_dropped ORDER BY"
                  " until OFFSET %u LIMIT 1)",
                  (unsigned)draw(2));
}

static int64_t (*const ways[])(void) = {
    alter_entry,
    remove_entry,
    add_entry,
    add_known_entry,
    move_in_time,
    rename_entry,
    move_to_another_organization,
    swap_entries,
    remove_block_with_entries,
    remove_front_with_note,
    forge_note,
    alter_note,
    remove_note,
    alter_block,
    move_block_to_another_organization,
    add_block,
    add_entry_with_block,
    rewrite_block_with_entry,
    add_entry_below_foreign_top,
};

static int64_t change(size_t way)
{
    int64_t touched;

    memset(is_drawn, 0, sizeof(is_drawn));
    touched = ways[way]();
    for (int i = 0; i < 2 && touched > 0; i++)
        is_touched[i] |= is_drawn[i];
    return touched;
}

/* -- verifying --------------------------------------------------------------------------------- */

static struct audit audit;
static const struct route verify = {
    .parse = audit_verify_parse, .query = audit_verify_query, .reply = audit_verify_reply};

/* One step; its answer is the caller's. */
static json_t *step(const char *organization, const json_t *position)
{
    struct command *command = ARENA_NEW(&arena, struct command);
    char *body = position != NULL ? json_dumps(position, 0) : NULL, error[160];
    json_t *answer;

    *command = (struct command){.route = &verify, .arena = &arena, .body = str_of(body)};
    errors_init(&command->errors, &arena);
    buf_init(&command->reply, &arena, 4096);
    cr_assert(uuid_parse(str_of(organization), &command->caller.organization_id));
    cr_assert_eq(verify.parse(command, &audit), ST_OK, "%s", body);
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    verify.query(command, db, &audit);
    cr_assert_eq(db_run(db), ST_OK, "%s after\n%s", db_last_sqlstate(db), done);
    cr_assert_eq(verify.reply(command, db, &audit), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert(json_read(buf_str(&command->reply), &answer, error), "%s", error);
    free(body);
    return answer;
}

/* From the answer of a step on. */
static bool is_fine_from(const char *organization, json_t *answer)
{
    json_t *position;
    bool ok;

    for (int i = 0; (position = json_object_get(answer, "position")) != NULL; i++) {
        json_t *next = step(organization, position);

        json_free(answer);
        answer = next;
        cr_assert_lt(i, STEPS_MAX, "no end after\n%s", done);
    }
    ok = json_is_true(json_object_get(answer, "ok"));
    cr_assert_eq(ok, json_object_size(json_object_get(answer, "findings")) == 0);
    json_free(answer);
    return ok;
}

static bool is_fine(const char *organization)
{
    return is_fine_from(organization, step(organization, NULL));
}

/* Rows that are in one of the two and not in the other. */
#define DIFFERENCE(table)                                                                          \
    "((TABLE audit." #table " EXCEPT ALL TABLE kept_" #table ") UNION ALL"                         \
    " (TABLE kept_" #table " EXCEPT ALL TABLE audit." #table "))"

/* One change may have undone what another did. */
static bool is_changed(const char *organization)
{
    return strcmp(query(arena_printf(
                      &arena,
                      "SELECT EXISTS (SELECT FROM " DIFFERENCE(
                          dropped) " AS d) OR EXISTS"
                                   " (SELECT FROM " DIFFERENCE(
                                       entries) " AS e WHERE organization_id = '%s') OR"
                                                " EXISTS (SELECT FROM " DIFFERENCE(
                                                    blocks) " AS b WHERE organization_id ="
                                                            " '%s')",
                      organization, organization)),
                  "t") == 0;
}

/* By each organization whose audit log was changed. */
static bool is_found(void)
{
    for (int i = 0; i < 2; i++)
        if (is_touched[i] && is_changed(organizations[i]) && is_fine(organizations[i]))
            return false;
    return true;
}

/* -- tests ------------------------------------------------------------------------------------- */

static void open_audit_log(void)
{
    audit.signing = keys;
    make_audit_log();
    owner = session();
    say(owner, "SET synchronous_commit = off");
}

Test(tamper, is_found_whatever_is_done)
{
    const uint64_t seed = seed_of_run();
    const int draws = long_form_or(2000, 120);
    int missed = 0, undone = 0;

    open_audit_log();
    for (int n = 0; n < draws; n++) {
        int changes;
        int64_t touched = 0;

        if (n % VACUUM_AFTER == 0)
            say(owner, "VACUUM audit.entries, audit.blocks");
        seed_draw(seed, n);
        changes = 1 + (int)draw(3);
        put_back();
        for (int i = 0; i < changes || touched == 0; i++)
            touched += change(n < (int)ARRAY_SIZE(ways)
                                  ? (size_t)n
                                  : draw(ARRAY_SIZE(ways)));
        undone += !is_changed(ORG) && !is_changed(OTHER);
        if (!is_found()) {
            missed++;
            cr_log_error("TAMPER_SEED=%llu, draw %d: missed\n%s", (unsigned long long)seed, n,
                         done);
        }
        arena_clear(&arena);
    }
    PQfinish(owner);
    cr_assert_leq(undone, draws / 20);
    cr_assert_eq(missed, 0, "%d of %d, TAMPER_SEED=%llu", missed, draws, (unsigned long long)seed);
}

/* Entries that wait for their seal, blocks that are made meanwhile. */
Test(tamper, is_not_found_where_nothing_was_done)
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

/* They were there when the chain was walked, and are not along the entries. */
Test(tamper, is_not_found_where_retention_drops_entries_meanwhile)
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

/* At its own time, which is before all others; the one in its id is after them. */
Test(tamper, is_looked_for_behind_an_entry_whose_time_is_not_the_one_in_its_id)
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

/* One without an id, in the place at which the next step begins. */
Test(tamper, is_found_where_a_step_ends)
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
