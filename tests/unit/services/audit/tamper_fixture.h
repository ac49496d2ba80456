/*
 * tamper_fixture - the audit log of two organizations, whose beginning retention has dropped, with
 * a copy to restore it from after changes; and verifying it step by step. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_AUDIT_TAMPER_FIXTURE_H
#define TESTS_UNIT_SERVICES_AUDIT_TAMPER_FIXTURE_H

#include "common/base/buf.h"
#include "common/json/json.h"
#include "services/audit/audit.h"
#include "services/audit/retention.h"
#include "services/audit/verify_step.h"
#include "tests/unit/services/audit/seal_fixture.h"

/* BLOCKS counts the lot that retention has dropped as one block more. */
enum { LOTS = 6, LOT = 7, BLOCKS = 1 + LOTS, STEPS_MAX = 100, DONE_MAX = 2048 };

static char done[DONE_MAX]; /* the statements of the current draw */
static PGconn *owner;       /* of the database */

/* The first value of the query's first row; NULL when there is no row. */
static inline const char *query(const char *query)
{
    PGresult *result = PQexec(owner, query);
    const char *value = NULL;

    cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK, "%s", PQerrorMessage(owner));
    if (PQntuples(result) > 0)
        value = arena_cstr(&arena, str_of(PQgetvalue(result, 0, 0)));
    PQclear(result);
    return value;
}

/* -- the audit log ----------------------------------------------------------------------------- */

/* Copied once and restored before each draw. Draws choose from the copy: the sealed entries as they
   were sealed. */
#define TABLES(action) action(entries) action(blocks) action(heads) action(dropped)
#define KEEP(table)    "CREATE TABLE kept_" #table " AS TABLE audit." #table ";"
#define PUT_BACK(table)                                                                            \
    "DELETE FROM audit." #table "; INSERT INTO audit." #table " SELECT * FROM kept_" #table ";"

/* An entry in each of two old months, which are sealed. */
static inline void make_old_months(struct seal_step *sealing)
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

static inline void drop_old_months(void)
{
    struct retention_job job = {.keys = &keys, .name = "audit-0", .months = 4};

    do
        retention_job_step(&job, db, &arena);
    while (job.due_us <= clock_mono_us());
    cr_assert_eq(count("SELECT count(*) FROM audit.dropped"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

static inline void make_audit_log(void)
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
    /* Only one organization has a block at the place up to which everything is sealed. */
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

static inline void put_back(void)
{
    say(owner, TABLES(PUT_BACK));
    done[0] = '\0';
}

/* -- verifying --------------------------------------------------------------------------------- */

static struct audit audit;
/* Runs one step. The caller frees the answer. */
static inline json_t *step(const char *organization, const json_t *position)
{
    struct command *command = ARENA_NEW(&arena, struct command);
    char *body = position != NULL ? json_dumps(position, 0) : NULL, error[160];
    json_t *answer;

    *command = (struct command){.handler = &audit_verify, .arena = &arena, .body = str_of(body)};
    errors_init(&command->errors, &arena);
    buf_init(&command->reply, &arena, 4096);
    cr_assert(uuid_parse(str_of(organization), &command->caller.organization_id));
    cr_assert_eq(command_parse(command, &audit), ST_OK, "%s", body);
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_verify.query(command, db, &audit);
    cr_assert_eq(db_run(db), ST_OK, "%s after\n%s", db_last_sqlstate(db), done);
    cr_assert_eq(audit_verify.reply(command, db, &audit), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert(json_read(buf_str(&command->reply), &answer, error), "%s", error);
    free(body);
    return answer;
}

/* Runs the steps that follow `answer`, which it frees; false if anything was found. */
static inline bool is_fine_from(const char *organization, json_t *answer)
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

static inline bool is_fine(const char *organization)
{
    return is_fine_from(organization, step(organization, NULL));
}

static inline void open_audit_log(void)
{
    audit.signing = keys;
    make_audit_log();
    owner = session();
    say(owner, "SET synchronous_commit = off");
}

#endif
