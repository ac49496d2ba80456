/* PostgreSQL's disk is full: statements fail, and it gives up when its log has no space. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_disk.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

enum {
    READY_MS = 60000,
    REFUSALS = 20,
    SEGMENTS = 5,
    CREATES_MAX = 5000,
    CREATED = 1,
    REFUSED,
    UNKNOWN
};

static void start_stack(void)
{
    stack_have_alone();
    if (!postgres_disk_is_possible()) {
        fprintf(stderr, "impossible here: no disk can be mounted\n"); /* for run-tests */
        cr_skip("no disk can be mounted");
    }
    own_stack_start("full-disk", (const char *const[]){NULL});
    postgres_disk_open();
    cr_assert(replicas_of_stack_await_ready(READY_MS));
}

TestSuite(full_disk, .init = start_stack, .fini = own_stack_stop);

/* What became of each create, according to its answer; the external id is its number. */
static char outcomes[CREATES_MAX];
static int n_creates;

static struct client_response *create(const struct org *org, const char *external_id)
{
    return api_create(org->full_key, "{\"external_id\":\"%s\",\"from\":{\"external_id\":\"c\"}}",
                      external_id);
}

static void create_next(const struct org *org)
{
    const struct client_response *response = create(org, format("%d", n_creates));

    cr_assert_lt(n_creates, CREATES_MAX);
    if (response->status == 503)
        expect_error(response, 503, "service_unavailable", "*");
    else if (response->status == 500)
        expect_error(response, 500, "server_error", "*");
    else
        expect_status(response, 201);
    outcomes[n_creates++] = response->status == 201   ? CREATED
                            : response->status == 503 ? REFUSED
                                                      : UNKNOWN;
}

static int count(int outcome)
{
    int n = 0;

    for (int i = 0; i < n_creates; i++)
        n += outcomes[i] == outcome;
    return n;
}

/* Has PostgreSQL keep segments of its log for reuse, so that commits find space where tables find none. */
static void reserve_log(void)
{
    for (int i = 0; i < SEGMENTS; i++)
        cr_assert_not_null(
            sql_text("SELECT pg_switch_wal() FROM pg_create_restore_point('used')", NULL));
    cr_assert_str_eq(sql_state_as(NULL, "CHECKPOINT"), "00000");
}

/* What still fits into pages that the tables have is written. */
static void create_until_refused(const struct org *org)
{
    while (count(REFUSED) < REFUSALS)
        create_next(org);
    cr_expect_eq(count(UNKNOWN), 0);
}

static bool is_served(void *closure)
{
    const struct org *org = closure;

    return create(org, "again")->status < 300 && api_get(org->full_key, "/ping")->status == 200;
}

/* Requests another segment of its log, for which there is no space. It may accept no connection for
   want of space, or because it has given up already. */
static bool has_given_up(void *unused)
{
    PGconn *admin = PQconnectdb(stack_setting("DATABASE_URL"));

    (void)unused;
    PQclear(PQexec(admin, "SELECT pg_switch_wal() FROM pg_create_restore_point('used')"));
    PQfinish(admin);
    return system(format("grep -q PANIC '%s/log/postgres.log'", stack_setting("RUN_DIR"))) == 0;
}

/* A create of what exists is a replay, with 200. */
static void expect_kept_and_nothing_else(const struct org *org)
{
    for (int i = 0; i < n_creates; i++) {
        const struct client_response *response = create(org, format("%d", i));

        if (outcomes[i] != UNKNOWN)
            expect_status(response, outcomes[i] == CREATED ? 200 : 201);
    }
}

Test(full_disk, of_the_database_refuses_writes_and_loses_nothing)
{
    struct org org;
    json_t *verified;

    org_new(&org);
    create_next(&org);
    cr_assert_eq(count(CREATED), 1);
    reserve_log();
    postgres_disk_fill();
    create_until_refused(&org);
    cr_assert(stack_wait(has_given_up, NULL, READY_MS), "PostgreSQL has not given up");
    for (int i = 0; i < REFUSALS; i++)
        create_next(&org);
    postgres_disk_free();
    cr_assert(stack_wait(is_served, &org, READY_MS), "not served after the disk has space again");
    expect_kept_and_nothing_else(&org);
    verified = convctl("audit", "verify", "--org", org.id, NULL);
    cr_expect(json_is_true(json_object_get(verified, "ok")));
    json_decref(verified);
}
