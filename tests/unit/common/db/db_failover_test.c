/* A db whose URL names two servers: a standby that is promoted, and a primary that goes away. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/db/db.h"
#include "common/db/db_admin.h"
#include "tests/support/own_names.h"
#include "tests/support/port.h"
#include "tests/support/postgres_server.h"

enum { INSERT, SLEEP, WHERE };
enum { SLICE_MS = 100, WITHIN_US = 30 * 1000 * 1000 };

static const struct db_statement statements[] = {
    {"insert", "INSERT INTO item (id) VALUES (1)", NULL},
    {"sleep", "SELECT pg_sleep(60)", "pg_sleep"},
    {"where", "SELECT current_setting('port')::int AS port", "port"},
};

static const char schema[] = "CREATE TABLE item (id int)";
static const char no_writes[] = "no server of the database takes writes";

static struct postgres_server standby, primary;
static char both[160];
static struct db *db;

static struct db *db_to(const char *url, bool may_be_standby)
{
    return db_new(&(struct db_options){.url = url,
                                       .name = "db_failover_test",
                                       .statements = statements,
                                       .n_statements = ARRAY_SIZE(statements),
                                       .may_be_standby = may_be_standby});
}

static const char *url_of(unsigned first_port, unsigned second_port, const char *rest)
{
    snprintf(both, sizeof(both), "postgresql://postgres@127.0.0.1:%u,127.0.0.1:%u/postgres%s",
             first_port, second_port, rest);
    return both;
}

static void start(struct postgres_server *server)
{
    postgres_server_prepare(server);
    postgres_server_start(server);
    postgres_do(server->url, schema);
}

static void open_both(void)
{
    start(&standby);
    postgres_server_demote(&standby);
    start(&primary);
}

static void close_both(void)
{
    db_free(db);
    postgres_server_stop(&standby);
    postgres_server_stop(&primary);
}

TestSuite(db_failover, .init = open_both, .fini = close_both);

static void open_batch(void)
{
    db_open_batch(db, clock_us() + WITHIN_US);
}

static unsigned port_in_use(void)
{
    size_t asked;

    open_batch();
    asked = db_add(db, WHERE, NULL);
    cr_assert_eq(db_commit(db), ST_OK);
    return (unsigned)db_value_int(db_result(db, asked), 0, 0);
}

static void expect_at(const struct postgres_server *server)
{
    cr_assert_eq(db_connect(db, 30000), ST_OK, "%s", db_trouble(db));
    cr_assert_null(db_trouble(db));
    cr_assert_eq(port_in_use(), server->port, "%s", both);
}

static void await_trouble(const char *trouble)
{
    const int64_t until_us = clock_mono_us() + WITHIN_US;

    do {
        cr_assert_eq(db_connect(db, SLICE_MS), ST_UNAVAILABLE);
        cr_assert_lt(clock_mono_us(), until_us, "%s", db_trouble(db));
    } while (strcmp(db_trouble(db), trouble) != 0);
}

static enum status insert(void)
{
    open_batch();
    db_add(db, INSERT, NULL);
    return db_commit(db);
}

/* -- the primary is found ---------------------------------------------------------------------- */

Test(db_failover, passes_over_the_standby_and_follows_the_promotion)
{
    db = db_to(url_of(standby.port, primary.port, ""), false);
    expect_at(&primary);
    cr_assert_eq(insert(), ST_OK);
    postgres_server_crash(&primary);
    cr_assert_eq(insert(), ST_UNCERTAIN);
    await_trouble(no_writes);
    postgres_server_promote(&standby);
    expect_at(&standby);
    cr_assert_eq(insert(), ST_OK);
    cr_assert_eq(postgres_integer(standby.url, "SELECT count(*) FROM item"), 1);
}

/* The primary comes back as a standby while the other one serves. */
Test(db_failover, does_not_return_to_a_primary_that_was_demoted)
{
    db = db_to(url_of(primary.port, standby.port, ""), false);
    expect_at(&primary);
    postgres_server_promote(&standby);
    postgres_server_demote(&primary);
    cr_assert_neq(insert(), ST_OK);
    expect_at(&standby);
}

Test(db_failover, treats_a_session_that_has_become_read_only_as_lost)
{
    db = db_to(url_of(standby.port, primary.port, ""), false);
    expect_at(&primary);
    postgres_do(primary.url, "ALTER SYSTEM SET default_transaction_read_only = on");
    postgres_do(primary.url, "SELECT pg_reload_conf()");
    postgres_await(primary.url,
                   "SELECT (current_setting('default_transaction_read_only') = 'on')::int");
    /* The server reloads its settings between two statements. */
    (void)port_in_use();
    cr_assert_eq(insert(), ST_UNAVAILABLE);
    cr_assert_str_eq(db_last_sqlstate(db), "25006");
    cr_assert_not(db_is_up(db));
    await_trouble(no_writes);
    postgres_server_promote(&standby);
    expect_at(&standby);
}

/* Like a stopped server process: the kernel accepts connections, and nothing answers. */
Test(db_failover, a_host_that_keeps_silent_does_not_hold_the_others_up)
{
    uint16_t port;
    const int listener = port_bound(&port);

    cr_assert_eq(listen(listener, 8), 0);
    db = db_to(url_of(port, primary.port, ""), false);
    expect_at(&primary);
    db_free(db);
    /* Nor does it prevent finding a primary that appears later. */
    db = db_to(url_of(port, standby.port, ""), false);
    await_trouble(no_writes);
    postgres_server_promote(&standby);
    expect_at(&standby);
    close(listener);
}

/* -- names -------------------------------------------------------------------------------------- */

enum { HELD_UP_US = 200 * 1000 };

/* A call that is given no time returns at once, whatever the name servers do. */
static void connect_in_steps(const struct postgres_server *server)
{
    const int64_t until_us = clock_mono_us() + WITHIN_US;
    enum status st;

    do {
        struct pollfd socket = {.fd = db_socket(db), .events = db_events(db)};
        int64_t began_us;

        (void)poll(&socket, 1, 10);
        began_us = clock_mono_us();
        st = db_connect(db, 0);
        cr_assert_lt(clock_mono_us() - began_us, HELD_UP_US);
        cr_assert_lt(clock_mono_us(), until_us, "%s", db_trouble(db));
    } while (st != ST_OK);
    expect_at(server);
}

Test(db_failover, passes_over_a_silent_address_of_a_name)
{
    const int listener = own_names_silent("::1", primary.port);
    char url[128];

    own_names("127.0.0.1 localhost\n::1 db.test\n127.0.0.1 db.test\n", NULL);
    (void)snprintf(url, sizeof(url), "postgresql://postgres@db.test:%u/postgres", primary.port);
    db = db_to(url, false);
    connect_in_steps(&primary);
    close(listener);
}

Test(db_failover, a_name_server_that_keeps_silent_holds_no_step_up)
{
    char url[128];

    own_names("127.0.0.1 localhost\n", "127.66.0.1");
    (void)snprintf(url, sizeof(url), "postgresql://postgres@db.test:%u/postgres", primary.port);
    db = db_to(url, false);
    for (int i = 0; i < 40; i++) {
        const int64_t began_us = clock_mono_us();

        cr_assert_eq(db_connect(db, SLICE_MS), ST_UNAVAILABLE);
        cr_assert_lt(clock_mono_us() - began_us, SLICE_MS * 1000 + HELD_UP_US);
    }
    own_names_hosts("127.0.0.1 localhost\n127.0.0.1 db.test\n");
    connect_in_steps(&primary);
}

Test(db_failover, a_name_that_takes_long_to_look_up_does_not_hold_the_others_up)
{
    char url[128];

    own_names("127.0.0.1 localhost\n", "127.66.0.1");
    (void)snprintf(url, sizeof(url), "postgresql://postgres@slow.test,127.0.0.1:%u/postgres",
                   primary.port);
    db = db_to(url, false);
    connect_in_steps(&primary);
}

Test(db_failover, tries_another_host_first_when_the_one_in_use_kept_silent)
{
    db = db_to(url_of(standby.port, primary.port, ""), false);
    expect_at(&primary);
    postgres_server_promote(&standby);
    db_open_batch(db, clock_us() + 1000);
    db_add(db, SLEEP, NULL);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    expect_at(&standby);
}

/* -- what the URL asks for --------------------------------------------------------------------- */

static void expect_of(const char *rest, bool may_be_standby, const struct postgres_server *server)
{
    db_free(db);
    db = db_to(url_of(standby.port, primary.port, rest), may_be_standby);
    expect_at(server);
}

Test(db_failover, goes_by_target_session_attrs)
{
    expect_of("", true, &standby);
    expect_of("?target_session_attrs=any", false, &standby);
    expect_of("?target_session_attrs=read-only", false, &standby);
    expect_of("?target_session_attrs=standby", true, &standby);
    expect_of("?target_session_attrs=prefer-standby", true, &standby);
    expect_of("?target_session_attrs=read-write", true, &primary);
    expect_of("?target_session_attrs=primary", true, &primary);
    postgres_server_promote(&standby);
    expect_of("?target_session_attrs=prefer-standby", true, &standby);
}

Test(db_failover, a_single_host_is_held_to_it_too)
{
    db = db_to(standby.url, false);
    await_trouble(no_writes);
    postgres_server_promote(&standby);
    expect_at(&standby);
}

Test(db_failover, leaves_settings_that_it_does_not_know_to_libpq)
{
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    db = db_to(url_of(standby.port, primary.port, "?sslmode=nonsense"), false);
    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    cr_expect_eq(db_connect(db, SLICE_MS), ST_UNAVAILABLE);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_not_null(strstr(text, "invalid sslmode value"), "%s", text);
    close(log);
    close(kept);
}

Test(db_failover, the_log_has_the_reason_of_each_host)
{
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    postgres_server_crash(&primary);
    db = db_to(url_of(standby.port, primary.port, ""), false);
    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    await_trouble(no_writes);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_not_null(strstr(text, no_writes), "%s", text);
    cr_expect_not_null(strstr(text, ": it is a standby; "), "%s", text);
    cr_expect_not_null(strstr(text, "Connection refused"), "%s", text);
    close(log);
    close(kept);
}

Test(db_failover, the_log_does_not_complain_of_a_primary_if_a_standby_is_only_preferred)
{
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    db = db_to(url_of(primary.port, primary.port, "?target_session_attrs=prefer-standby"), true);
    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    expect_at(&primary);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_null(strstr(text, "warning"), "%s", text);
    close(log);
    close(kept);
}

Test(db_failover, the_log_has_the_statement_that_the_primary_refused)
{
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    postgres_do(primary.url, "DROP TABLE item");
    db = db_to(url_of(primary.port, standby.port, ""), false);
    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    cr_expect_eq(db_connect(db, 10 * SLICE_MS), ST_UNAVAILABLE);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_str_eq(db_trouble(db), "the database is unreachable");
    cr_expect_not_null(strstr(text, "\"statement\":\"insert\""), "%s", text);
    cr_expect_not_null(strstr(text, "\"sqlstate\":\"42P01\""), "%s", text);
    close(log);
    close(kept);
}

/* -- programs that change the schema ----------------------------------------------------------- */

Test(db_failover, migrate_finds_the_primary_as_well)
{
    struct db_admin *admin;
    char error[DB_ADMIN_WHY];

    cr_assert_eq(db_admin_open(url_of(standby.port, primary.port, ""), "test", 10, &admin, error),
                 ST_OK, "%s", error);
    cr_assert_eq(db_admin_script(admin, "INSERT INTO item (id) VALUES (2)"), ST_OK);
    db_admin_free(admin);
    cr_assert_eq(db_admin_open(standby.url, "test", 10, &admin, error), ST_UNAVAILABLE);
    cr_assert_not_null(strstr(error, "read-only"), "%s", error);
}
