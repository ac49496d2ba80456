/* How processes start without what they need, grow in number, and end. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"

TestSuite(lifecycle, .init = stack_have_alone);

enum { WITHIN_MS = 30000, SOME = 50 /* requests of the load */ };

static const char *const all[] = {"gateway", "dashboard", "access", "conversation",
                                  "search",  "audit",     "webhook"};
static const char *const with_database[] = {"access", "conversation", "search", "audit", "webhook"};

struct expected {
    const struct replica *replica;
    const char *reason;
};

static bool lives_unready(void *closure)
{
    const struct expected *expected = closure;
    const struct client_response *readiness = replica_ask(expected->replica, "/readyz");

    return readiness->status == 503 && strstr(readiness->body, expected->reason) != NULL &&
           replica_ask(expected->replica, "/livez")->status == 200;
}

static void expect_unready(const struct replica *replica, const char *reason)
{
    struct expected expected = {replica, reason};

    cr_assert(stack_wait(lives_unready, &expected, WITHIN_MS), "port %d responds %s", replica->port,
              replica_ask(replica, "/readyz")->body);
}

Test(lifecycle, without_a_bus_everything_waits_for_it_and_still_stops_on_request)
{
    struct nats_server bus;
    struct replica replicas[ARRAY_SIZE(all)];

    nats_server_prepare(&bus, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        replica_launch_of(&replicas[i], all[i],
                          (const char *const[]){format("NATS_URL=%s", bus.url), NULL});
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        expect_unready(&replicas[i], "bus");
    nats_server_start(&bus);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        replica_await(&replicas[i]);
    nats_server_stop(&bus);
    replicas_stop(replicas, ARRAY_SIZE(all));
}

Test(lifecycle, without_a_database_services_report_it_and_still_stop_on_request)
{
    struct replica replicas[ARRAY_SIZE(with_database)];

    for (size_t i = 0; i < ARRAY_SIZE(with_database); i++)
        replica_launch_of(
            &replicas[i], with_database[i],
            (const char *const[]){"DATABASE_URL=postgresql://127.0.0.1:1/none", NULL});
    for (size_t i = 0; i < ARRAY_SIZE(with_database); i++)
        expect_unready(&replicas[i], "database");
    replicas_stop(replicas, ARRAY_SIZE(with_database));
}

Test(lifecycle, a_stopping_dashboard_serves_until_load_balancers_have_noticed)
{
    struct replica dashboard;

    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"SHUTDOWN_DELAY_MS=60000", NULL});
    kill(dashboard.pid, SIGTERM);
    expect_unready(&dashboard, "shutting down");
    expect_status(
        http_send(&(struct client_request){.method = "GET",
                                           .base = format("http://127.0.0.1:%d", dashboard.port),
                                           .path = "/sign-in",
                                           .skip_checks = true}),
        200);
    replica_stop(&dashboard); /* a second signal ends the delay */
}

Test(lifecycle, on_an_older_schema_services_wait_for_the_migrations)
{
    const char *admin = stack_setting("DATABASE_URL"), *at = strchr(admin, '@') + 1;
    const char *place = format("%.*s/unmigrated", (int)strcspn(at, "/"), at);
    struct nats_server bus; /* another one, so that these get no commands */
    struct replica replicas[ARRAY_SIZE(with_database)];

    postgres_do(admin, "CREATE DATABASE unmigrated");
    nats_server_prepare(&bus, NULL);
    nats_server_start(&bus);
    for (size_t i = 0; i < ARRAY_SIZE(with_database); i++)
        replica_launch_of(
            &replicas[i], with_database[i],
            (const char *const[]){
                format("NATS_URL=%s", bus.url),
                format("DATABASE_URL=%s", replica_database_url(with_database[i], place)), NULL});
    for (size_t i = 0; i < ARRAY_SIZE(with_database); i++)
        expect_unready(&replicas[i], "database");
    cr_assert_eq(
        system(format("DATABASE_URL='%.*s/unmigrated' '%s/migrate' >/dev/null",
                      (int)(strrchr(admin, '/') - admin), admin, stack_setting("BIN_DIR"))),
        0);
    for (size_t i = 0; i < ARRAY_SIZE(with_database); i++)
        replica_await(&replicas[i]);
    replicas_stop(replicas, ARRAY_SIZE(with_database));
    nats_server_stop(&bus);
    postgres_do(admin, "DROP DATABASE unmigrated");
}

/* -- what cannot start ------------------------------------------------------------------------- */

/* With that setting, the program exits with 1 and writes the reason to standard error. */
static void expect_end(const char *program, const char *setting, const char *reason)
{
    struct replica replica;

    replica_launch_of(&replica, program, (const char *const[]){setting, NULL});
    cr_assert_eq(replica_await_end(&replica), 1, "%s with %s", program, setting);
    cr_assert_eq(system(format("grep -qF '%s' '%s/log/%s-of-tests.log'", reason,
                               stack_setting("RUN_DIR"), program)),
                 0, "%s with %s does not log: %s", program, setting, reason);
}

Test(lifecycle, a_setting_that_is_wrong_or_missing_ends_a_program_at_once)
{
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        expect_end(all[i], "ADMIN_PORT=many", "setting ADMIN_PORT must be");
        expect_end(all[i], "NATS_URL=", "setting NATS_URL is required");
        expect_end(all[i], "NATS_URL=\"nats://localhost\"",
                   "setting NATS_URL is in quotation marks; remove them");
    }
}

/* Programs that do not go on: exit status 2, and the reason on standard error. */
static void expect_usage(const char *setting, const char *program, const char *reason)
{
    cr_expect_eq(system(format("said=$(env '%s' '%s/'%s 2>&1 >/dev/null); [ $? = 2 ] &&"
                               " echo \"$said\" | grep -qF '%s'",
                               setting, stack_setting("BIN_DIR"), program, reason)),
                 0, "%s: %s", program, setting);
}

Test(lifecycle, a_url_that_is_wrong_is_an_error_of_usage)
{
    expect_usage("DATABASE_URL=postgresql://a:100%@localhost/b", "migrate",
                 "cannot be parsed: write it without quotation marks");
    expect_usage("DATABASE_URL=\"postgresql://a@localhost/b\"", "migrate",
                 "setting DATABASE_URL is in quotation marks");
    expect_usage("NATS_URL=http://localhost", "convctl org list",
                 "NATS_URL: the scheme must be nats:// or tls://");
    expect_usage("NATS_URL=\"nats://localhost\"", "convctl org list",
                 "setting NATS_URL is in quotation marks");
}

Test(lifecycle, a_port_that_is_taken_ends_a_program_at_once)
{
    const int taken = stack_gateway_port();
    const char *reason = format("\"port\":%d", taken);

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        expect_end(all[i], format("ADMIN_PORT=%d", taken), reason);
    expect_end("gateway", format("GATEWAY_PORT=%d", taken), reason);
    expect_end("dashboard", format("DASHBOARD_PORT=%d", taken), reason);
}

/* -- scaling ----------------------------------------------------------------------------------- */

Test(lifecycle, growing_to_five_and_back_costs_no_request)
{
    static const char *const grown[] = {"conversation", "search", "audit", "access"};
    struct replica more[ARRAY_SIZE(grown)][4];
    struct org org;
    struct load *load;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    /* Under a sanitizer, sixteen more programs use up two processors, so the load is lower. */
    load = load_start(&org, (int)(300 / limit_scaled(3)));
    for (size_t i = 0; i < ARRAY_SIZE(grown); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(more[i]); j++)
            replica_launch_of(&more[i][j], grown[i], (const char *const[]){NULL});
        for (size_t j = 0; j < ARRAY_SIZE(more[i]); j++)
            replica_await(&more[i][j]);
    }
    cr_assert(load_await_served(load, SOME, WITHIN_MS));
    for (size_t i = 0; i < ARRAY_SIZE(grown); i++)
        replicas_stop(more[i], ARRAY_SIZE(more[i]));
    load_stop(load);
    load_tell_failures(load, 0);
    cr_assert_eq(load_last_failure_us(load), 0, "a request failed");
    load_check_consistency(load);
}
