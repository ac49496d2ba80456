/*
 * seal_fixture - an audit log in a database of the test's own, sealed step by step. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_AUDIT_SEAL_FIXTURE_H
#define TESTS_UNIT_SERVICES_AUDIT_SEAL_FIXTURE_H

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_sql.h"
#include "common/base/clock.h"
#include "services/audit/seal_step.h"
#include "tests/support/postgres_server.h"

#define ORG    "01920000-0000-7000-8000-000000000001"
#define OTHER  "01920000-0000-7000-8000-000000000002"
#define SECRET "a signing key that is long enough for a test"

/* An entry of organization `org`, dated `age` (an interval) ago, the n-th of its moment. */
#define ENTRY(org, age, n)                                                                         \
    "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,"   \
    " http_status, outcome) SELECT '" org "', audit.time_of(id), id, '" ORG "', 'ping', 200,"      \
    " 'allowed' FROM test_id(interval '" age "', " #n ") AS id;"

/* Sealing depends on the transactions of a whole server: each test has the server to itself. */
static const struct postgres_template template = {
    .name = "audit",
    .roles = {"conv_access", "conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"common/cell/migrations/*.sql", "services/audit/migrations/*.sql"},
    .script = "CREATE FUNCTION test_id(age interval, n int) RETURNS uuid LANGUAGE sql AS $$ SELECT"
              " (lpad(to_hex((extract(epoch FROM now() - age) * 1000)::bigint), 12, '0') || '7' ||"
              " lpad(to_hex(n), 3, '0') || '8000' || lpad(to_hex(n), 12, '0'))::uuid $$",
};
static struct postgres_server server;
static char role_url[POSTGRES_URL_MAX]; /* of the service's role */
static struct arena arena;
static struct db *db;
static struct audit_keys keys;

static inline void start(void)
{
    arena_init(&arena, 256 << 20);
    postgres_server_share_alone(&server, &template);
    postgres_url_as(&server, "conv_audit", role_url);
    db = postgres_connect_as(&server, "conv_audit", audit_sql, AUDIT_SQL_COUNT);
    cr_assert(audit_keys_read(SECRET, "", &keys));
}

static inline void stop(void)
{
    signing_key_free(keys.own);
    db_free(db);
    postgres_server_stop(&server);
    arena_release(&arena);
}

static inline int64_t count(const char *query)
{
    return postgres_integer(server.url, query);
}

/* Runs one step. */
static inline void seal(struct seal_step *sealing)
{
    sealing->keys = &keys;
    cr_assert_eq(seal_step_run(sealing, db, &arena), ST_OK, "%s", db_last_sqlstate(db));
    arena_clear(&arena);
}

/* A session that stays open between its statements. */
static inline PGconn *session(void)
{
    PGconn *made = PQconnectdb(server.url);

    cr_assert_eq(PQstatus(made), CONNECTION_OK, "%s", PQerrorMessage(made));
    return made;
}

static inline void say(PGconn *in, const char *statement)
{
    PGresult *result = PQexec(in, statement);

    cr_assert(PQresultStatus(result) == PGRES_COMMAND_OK ||
                  PQresultStatus(result) == PGRES_TUPLES_OK,
              "%s", PQerrorMessage(in));
    PQclear(result);
}

#endif
