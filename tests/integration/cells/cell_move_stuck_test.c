/* convctl names what blocks a move: before the move begins if settings show it, otherwise within seconds. The same
 * call continues the move when the cause is gone. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"

TestSuite(cell_move_stuck, .init = stack_have_alone);

static void start(struct org *org)
{
    own_stack_start("stuck", (const char *const[]){"CELLS=2", NULL});
    org_new(org);
    (void)new_conversation(org, "order-1", "user-1");
}

static void expect_moves(const struct org *org, const char *cell)
{
    json_t *moved = convctl("cell", "move", org->id, "--to", cell, "--grace", "0", NULL);

    cr_expect_str_eq(json_string_value(json_object_get(moved, "step")), "done");
    json_decref(moved);
    expect_status(api_get(org->full_key, "/ping"), 200);
}

static void expect_says(const char *complaint, const char *words)
{
    cr_expect_not_null(strstr(complaint, words), "%s: %s", words, complaint);
}

static void expect_no_move(void)
{
    json_t *cells = convctl("cell", "list", NULL);

    for (size_t i = 0; i < json_array_size(cells); i++)
        cr_expect_eq(json_array_size(json_object_get(json_array_get(cells, i), "moves")), 0);
    json_decref(cells);
}

/* Another session, in a transaction that stays open until PQfinish(). */
static PGconn *hold(const char *url, const char *statements)
{
    PGconn *holder = PQconnectdb(url);

    cr_assert_eq(PQstatus(holder), CONNECTION_OK, "%s", PQerrorMessage(holder));
    PQclear(PQexec(holder, "SET application_name = 'the holder'; BEGIN"));
    PQclear(PQexec(holder, statements));
    cr_assert_eq(PQtransactionStatus(holder), PQTRANS_INTRANS);
    return holder;
}

/* Listens, but never sends anything. */
static int listen_silently(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&at, n), 0);
    cr_assert_eq(listen(fd, 4), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void expect_subscribes_in_time(const char *url)
{
    PGconn *admin = PQconnectdb(url);
    PGresult *failed;
    int port;
    const int fd = listen_silently(&port);

    PQclear(PQexec(admin, "SET statement_timeout = 500"));
    failed = PQexec(admin, format("SELECT cell.subscribe('01920000-0000-7000-8000-000000000001',"
                                  " 'host=127.0.0.1 port=%d password=hidden')",
                                  port));
    cr_expect_str_eq(PQresultErrorField(failed, PG_DIAG_SQLSTATE), "57014");
    cr_expect_null(strstr(PQresultErrorField(failed, PG_DIAG_CONTEXT), "hidden"));
    PQclear(failed);
    PQfinish(admin);
    close(fd);
}

Test(cell_move_stuck, is_refused_if_a_server_has_no_room)
{
    const char *from, *to;
    struct org org;

    start(&org);
    from = stack_setting("DATABASE_URL");
    to = own_stack_database_url("cell2");

    postgres_do(from, "SELECT pg_create_physical_replication_slot('taken_' || i)"
                      "  FROM generate_series(1, 10) AS i");
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL),
                "cell main, max_replication_slots is too low: a move needs 1, and 0 are free");
    postgres_do(from, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");

    expect_no_move();
    expect_subscribes_in_time(to);
    expect_moves(&org, "cell2");
    own_stack_stop();
}

Test(cell_move_stuck, fails_without_progress_and_resumes)
{
    struct org org;
    PGconn *holder;
    const char *complaint;

    start(&org);
    holder =
        hold(own_stack_database_url("cell2"), "LOCK TABLE conversation.contacts IN SHARE MODE");
    complaint = convctl_complaint("cell", "move", org.id, "--to", "cell2", "--give-up", "3", NULL);
    expect_says(complaint, "the copy has made no progress for 3 seconds, with ");
    expect_says(complaint, "cell cell2 a table is locked");
    PQfinish(holder);
    expect_moves(&org, "cell2");
    own_stack_stop();
}

/* A slot is made only when all open transactions that have written, in any database, have ended. */
Test(cell_move_stuck, names_the_transaction_that_it_waits_for)
{
    struct org org;
    PGconn *holder;
    const char *complaint;

    start(&org);
    holder = hold(stack_setting("DATABASE_URL"), "SELECT pg_current_xact_id()");
    complaint = convctl_complaint("cell", "move", org.id, "--to", "cell2", "--give-up", "2", NULL);
    expect_says(complaint, format("pid %d, application_name the holder", PQbackendPID(holder)));
    expect_says(complaint, "has been open for ");
    cr_expect_eq(sql_integer("SELECT count(*) FROM pg_replication_slots", NULL), 0);
    PQfinish(holder);
    expect_moves(&org, "cell2");
    own_stack_stop();
}

static bool has_ended(FILE *mover)
{
    struct pollfd output = {.fd = fileno(mover), .events = POLLIN};

    return poll(&output, 1, 0) != 0;
}

/* A delivery in progress keeps the organization in the state `leaving`, with all rows copied. */
Test(cell_move_stuck, closes_nothing_if_the_new_cell_does_not_keep_up)
{
    char complaint[512] = "";
    struct org org;
    PGconn *holder;
    FILE *mover;
    int n = 2;

    start(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    (void)sql_text("INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id,"
                   " event_type, cause, created_at, lease_until) VALUES ($1::uuid,"
                   " gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 't', 'event', now(),"
                   " now() + interval '1 hour') RETURNING 'done'",
                   org.id, NULL);
    mover = popen(format("'%s/convctl' cell move %s --to cell2 --give-up 3 2>&1",
                         stack_setting("BIN_DIR"), org.id),
                  "r");
    cr_assert_not_null(mover);
    postgres_await(stack_setting("DATABASE_URL"), "SELECT count(*) FROM cell.moves");
    holder =
        hold(own_stack_database_url("cell2"), "LOCK TABLE conversation.contacts IN SHARE MODE");
    /* The copy is behind before the move may go on: with nothing to copy it would close the organization. */
    (void)new_conversation(&org, "order-2", "user-2");
    (void)sql_text("DELETE FROM webhook.queue WHERE organization_id = $1::uuid RETURNING 'done'",
                   org.id, NULL);
    while (!has_ended(mover)) {
        n++;
        (void)new_conversation(&org, format("order-%d", n), format("user-%d", n));
    }
    cr_expect_not_null(fgets(complaint, sizeof(complaint), mover));
    expect_says(complaint, "the other cell does not keep up");
    (void)pclose(mover);
    cr_expect_eq(sql_integer("SELECT count(*) FROM cell.closed", NULL), 0);
    PQfinish(holder);
    expect_moves(&org, "cell2");
    own_stack_stop();
}

static const char seals[] = "LOCK TABLE audit.sealing IN EXCLUSIVE MODE";

Test(cell_move_stuck, closes_nothing_while_the_new_cell_cannot_be_opened)
{
    struct org org;
    PGconn *holder;

    start(&org);
    holder = hold(own_stack_database_url("cell2"), seals);
    expect_says(convctl_complaint("cell", "move", org.id, "--to", "cell2", "--give-up", "2", NULL),
                "the table audit.sealing in the database of cell cell2 stays locked");
    cr_expect_eq(sql_integer("SELECT count(*) FROM cell.closed", NULL), 0);
    PQfinish(holder);
    expect_moves(&org, "cell2");
    own_stack_stop();
}

/* The databases are set up as if an earlier call had ended after it had closed the organization. */
Test(cell_move_stuck, serves_in_the_old_cell_if_the_new_one_cannot_be_opened)
{
    const char *complaint, *to;
    struct org org;
    PGconn *holder;

    start(&org);
    to = own_stack_database_url("cell2");
    postgres_do(stack_setting("DATABASE_URL"),
                format("INSERT INTO access.moves (organization_id, from_cell, to_cell, step)"
                       " VALUES ('%s', 'main', 'cell2', 'switching');"
                       "INSERT INTO cell.moves VALUES ('%s', 'gone')",
                       org.id, org.id));
    postgres_do(to, format("INSERT INTO cell.moves VALUES ('%s', 'arriving')", org.id));
    expect_status(api_get(org.full_key, "/audit"), 503);
    holder = hold(to, seals);
    complaint = convctl_complaint("cell", "move", org.id, "--to", "cell2", NULL);
    expect_says(complaint, "open, in the database of cell cell2: ");
    expect_says(complaint, "cell main serves the organization again: --abort undoes the move");
    expect_status(api_get(org.full_key, "/audit"), 200);
    PQfinish(holder);

    json_decref(convctl("cell", "move", org.id, "--abort", NULL));
    expect_moves(&org, "cell2");
    own_stack_stop();
}
