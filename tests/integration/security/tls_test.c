/*
 * A stack whose two servers accept TLS only: everything works, and no connection gets in otherwise.
 * tests/unit/common/bus/bus_tls_test.c tests how the bus checks certificates.
 */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

static void start(void)
{
    own_stack_start("tls", (const char *const[]){"STACK_TLS=1", NULL});
}

TestSuite(tls, .init = start, .fini = own_stack_stop);

/* -- the database -------------------------------------------------------------------------------
 */

/* Connects with the administrator's URL and settings that override it. */
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
    cr_expect_not(database_lets_in("sslrootcert=system"), "by the system's authorities");
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

    /* The password is right; only TLS is missing. */
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

/* -- what the metrics say of certificates --------------------------------------------------------- */

/* When the first certificate in the file expires, according to OpenSSL's program. */
static long long expiry_in(const char *path)
{
    FILE *program = popen(format("date +%%s -d \"$(openssl x509 -enddate -noout -in '%s' |"
                                 " cut -d= -f2)\"",
                                 path),
                          "r");
    char line[32] = "";

    cr_assert_not_null(program);
    cr_assert_not_null(fgets(line, sizeof(line), program));
    cr_assert_eq(pclose(program), 0);
    return strtoll(line, NULL, 10);
}

static void expect_expiry(const char *process, const char *certificate, const char *file)
{
    const struct replica replica = replica_of_stack(process);

    cr_expect_eq(
        replica_metric(
            &replica,
            format("conversations_certificate_expiry_timestamp_seconds{certificate=\"%s\"}",
                   certificate)),
        expiry_in(format("%s/tls/%s", stack_setting("RUN_DIR"), file)), "%s of %s", certificate,
        process);
}

static void look_at_expiry(void)
{
    expect_expiry("gateway-0", "nats_authorities", "authority.pem");
    expect_expiry("audit-0", "nats_authorities", "authority.pem");
    expect_expiry("audit-0", "postgresql_authorities", "authority.pem");
    expect_expiry("audit-0", "nats_client", "client.pem");
    expect_expiry("audit-0", "postgresql", "server.pem");
}

/* -- renewed files ------------------------------------------------------------------------------- */

struct reading {
    const struct org *org;
    const char *id;
    int status;
};

static bool is_answered(void *closure)
{
    const struct reading *reading = closure;

    return read_conversation(reading->org, reading->id)->status == reading->status;
}

static void install(const char *from, const char *to)
{
    cr_assert_eq(system(format("cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to)), 0);
}

/* Without a restart: a wrong authority closes the database to the program, the right one opens it. */
static void try_renewal(const struct org *org, const char *id)
{
    const char *authority = format("%s/tls/authority.pem", stack_setting("RUN_DIR"));
    const char *wrong = format("%s/authority.pem", stack_setting("WEBHOOK_CERTIFICATES"));
    const char *kept = format("%s.kept", authority);
    struct reading reading = {.org = org, .id = id, .status = 503};

    cr_assert_eq(sql_integer("SELECT 1", NULL), 1); /* the test keeps this connection */
    install(authority, kept);
    install(wrong, authority);
    cr_assert_geq(sql_integer("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                              " WHERE usename = $1",
                              "conv_conversation", NULL),
                  1);
    cr_assert(stack_wait(is_answered, &reading, 10000));
    install(kept, authority);
    reading.status = 200;
    cr_assert(stack_wait(is_answered, &reading, 10000));
}

Test(tls, to_both_servers_carries_everything_and_is_required)
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
    look_at_expiry();
    try_renewal(&org, id);
    try_bus();
}
