/* Kills convctl in two states of a move, leaving and closed: what it leaves behind, and who may continue the move.
 * A delivery in progress keeps the move in leaving. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"

TestSuite(cell_move_killed, .init = stack_have_alone);

static void expect_says(const char *complaint, const char *words)
{
    cr_expect_not_null(strstr(complaint, words), "%s: %s", words, complaint);
}

static int post(const struct org *org)
{
    static int n;

    return api_post(
               org->full_key, "/conversations",
               format("{\"external_id\":\"order-%d\",\"from\":{\"external_id\":\"user-1\"}}", ++n))
        ->status;
}

static void start(struct org *org)
{
    own_stack_start("killed", (const char *const[]){"CELLS=2", NULL});
    org_new(org);
    cr_assert_eq(post(org), 201);
}

static pid_t begin_move(const struct org *org)
{
    const char *const program = format("%s/convctl", stack_setting("BIN_DIR"));
    const pid_t pid = fork();

    cr_assert_geq(pid, 0);
    if (pid == 0) {
        execl(program, program, "cell", "move", org->id, "--to", "cell2", "--grace", "0", NULL);
        _exit(127);
    }
    return pid;
}

static void end(pid_t pid, int signal)
{
    int status;

    cr_assert_eq(kill(pid, signal), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
}

static void expect_moves(const struct org *org)
{
    json_t *moved = convctl("cell", "move", org->id, "--to", "cell2", "--grace", "0", NULL);

    cr_expect_str_eq(json_string_value(json_object_get(moved, "step")), "done");
    json_decref(moved);
    cr_expect_eq(post(org), 201);
}

static void await_state(const struct org *org, const char *state)
{
    postgres_await(stack_setting("DATABASE_URL"),
                   format("SELECT count(*) FROM cell.moves WHERE organization_id = '%s'"
                          " AND state = '%s'",
                          org->id, state));
}

/* What the metric of both cells is made of. */
static void await_abandoned(int n)
{
    const char *const query =
        format("SELECT (moves_abandoned = %d)::int FROM audit.watch_database()", n);

    postgres_await(stack_setting("DATABASE_URL"), query);
    postgres_await(own_stack_database_url("cell2"), query);
}

/* A delivery claimed by a worker that does not exist. */
static void begin_delivery(const struct org *org)
{
    (void)sql_text(
        "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
        " cause, created_at, lease_until) VALUES ($1::uuid, gen_random_uuid(),"
        " gen_random_uuid(), gen_random_uuid(), 't', 'event', now(),"
        " now() + interval '1 hour') RETURNING 'begun'",
        org->id, NULL);
}

static void end_delivery(const struct org *org)
{
    (void)sql_text("DELETE FROM webhook.queue WHERE organization_id = $1::uuid RETURNING 'ended'",
                   org->id, NULL);
}

static bool is_served(void *closure)
{
    return post(closure) == 201;
}

/* The state is set as if convctl had been killed a moment later, with all rows copied. */
Test(cell_move_killed, while_it_is_closed_opens_it_after_seconds)
{
    struct org org;
    pid_t mover;

    start(&org);
    begin_delivery(&org);
    mover = begin_move(&org);
    await_state(&org, "leaving");
    await_abandoned(0);
    end(mover, SIGKILL);
    cr_expect_eq(post(&org), 201);
    (void)sql_text("UPDATE cell.moves SET state = 'closed', since = clock_timestamp()"
                   " RETURNING state",
                   NULL);
    cr_expect_eq(post(&org), 503);
    end_delivery(&org);
    cr_expect(stack_wait(is_served, &org, 20000));
    await_abandoned(1);
    sealed_log_await_verified(&org); /* sealing continues, too */
    expect_moves(&org);
    await_abandoned(0);
    sealed_log_await_verified(&org);
    own_stack_stop();
}

/* Its first statement waits for the seal; its server notices within a second that it has gone. */
Test(cell_move_killed, while_a_statement_waits_can_be_repeated_at_once)
{
    struct org org;
    PGconn *sealer;
    pid_t mover;

    start(&org);
    sealer = PQconnectdb(stack_setting("DATABASE_URL"));
    PQclear(PQexec(sealer, "BEGIN; LOCK TABLE audit.sealing IN EXCLUSIVE MODE"));
    cr_assert_eq(PQtransactionStatus(sealer), PQTRANS_INTRANS, "%s", PQerrorMessage(sealer));
    mover = begin_move(&org);
    postgres_await(stack_setting("DATABASE_URL"),
                   "SELECT count(*) FROM pg_locks WHERE relation = 'audit.sealing'::regclass"
                   " AND NOT granted");
    end(mover, SIGKILL);
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL),
                "open, in the database of cell main: ");
    PQfinish(sealer);
    expect_moves(&org);
    own_stack_stop();
}

Test(cell_move_killed, while_it_leaves_and_excludes_concurrent_calls)
{
    struct org org;
    pid_t mover;

    start(&org);
    begin_delivery(&org);
    mover = begin_move(&org);
    await_state(&org, "leaving");
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL),
                "another call is moving the organization");
    expect_says(convctl_complaint("cell", "move", org.id, "--abort", NULL),
                "another call is moving the organization");
    end(mover, SIGKILL);
    cr_expect_eq(post(&org), 201);

    /* If no call continues the move for a minute, deliveries begin again. */
    cr_expect_eq(sql_integer("SELECT count(*) FROM cell.paused", NULL), 1);
    (void)sql_text("UPDATE cell.moves SET since = since - interval '1 minute' RETURNING 'later'",
                   NULL);
    cr_expect_eq(sql_integer("SELECT count(*) FROM cell.paused", NULL), 0);
    end_delivery(&org);
    expect_moves(&org);
    own_stack_stop();
}
