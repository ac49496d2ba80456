/*
 * A bus in operator mode, as somebody else may run it: programs sign in with credentials files whose
 * permissions `nats-config --nsc` printed, and these are enough. tests/unit/common/bus/bus_creds_test.c
 * tests what is wrong with a file.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_server.h"
#include "tests/support/replica.h"

TestSuite(creds, .init = stack_have_alone);

static const char *const programs[] = {"access", "audit", "conversation", "gateway"};
enum { N_PROGRAMS = ARRAY_SIZE(programs), GATEWAY = N_PROGRAMS - 1 };

static struct nats_server server;
static struct replica replicas[N_PROGRAMS];

static const char *creds_of(const char *user)
{
    return format("%s/creds/%s.creds", stack_setting("RUN_DIR"), user);
}

static void start_bus(void)
{
    static char config[8192];
    const char *folder = format("%s/creds", stack_setting("RUN_DIR"));
    FILE *from;

    cr_assert_eq(system(format("'%s/nats-config' --nsc |"
                               " tests/support/make-creds '%s'",
                               stack_setting("BIN_DIR"), folder)),
                 0);
    from = fopen(format("%s/server.conf", folder), "re");
    cr_assert(from != NULL && fread(config, 1, sizeof(config) - 1, from) > 0);
    fclose(from);
    nats_server_prepare(&server, config);
    nats_server_start(&server);
}

static void start_programs(void)
{
    for (int i = 0; i < N_PROGRAMS; i++)
        replica_start_of(&replicas[i], programs[i],
                         (const char *const[]){format("NATS_URL=%s", server.url),
                                               format("NATS_CREDS_FILE=%s", creds_of(programs[i])),
                                               NULL});
    /* From here on, the test's helpers use these. */
    setenv("BASE_URL", replicas[GATEWAY].base, 1);
    setenv("NATS_URL", server.url, 1);
    setenv("NATS_CREDS_FILE", creds_of("operator"), 1);
}

static const char *code_with(const char *user)
{
    static char code[64];

    setenv("NATS_CREDS_FILE", user != NULL ? creds_of(user) : "", 1);
    cr_expect_eq(convctl_fails(code, "org", "list", NULL), 1);
    return code;
}

Test(creds, open_a_bus_in_operator_mode_to_every_kind_of_program)
{
    struct org org;
    const char *id;

    start_bus();
    start_programs();
    org_new(&org);
    id = new_conversation(&org, "order-1", "user-1");
    expect_status(read_conversation(&org, id), 200);
    json_decref(convctl("conversation", "delete", "--org", org.id, id, NULL));
    expect_status(read_conversation(&org, id), 404);
    for (int i = 0; i < N_PROGRAMS; i++)
        cr_expect_eq(replica_metric(&replicas[i], "conversations_bus_permission_violations_total"),
                     0, "%s was refused something: see its log", programs[i]);
    cr_expect_str_eq(code_with("external"), "forbidden");
    cr_expect_str_eq(code_with(NULL), "unauthorized");
    replicas_stop(replicas, N_PROGRAMS);
    nats_server_stop(&server);
}
