/* A move is aborted while its target cell is out of reach: the organization is served where it was, and the old cell
 * keeps nothing for the other one. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"

TestSuite(cell_move_lost, .init = stack_have_alone);

/* Signals the second cell's database with all its sessions: STOP or CONT. */
static void signal_second(const char *signal)
{
    const int pid = (int)stack_pid("cell2-postgres");

    cr_assert_gt(pid, 1);
    cr_assert_eq(system(format("pkill -%s -P %d && kill -%s %d", signal, pid, signal, pid)), 0);
}

static void expect_says(const char *complaint, const char *words)
{
    cr_expect_not_null(strstr(complaint, words), "%s: %s", words, complaint);
}

/* Begins a move whose copy is blocked until the holder ends. */
static PGconn *begin_to_copy(const struct org *org)
{
    PGconn *holder = PQconnectdb(own_stack_database_url("cell2"));

    PQclear(PQexec(holder, "BEGIN; LOCK TABLE conversation.contacts IN SHARE MODE"));
    expect_says(convctl_complaint("cell", "move", org->id, "--to", "cell2", "--give-up", "2", NULL),
                "has made no progress");
    return holder;
}

static void expect_ends_alone(const struct org *org)
{
    json_t *aborted;
    const char *left;

    expect_says(convctl_complaint("cell", "move", org->id, "--abort", NULL),
                "--abort --unchecked ends the move without it");
    aborted = convctl("cell", "move", org->id, "--abort", "--unchecked", NULL);
    cr_expect_str_eq(json_string_value(json_object_get(aborted, "step")), "aborted");
    left = json_string_value(json_object_get(aborted, "left"));
    cr_assert_not_null(left);
    expect_says(left, "in cell cell2: a subscription");
    json_decref(aborted);
    cr_expect_eq(sql_integer("SELECT count(*) FROM pg_replication_slots", NULL), 0);
    cr_expect_eq(sql_integer("SELECT count(*) FROM pg_publication", NULL), 0);
}

static void expect_served(const struct org *org, const char *external_id)
{
    expect_status(api_post(org->full_key, "/conversations",
                           format("{\"external_id\":\"%s\",\"from\":{\"external_id\":\"user-1\"}}",
                                  external_id)),
                  201);
}

static void expect_moves(const struct org *org)
{
    json_t *moved = convctl("cell", "move", org->id, "--to", "cell2", "--grace", "0", NULL);

    cr_expect_str_eq(json_string_value(json_object_get(moved, "step")), "done");
    json_decref(moved);
}

Test(cell_move_lost, is_aborted_while_rows_are_copied)
{
    struct org org;
    PGconn *holder;

    own_stack_start("lost", (const char *const[]){"CELLS=2", NULL});
    org_new(&org);
    expect_served(&org, "order-1");
    holder = begin_to_copy(&org);
    signal_second("STOP");
    expect_ends_alone(&org);
    expect_served(&org, "order-2");

    /* The cell was not lost after all: the call that convctl names clears what is left there. */
    signal_second("CONT");
    PQfinish(holder);
    expect_moves(&org);
    expect_served(&org, "order-3");
    own_stack_stop();
}

static void set_step(const struct org *org, const char *step, const char *state)
{
    postgres_do(stack_setting("DATABASE_URL"),
                format("INSERT INTO access.moves (organization_id, from_cell, to_cell, step)"
                       " VALUES ('%s', 'main', 'cell2', '%s');"
                       "INSERT INTO cell.moves VALUES ('%s', '%s')",
                       org->id, step, org->id, state));
}

/* The database is set up as if convctl had ended at that step. */
Test(cell_move_lost, is_aborted_while_it_goes_over)
{
    struct org org;

    own_stack_start("lost", (const char *const[]){"CELLS=2", NULL});
    org_new(&org);
    expect_served(&org, "order-1");
    set_step(&org, "switching", "gone");
    expect_status(api_post(org.full_key, "/conversations",
                           "{\"external_id\":\"order-2\",\"from\":{\"external_id\":\"user-1\"}}"),
                  503);
    expect_says(convctl_complaint("cell", "move", org.id, "--abort", NULL), "it is too late");
    signal_second("STOP");
    expect_ends_alone(&org);
    expect_served(&org, "order-2");
    signal_second("CONT");

    /* As if the directory noted the step after convctl had given up and reopened the old cell. */
    set_step(&org, "switching", "leaving");
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL),
                "still serves the organization: --abort undoes the move");
    json_decref(convctl("cell", "move", org.id, "--abort", NULL));
    expect_served(&org, "order-3");
    own_stack_stop();
}

/* The directory is as after a restore of main's backup from before the move. */
Test(cell_move_lost, keeps_rows_that_no_move_has_brought)
{
    json_t *aborted;
    struct org org;

    own_stack_start("lost", (const char *const[]){"CELLS=2", NULL});
    org_new(&org);
    expect_served(&org, "order-1");
    expect_moves(&org);
    expect_served(&org, "order-2");
    postgres_do(stack_setting("DATABASE_URL"),
                format("UPDATE access.organizations SET cell = 'main' WHERE organization_id = '%s'",
                       org.id));
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL),
                "rows of the organization that do not come from this move");
    aborted = convctl("cell", "move", org.id, "--abort", NULL);
    cr_expect_str_eq(json_string_value(json_object_get(aborted, "step")), "aborted");
    json_decref(aborted);
    cr_expect_eq(postgres_integer(own_stack_database_url("cell2"),
                                  "SELECT count(*) FROM conversation.conversations"),
                 2);
    own_stack_stop();
}

/* Nothing has begun, so there is nothing to abort. */
Test(cell_move_lost, does_not_begin_if_the_new_cell_is_unreachable)
{
    char code[64];
    struct org org;

    own_stack_start("lost", (const char *const[]){"CELLS=2", NULL});
    org_new(&org);
    signal_second("STOP");
    cr_expect_eq(convctl_fails(code, "cell", "move", org.id, "--to", "cell2", NULL), 1);
    cr_expect_str_eq(code, "service_unavailable");
    expect_served(&org, "order-1");
    cr_expect_eq(sql_integer("SELECT count(*) FROM access.moves", NULL), 0);
    cr_expect_eq(sql_integer("SELECT count(*) FROM cell.moves", NULL), 0);
    cr_expect_eq(sql_integer("SELECT count(*) FROM pg_replication_slots", NULL), 0);
    expect_says(convctl_complaint("cell", "move", org.id, "--abort", "--unchecked", NULL),
                "the organization is not being moved");
    signal_second("CONT");
    expect_moves(&org);
    own_stack_stop();
}
