/*
 * A backup as docs/operations.md describes it, restored on another server, and one by tools/backup,
 * restored in another RUN_DIR: the services run on it, and the audit log verifies.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/second_deployment.h"

TestSuite(backup, .init = stack_have_alone);

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

static const char *const services[] = {"audit", "access", "conversation", "gateway"};
enum { N_SERVICES = ARRAY_SIZE(services), GATEWAY = N_SERVICES - 1 };

/* How many entries are not sealed. Fails if the audit log does not verify. */
static long long count_unsealed(const struct second_deployment *deployment, const struct org *org)
{
    json_t *result =
        convctl("--nats", deployment->bus.url, "audit", "verify", "--org", org->id, NULL);
    char *text = json_dumps(result, 0);
    long long n = json_integer_value(json_object_get(result, "unsealed"));

    cr_assert(json_is_true(json_object_get(result, "ok")), "%s", text);
    cr_assert_gt(json_integer_value(json_object_get(result, "entries")), 0);
    free(text);
    json_decref(result);
    return n;
}

static bool has_sealed_all(void *closure)
{
    const void *const *of = closure;

    return count_unsealed(of[0], of[1]) == 0;
}

/* Properties of the database itself, one a line: a restore that does not make the database from the
   backup loses who may connect, and how roles' statements are planned. */
static const char properties_query[] =
    "SELECT string_agg(line, E'\\n' ORDER BY line)"
    "  FROM pg_database AS it,"
    "       LATERAL (SELECT format('%s, %s, of %s', pg_encoding_to_char(encoding), datcollate,"
    "                              datdba::regrole)"
    "                 UNION ALL"
    "                SELECT unnest(datacl)::text"
    "                 UNION ALL"
    "                SELECT format('%s: %s', setrole::regrole, unnest(setconfig))"
    "                  FROM pg_db_role_setting"
    "                 WHERE setdatabase = it.oid) AS properties (line)"
    " WHERE datname = current_database()";

static void expect_same_properties(const struct second_deployment *deployment)
{
    char *before = postgres_text(stack_setting("DATABASE_URL"), properties_query);
    char *after =
        postgres_text(second_deployment_database_url(deployment, "postgres"), properties_query);

    cr_assert(before != NULL && after != NULL);
    cr_assert_not_null(strstr(before, "conv_conversation: plan_cache_mode=force_generic_plan"));
    cr_assert_not_null(strstr(before, "conv_conversation=c/"), "%s", before);
    cr_expect_str_eq(after, before);
    free(before);
    free(after);
}

Test(backup, brings_everything_back_on_another_server)
{
    struct replica replicas[N_SERVICES];
    struct second_deployment deployment;
    struct org org;
    struct client_response *before, *after;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "kept", "ada");
    before = read_conversation(&org, id);
    sealed_log_await_seal(&org);
    second_deployment_open(&deployment);
    expect_same_properties(&deployment);
    for (int i = 0; i < N_SERVICES; i++)
        second_deployment_start(&deployment, &replicas[i], services[i], NULL, NULL);

    after = http_send(&(struct client_request){.method = "GET",
                                               .base = replicas[GATEWAY].base,
                                               .path = format("/conversations/%s", id),
                                               .key = org.full_key});
    cr_assert_eq(after->status, 200);
    cr_assert_str_eq(after->body, before->body);
    (void)count_unsealed(&deployment, &org);
    /* New entries are sealed after the restored ones. */
    expect_status(
        http_send(&(struct client_request){
            .method = "GET", .base = replicas[GATEWAY].base, .path = "/ping", .key = org.full_key}),
        200);
    cr_assert(stack_wait(has_sealed_all, (const void *[]){&deployment, &org}, 20000));

    for (int i = N_SERVICES - 1; i >= 0; i--)
        replica_stop(&replicas[i]);
    second_deployment_close(&deployment);
}

/* Expects the command to fail, with `says` on its standard error. */
static void refused(const char *command, const char *says)
{
    run(format("if out=$(%s 2>&1 >/dev/null); then exit 1; fi; case $out in *'%s'*) ;; *)"
               " echo \"$out\" >&2; exit 1 ;; esac",
               command, says));
}

/* -- the tools ------------------------------------------------------------------------------- */

/* From here on, this process uses another stack, on unused ports of this test run. */
static void move_to(const char *folder)
{
    const int port = stack_gateway_port() + 6;

    setenv("RUN_DIR", folder, 1);
    setenv("GATEWAY_PORT", format("%d", port), 1);
    setenv("DASHBOARD_PORT", format("%d", port + 1), 1);
    setenv("REPLICAS_GATEWAY", "1", 1);
    setenv("GATEWAY_TLS_PORT", "", 1);
}

static void stop(void)
{
    if (strstr(stack_setting("RUN_DIR"), "-restored") != NULL)
        run("deploy/local/stack down");
}

Test(backup, tools_bring_everything_back_in_another_folder, .fini = stop)
{
    const char *backup = format("%s-backup", stack_setting("RUN_DIR"));
    const char *restored = format("%s-restored", stack_setting("RUN_DIR"));
    struct client_response *before, *after;
    struct org org;
    const char *id;
    int taken;

    org_new(&org);
    id = new_conversation(&org, "kept", "ada");
    before = read_conversation(&org, id);
    sealed_log_await_seal(&org);
    run(format("umask 022 && tools/backup '%s' && [ -z \"$(find '%s' -perm /077)\" ]", backup,
               backup));
    cr_expect_neq(system(format("tools/backup '%s' 2>/dev/null", backup)), 0, "already exists");
    cr_expect_neq(system(format("tools/restore '%s' 2>/dev/null", backup)), 0, "a database is");

    taken = stack_gateway_port();
    move_to(restored);
    /* A restore serves no requests, so a port that is taken does no harm. */
    run(format("GATEWAY_PORT=%d tools/restore '%s' && deploy/local/stack up >/dev/null", taken,
               backup));
    after = http_send(&(struct client_request){
        .method = "GET",
        .base = format("http://127.0.0.1:%s/api/v1", stack_setting("GATEWAY_PORT")),
        .path = format("/conversations/%s", id),
        .key = org.full_key});
    cr_assert_eq(after->status, 200);
    cr_assert_str_eq(after->body, before->body);
    run(format("set -a && . '%s/env' && \"$BIN_DIR/convctl\" audit verify --org %s"
               " | jq -e '.ok and .entries > 0' >/dev/null",
               restored, org.id));
}

/* -- cells ------------------------------------------------------------------------------------- */

static const char *const cells[] = {"main", "cell2"};
enum { N_CELLS = ARRAY_SIZE(cells) };

static void is_whole(const char *folder, const struct org *org,
                     const struct client_response *before, const char *id)
{
    const struct client_response *after = read_conversation(org, id);

    cr_assert_eq(after->status, 200);
    cr_expect_str_eq(after->body, before->body);
    run(format("set -a && . '%s/env' && \"$BIN_DIR/convctl\" audit verify --org %s"
               " | jq -e '.ok and .entries > 0' >/dev/null",
               folder, org->id));
}

Test(backup, tools_bring_every_cell_back, .fini = stop)
{
    const char *backup, *restored, *ids[N_CELLS];
    struct client_response *before[N_CELLS];
    struct org orgs[N_CELLS];

    own_stack_start("cells", (const char *const[]){"CELLS=2", NULL});
    backup = format("%s-backup", stack_setting("RUN_DIR"));
    restored = format("%s-restored", stack_setting("RUN_DIR"));
    for (int i = 0; i < N_CELLS; i++) {
        org_new_in(&orgs[i], cells[i]);
        ids[i] = new_conversation(&orgs[i], "kept", "ada");
        before[i] = read_conversation(&orgs[i], ids[i]);
    }
    run(format("rm -rf '%s' '%s' && tools/backup '%s' && [ -z \"$(find '%s' -perm /077)\" ]",
               backup, restored, backup, backup));
    run(format("mkdir '%s/cell3-postgres'", stack_setting("RUN_DIR")));
    refused(format("tools/backup '%s-less'", backup), "has never run");
    own_stack_stop();

    setenv("RUN_DIR", restored, 1);
    refused(format("CELLS=3 tools/restore '%s'", backup), "has 2 cells");
    run(format("cp -a '%s' '%s-part' && rm '%s-part/cells/cell2/roles.sql'", backup, backup,
               backup));
    refused(format("CELLS= tools/restore '%s-part'", backup), "not a backup");
    run(format("CELLS= tools/restore '%s' && deploy/local/stack up >/dev/null", backup));
    for (int i = 0; i < N_CELLS; i++)
        is_whole(restored, &orgs[i], before[i], ids[i]);
    run("deploy/local/stack down");
    refused("CELLS=1 deploy/local/stack up", "has the data of cell2");
}

/* -- what the tools must not do -------------------------------------------------------------- */

Test(backup, is_of_this_deployment_whatever_the_environment_says)
{
    const char *backup = format("%s-plain", stack_setting("RUN_DIR"));

    /* libpq prefers these to the host, port and database that it was given. */
    run(format("printf '[elsewhere]\\nhost=127.0.0.1\\nport=1\\n' >'%s.service'", backup));
    run(format("PGHOSTADDR=127.0.0.2 PGSERVICE=elsewhere PGSERVICEFILE='%s.service'"
               " PGOPTIONS=-cnone=1 tools/backup '%s'",
               backup, backup));
    run(format("rm -r '%s' '%s.service'", backup, backup));
}

Test(backup, touches_no_folder_but_its_own)
{
    const char *backup = format("%s-beside", stack_setting("RUN_DIR"));

    run(format("mkdir '%s.new' && echo mine >'%s.new/file'", backup, backup));
    run(format("tools/backup '%s/' && [ -s '%s/conversations.backup' ]", backup, backup));
    run(format("[ \"$(cat '%s.new/file')\" = mine ] && rm -r '%s.new'", backup, backup));
    refused(format("RUN_DIR='%s' tools/backup '%s-none'", backup, backup), "no deployment");
    run(format("rm -r '%s' && ! ls -d '%s'*", backup, backup));
}

Test(backup, a_restore_does_not_touch_other_secrets)
{
    const char *backup = format("%s-theirs", stack_setting("RUN_DIR"));
    const char *folder = format("%s-ours", stack_setting("RUN_DIR"));

    run(format("tools/backup '%s'", backup));
    run(format("mkdir -p '%s/secrets' && echo ours >'%s/secrets/webhook-key'", folder, folder));
    refused(format("RUN_DIR='%s' tools/restore '%s'", folder, backup), "other secrets");
    run(format("[ \"$(cat '%s/secrets/webhook-key')\" = ours ]", folder));
    run(format("rm -r '%s' '%s'", backup, folder));
}

Test(backup, a_partly_restored_stack_does_not_start, .fini = stop)
{
    const char *backup = format("%s-half", stack_setting("RUN_DIR"));
    const char *restored = format("%s-half-restored", stack_setting("RUN_DIR"));

    run(format("tools/backup '%s' && cp -a '%s' '%s-whole'", backup, backup, backup));
    run(format("truncate -s -4096 '%s/conversations.backup'", backup));
    move_to(restored);
    refused(format("tools/restore '%s'", backup), "could not be restored");
    refused("deploy/local/stack up", "partly restored");
    run(format("tools/restore '%s-whole' && deploy/local/stack up >/dev/null", backup));
}
