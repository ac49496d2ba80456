/* The configuration that nats-config prints, on a server of the test's own, without services. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_client.h"
#include "tests/support/nats_server.h"

TestSuite(bus_users, .init = stack_share);

/* The configuration for a server that takes the passwords from its environment. */
static const char *print_config(const char *option)
{
    static char config[128 * 1024];
    FILE *from = popen(format("'%s/nats-config' %s", stack_setting("BIN_DIR"), option), "re");
    size_t n;

    cr_assert_not_null(from);
    n = fread(config, 1, sizeof(config) - 1, from);
    cr_assert_eq(pclose(from), 0);
    config[n] = '\0';
    return config;
}

static void set_password(const char *user, const char *suffix, const char *password)
{
    char *name = format("NATS_%s%s_PASSWORD", user, suffix);

    for (char *p = name; *p != '\0'; p++)
        if (*p == '-')
            *p = '_';
        else if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    setenv(name, password, 1);
}

static void start_private(struct nats_server *server)
{
    set_password("admin", "", "first");
    set_password("admin", "_2", "second");
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        set_password(bus_user_name(user), "", "first");
        set_password(bus_user_name(user), "_2", "second");
    }
    nats_server_prepare(server, print_config(""));
    nats_server_start(server);
}

/* As to a stock client. */
Test(bus_users, allow_a_service_one_reply_to_each_message_at_its_reply_subject)
{
    struct nats_server server;
    struct nats_client gateway, search;

    start_private(&server);
    cr_assert(nats_client_open(&gateway, server.port, "gateway", "first"));
    cr_assert(nats_client_open(&search, server.port, "search", "first"));
    nats_client_subscribe(&gateway, "_INBOX.gateway.>", NULL);
    nats_client_subscribe(&search, SUBJECT_SEARCH, "search");
    cr_expect_not(nats_client_may_publish(&search, "_INBOX.gateway.a.1.1"));
    nats_client_publish(&gateway, SUBJECT_SEARCH_CONVERSATIONS, "_INBOX.gateway.a.1.1");
    nats_client_await(&search, SUBJECT_SEARCH_CONVERSATIONS);
    cr_expect_not(nats_client_may_publish(&search, "_INBOX.gateway.a.1.2"));
    nats_client_publish(&search, "_INBOX.gateway.a.1.1", NULL);
    nats_client_await(&gateway, "_INBOX.gateway.a.1.1");
    cr_expect_not(nats_client_may_publish(&search, "_INBOX.gateway.a.1.1"));
    nats_client_close(&gateway);
    nats_client_close(&search);
    nats_server_stop(&server);
}

/* As to our own programs: over any connection of the service, as often as needed, and no other
   service in its place. */
Test(bus_users, allow_a_service_to_reply_over_another_connection_to_its_own_commands)
{
    static const char reply_to[] = "_INBOX.gateway.a.v1.search.conversations.1";
    struct nats_server server;
    struct nats_client gateway, search, other, audit;

    start_private(&server);
    cr_assert(nats_client_open(&gateway, server.port, "gateway", "first"));
    cr_assert(nats_client_open(&search, server.port, "search", "first"));
    cr_assert(nats_client_open(&other, server.port, "search", "first"));
    cr_assert(nats_client_open(&audit, server.port, "audit", "first"));
    nats_client_subscribe(&gateway, "_INBOX.gateway.>", NULL);
    nats_client_subscribe(&search, SUBJECT_SEARCH, "search");
    nats_client_publish(&gateway, SUBJECT_SEARCH_CONVERSATIONS, reply_to);
    nats_client_await(&search, SUBJECT_SEARCH_CONVERSATIONS);
    cr_expect_not(nats_client_may_publish(&audit, reply_to));
    for (int i = 0; i < 2; i++) {
        nats_client_publish(&other, reply_to, NULL);
        nats_client_await(&gateway, reply_to);
    }
    nats_client_close(&gateway);
    nats_client_close(&search);
    nats_client_close(&other);
    nats_client_close(&audit);
    nats_server_stop(&server);
}

/* convctl's error code with those credentials, which may be wrong. */
static const char *convctl_as(const struct nats_server *server, const char *who)
{
    static char code[64];
    const int64_t start_us = clock_mono_us();

    cr_expect_eq(convctl_fails(code, "--nats", format("nats://%s@127.0.0.1:%d", who, server->port),
                               "org", "list", NULL),
                 1);
    /* Without any answer, convctl would wait for 5 s. */
    cr_expect_lt(clock_mono_us() - start_us, INT64_C(4000000), "%s: at once", who);
    return code;
}

Test(bus_users, get_distinct_errors_from_convctl)
{
    struct nats_server server;

    start_private(&server);
    cr_expect_str_eq(convctl_as(&server, "operator:wrong"), "unauthorized");
    cr_expect_str_eq(convctl_as(&server, "external:first"), "forbidden");
    cr_expect_str_eq(convctl_as(&server, "operator:first"), "service_unavailable");
    nats_server_stop(&server);
}

/* The exit status of nats-config with that password for the administrator. */
static int status_with(const char *password)
{
    char *stem = format("%s/test-", stack_setting("RUN_DIR"));
    FILE *file = fopen(format("%sadmin", stem), "we");
    int status;

    cr_assert(file != NULL && fputs(password, file) >= 0);
    fclose(file);
    status = system(format("'%s/nats-config' --passwords '%s' >/dev/null 2>&1",
                           stack_setting("BIN_DIR"), stem));
    unlink(format("%sadmin", stem));
    return WEXITSTATUS(status);
}

Test(bus_users, have_no_passwords_that_would_end_the_quotes)
{
    cr_expect_eq(status_with("x\", permissions: {}"), 1);
    cr_expect_eq(status_with("back\\slash"), 1);
    cr_expect_eq(status_with("\n"), 1);
    cr_expect_eq(status_with("good"), 1, "the others have none");
    cr_expect_eq(
        WEXITSTATUS(system(format("'%s/nats-config' --passwords '%s/secrets/bus-' >/dev/null",
                                  stack_setting("BIN_DIR"), stack_setting("RUN_DIR")))),
        0);
}

static bool second_signs_in(void *port)
{
    struct nats_client client;
    bool is_in = nats_client_open(&client, *(int *)port, "search-2", "second");

    nats_client_close(&client);
    return is_in;
}

Test(bus_users, go_over_to_other_passwords_without_a_gap)
{
    struct nats_server server;
    struct nats_client first, second;
    int port;

    start_private(&server);
    port = server.port;
    cr_assert(nats_client_open(&first, port, "search", "first"));
    nats_client_subscribe(&first, SUBJECT_SEARCH, "search");
    cr_assert_not(second_signs_in(&port));
    nats_server_configure(&server, print_config("--second"));
    nats_server_reload(&server);
    cr_assert(stack_wait(second_signs_in, &port, 30000));
    cr_expect(nats_client_may_subscribe(&first, SUBJECT_SEARCH, "search"), "cut off");
    cr_assert(nats_client_open(&second, port, "search-2", "second"));
    cr_expect(nats_client_may_subscribe(&second, SUBJECT_SEARCH, "search"));
    cr_expect_not(nats_client_may_subscribe(&second, SUBJECT_SEARCH, "search-2"));
    cr_expect_not(nats_client_may_subscribe(&second, ">", NULL));
    nats_client_close(&first);
    nats_client_close(&second);
    nats_server_stop(&server);
}

/* Appends to the command line of nsc what a line of the configuration permits. */
static void translate(const char *line, const char **kind, char *command)
{
    char *const end = command + strlen(command);
    char text[256];

    if (sscanf(line, " user: \"%255[^\"]", text) == 1)
        sprintf(end, "nsc add user --name %s", text);
    else if (strstr(line, "deny: \">\"") != NULL)
        sprintf(end, " --deny-%s '>'", strstr(line, "publish") != NULL ? "pub" : "sub");
    else if (strstr(line, "allow: [") != NULL)
        *kind = strstr(line, "publish") != NULL ? "pub" : "sub";
    else if (sscanf(line, " \"%255[^\"]", text) == 1 && *kind != NULL)
        sprintf(end, " --allow-%s '%s", *kind, text), *kind = NULL;
    else if (sscanf(line, " \"%255[^\"]", text) == 1)
        sprintf(end, ",%s", text);
    else if (strstr(line, "] }") != NULL)
        sprintf(end, "'");
    else if (strstr(line, "allow_responses: { max: 1, expires: \"1m\" }") != NULL)
        sprintf(end, " --allow-pub-response=1 --response-ttl 1m");
    else if (strcmp(line, "    }") == 0)
        sprintf(end, "\n");
}

Test(bus_users, have_the_same_permissions_as_users_of_nsc)
{
    static const char options[] = "--second --cell cell2";
    static char expected[128 * 1024] = "# Made by nats-config from proto/subject.def.\n";
    char *rest = format("%s", print_config(options));
    const char *line, *kind = NULL;

    while ((line = strsep(&rest, "\n")) != NULL)
        translate(line, &kind, expected);
    cr_expect_str_eq(print_config(format("--nsc %s", options)), expected);
    cr_expect_eq(WEXITSTATUS(system(format("'%s/nats-config' --nsc --passwords x 2>/dev/null",
                                           stack_setting("BIN_DIR")))),
                 2);
}
