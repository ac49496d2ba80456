/*
 * A stack whose two servers speak TLS and nothing else: everything works, and nobody gets in by
 * another way. How the bus judges certificates is tests/unit/common/bus/bus_tls_test.c's matter.
 */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_client.h"
#include "tests/support/sql.h"

/* Settings of the stack that `make test` runs, which this one is not to take over. */
static const char *const foreign[] = {
    "GATEWAY_TLS_PORT", "GATEWAY_TLS_CERT",   "GATEWAY_TLS_KEY",
    "TRUSTED_PROXIES",  "WEBHOOK_DNS_SERVER", "REPLICAS_GATEWAY",
};

static void run_stack(const char *verb)
{
    const char *folder = stack_setting("RUN_DIR");

    cr_assert_eq(system(format("deploy/local/stack %s >'%s.log' 2>&1", verb, folder)), 0,
                 "stack %s: see %s.log", verb, folder);
}

/* Its env file into our environment, as a shell reads it. */
static void read_env(void)
{
    FILE *env = popen(format("set -a; . '%s/env'; exec env", stack_setting("RUN_DIR")), "re");
    char line[4096];

    cr_assert_not_null(env);
    while (fgets(line, sizeof(line), env) != NULL) {
        char *value = strchr(line, '=');

        line[strcspn(line, "\n")] = '\0';
        if (value == NULL)
            continue;
        *value++ = '\0';
        cr_assert_eq(setenv(line, value, 1), 0);
    }
    cr_assert_eq(pclose(env), 0);
}

static void start(void)
{
    int port = stack_gateway_port();

    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
        unsetenv(foreign[i]);
    /* `make test` keeps a dozen ports together. */
    setenv("GATEWAY_PORT", format("%d", port + 6), 1);
    setenv("DASHBOARD_PORT", format("%d", port + 7), 1);
    setenv("RUN_DIR", format("%s-tls", stack_setting("RUN_DIR")), 1);
    setenv("STACK_TLS", "1", 1);
    cr_assert_eq(system(format("rm -rf '%s'", stack_setting("RUN_DIR"))), 0);
    run_stack("up");
    read_env();
}

static void stop(void)
{
    run_stack("down");
}

TestSuite(tls, .init = start, .fini = stop);

/* -- the database -------------------------------------------------------------------------------
 */

/* The administrator's URL, followed by settings that count more. */
static bool database_lets_in(const char *settings)
{
    PGconn *conn = PQconnectdb(format("%s&%s", stack_setting("DATABASE_URL"), settings));
    bool is_in = PQstatus(conn) == CONNECTION_OK;

    PQfinish(conn);
    return is_in;
}

static void try_database(void)
{
    cr_expect(database_lets_in("connect_timeout=5"));
    cr_expect_not(database_lets_in("sslmode=disable"), "without TLS");
    cr_expect_not(database_lets_in("sslrootcert=system"), "by the machine's authorities");
    cr_expect_not(database_lets_in(format("sslrootcert=%s/authority.pem",
                                          stack_setting("WEBHOOK_CERTIFICATES"))),
                  "by another authority");
    cr_expect_not(database_lets_in("host=localhost&hostaddr=127.0.0.1"), "by another name");
    cr_expect_geq(sql_integer("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                              " WHERE usename LIKE 'conv\\_%' AND ssl",
                              NULL),
                  5);
    cr_expect_eq(sql_integer("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                             " WHERE client_addr IS NOT NULL AND NOT ssl",
                             NULL),
                 0);
}

/* -- the bus ------------------------------------------------------------------------------------
 */

static void try_bus(void)
{
    struct nats_client plain;
    char code[64];

    /* The password is right; only the way is wrong. */
    const char *url = stack_setting("NATS_URL");
    char *password = format("%s", strstr(url, "admin:") + strlen("admin:"));

    *strchr(password, '@') = '\0';
    cr_expect_not(nats_client_open(&plain, atoi(strrchr(url, ':') + 1), "admin", password),
                  "without TLS");
    nats_client_close(&plain);
    setenv("NATS_CA_FILE", format("%s/authority.pem", stack_setting("WEBHOOK_CERTIFICATES")), 1);
    cr_expect_eq(convctl_fails(code, "org", "list", NULL), 1);
    cr_expect_str_eq(code, "service_unavailable", "by another authority");
}

Test(tls, to_both_servers_carries_everything_and_lets_in_nobody_without)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "order-1", "user-1");
    expect_status(read_conversation(&org, id), 200);
    expect_status(api_post(org.read_key, "/conversations/search",
                           "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                           "\"value\":\"user-1\"}}"),
                  200);
    try_database();
    try_bus();
}
