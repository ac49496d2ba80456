/* Two cells behind one gateway: only its own cell serves an organization, by API, dashboard and convctl, and a
 * failure of the other cell does not affect it. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/changes.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/nats_client.h"
#include "tests/support/own_stack.h"
#include "tests/support/postgres_server.h"
#include "tests/support/receiver.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(cells, .init = stack_have_alone);

enum { MAIN, SECOND, CELLS };

static const char *const names[CELLS] = {"main", "cell2"};

static void start(struct org orgs[CELLS])
{
    own_stack_start("cells", (const char *const[]){"CELLS=2", NULL});
    for (int cell = 0; cell < CELLS; cell++)
        org_new_in(&orgs[cell], names[cell]);
}

/* The organization's rows in the database of that cell. */
static int64_t rows_in(int cell, const struct org *org, const char *table)
{
    const char *const url =
        cell == MAIN ? stack_setting("DATABASE_URL") : own_stack_database_url(names[cell]);

    return postgres_integer(
        url, format("SELECT count(*) FROM %s WHERE organization_id = '%s'", table, org->id));
}

static void is_alone_in(int cell, const struct org *org, const char *table)
{
    cr_expect_gt(rows_in(cell, org, table), 0, "%s of %s", table, names[cell]);
    cr_expect_eq(rows_in(1 - cell, org, table), 0, "%s of %s", table, names[cell]);
}

static const char SEARCH[] =
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"user-1\"}}";

static void use_api(const struct org *org)
{
    const char *const id = new_conversation(org, "order-1", "user-1");
    struct client_response *found;

    expect_status(api_post(org->full_key, "/conversations",
                           "{\"external_id\":\"order-1\",\"from\":{\"external_id\":\"user-1\"}}"),
                  200);
    expect_status(read_conversation(org, id), 200);
    expect_status(api_put(org->full_key, format("/conversations/%s", id),
                          "{\"custom_attributes\":{\"plan\":\"gold\"}}"),
                  200);
    found = api_post(org->read_key, "/conversations/search", SEARCH);
    expect_status(found, 200);
    cr_expect_not_null(strstr(found->body, id));
    expect_status(api_get(org->full_key, "/ping"), 200);
    found = api_get(org->full_key, "/audit");
    expect_status(found, 200);
    cr_expect_not_null(strstr(found->body, "\"conversation.update\""));
}

static void use_dashboard(const struct org *org)
{
    struct dashboard_session session;
    struct client_response *shown;

    dashboard_client_new_user(&session, org->id, "owner");
    shown = dashboard_client_get(&session, "/data/conversations");
    expect_status(shown, 200);
    cr_expect_not_null(strstr(shown->body, "order-1"));
    expect_status(dashboard_client_get(&session, "/data/webhooks"), 200);
    shown = dashboard_client_get(&session, "/data/session");
    expect_status(shown, 200);
    cr_expect_null(strstr(shown->body, "cell"), "pages do not show cells");
}

static void use_convctl(const struct org *org, const char *cell)
{
    json_t *shown = convctl("org", "get", org->id, NULL);
    json_t *verified = convctl("audit", "verify", "--org", org->id, NULL);

    cr_expect_str_eq(json_string_value(json_object_get(shown, "cell")), cell);
    cr_expect(json_is_true(json_object_get(verified, "ok")));
    cr_expect_gt(json_integer_value(json_object_get(verified, "entries")), 0);
    json_decref(shown);
    json_decref(verified);
}

static void expect_listed(void)
{
    json_t *cells = convctl("cell", "list", NULL);

    cr_assert_eq(json_array_size(cells), 2);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(cells, 0), "name")), "cell2");
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(cells, 0), "organizations")), 1);
    json_decref(cells);
}

/* On a terminal, convctl shows each step of a move as it happens. */
static void expect_shows_steps(const struct org *org)
{
    static const char *const steps[] = {"copying from cell main to cell cell2", "tables are copied",
                                        "open in cell cell2",
                                        "deleting the rows in cell main in 0 seconds", "done"};
    char shown[16384];
    FILE *const terminal = popen(
        format(
            "script --quiet --return --command '\"%s/convctl\" cell move %s --to cell2 --grace 0'"
            " /dev/null </dev/null",
            stack_setting("BIN_DIR"), org->id),
        "r");
    const char *next = shown;

    cr_assert_not_null(terminal);
    shown[fread(shown, 1, sizeof(shown) - 1, terminal)] = '\0';
    cr_expect_eq(pclose(terminal), 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps) && next != NULL; i++) {
        next = strstr(next, steps[i]);
        cr_expect_not_null(next, "%s: %s", steps[i], shown);
    }
}

static void expect_usage_refused(const struct org *org)
{
    char code[64];

    cr_expect_eq(convctl_fails(code, "cell", "move", org->id, NULL), 2);
    cr_expect_str_eq(code, "usage");
    cr_expect_eq(
        convctl_fails(code, "cell", "move", org->id, "--to", "cell2", "--grace", "86401", NULL), 2);
    cr_expect_str_eq(code, "usage");
}

Test(cells, serve_their_own_organizations_in_every_way)
{
    struct org orgs[CELLS];
    char code[64];

    start(orgs);
    for (int cell = 0; cell < CELLS; cell++) {
        use_api(&orgs[cell]);
        use_dashboard(&orgs[cell]);
        use_convctl(&orgs[cell], names[cell]);
        is_alone_in(cell, &orgs[cell], "conversation.conversations");
        is_alone_in(cell, &orgs[cell], "audit.entries");
    }
    expect_listed();
    cr_expect_eq(convctl_fails(code, "org", "create", "--name", "x", "--cell", "cell3", NULL), 1);
    cr_expect_str_eq(code, "parameter_invalid");
    cr_expect_eq(convctl_fails(code, "audit", "verify", "--org",
                               "01920000-0000-7000-8000-000000000001", NULL),
                 1);
    cr_expect_str_eq(code, "not_found", "the directory is queried first");
    expect_usage_refused(&orgs[0]);
    expect_shows_steps(&orgs[0]);
    own_stack_stop();
}

Test(cells, deliver_the_events_of_their_organizations)
{
    struct receiver *receiver = receiver_start("good");
    struct webhook webhook;
    struct org orgs[CELLS];

    start(orgs);
    for (int cell = 0; cell < CELLS; cell++) {
        const char *const path = format("/%s", names[cell]);

        webhook_new(&orgs[cell], receiver_url(receiver, path), "conversation.created", &webhook);
        (void)new_conversation(&orgs[cell], "order-1", "user-1");
        receiver_await(receiver, path, 1, 10000);
        is_alone_in(cell, &orgs[cell], "webhook.endpoints");
    }
    own_stack_stop();
}

/* Signals a database with all its sessions: STOP or CONT. */
static void signal_database(const char *name, const char *signal)
{
    const int pid = (int)stack_pid(name);

    cr_assert_gt(pid, 1);
    cr_assert_eq(system(format("pkill -%s -P %d && kill -%s %d", signal, pid, signal, pid)), 0);
}

/* The status of a search in the second cell. The main cell serves meanwhile. */
static int status_of_second(const struct org orgs[CELLS])
{
    expect_status(api_post(orgs[MAIN].read_key, "/conversations/search", SEARCH), 200);
    expect_status(api_get(orgs[MAIN].full_key, "/ping"), 200);
    return api_post(orgs[SECOND].read_key, "/conversations/search", SEARCH)->status;
}

static bool second_is_gone(void *closure)
{
    return status_of_second(closure) == 503;
}

static bool second_is_back(void *closure)
{
    return status_of_second(closure) == 200;
}

Test(cells, are_not_affected_if_the_database_of_another_one_hangs)
{
    struct org orgs[CELLS];

    start(orgs);
    signal_database("cell2-postgres", "STOP");
    cr_expect(stack_wait(second_is_gone, orgs, 20000));
    cr_expect(second_is_gone(orgs));
    signal_database("cell2-postgres", "CONT");
    cr_expect(stack_wait(second_is_back, orgs, 30000));
    own_stack_stop();
}

static int64_t changes_in_outbox(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM access.outbox WHERE organization_id = $1::uuid",
                       org->id, NULL);
}

/* The changes of the older organization come first in the outbox, and the only access process has
   sent one of them to a service that does not answer. */
Test(cells, log_changes_although_the_audit_service_of_another_one_hangs)
{
    struct org orgs[CELLS], younger;
    int64_t waiting;

    start(orgs);
    org_new_in(&younger, names[MAIN]);
    changes_await(orgs[SECOND].id);
    changes_await(younger.id);
    stack_signal("cell2-audit-0", SIGSTOP);
    json_decref(
        convctl("key", "create", "--org", orgs[SECOND].id, "--name", "x", "--scope", "read", NULL));
    for (int i = 0; i < 5; i++)
        json_decref(
            convctl("key", "create", "--org", younger.id, "--name", "x", "--scope", "read", NULL));
    changes_await(younger.id);
    waiting = changes_in_outbox(&orgs[SECOND]);
    cr_expect_geq(waiting, 1, "%lld", (long long)waiting);
    stack_signal("cell2-audit-0", SIGCONT);
    changes_await(orgs[SECOND].id);
    own_stack_stop();
}

Test(cells, have_users_with_rights_only_in_their_own_cell)
{
    struct nats_client second;
    struct org orgs[CELLS];

    start(orgs);
    cr_assert(nats_client_open(&second, atoi(strrchr(stack_setting("NATS_URL"), ':') + 1),
                               "cell2-conversation",
                               own_stack_read("secrets/bus-cell2-conversation")));
    cr_expect(nats_client_may_subscribe(&second, "v1.cell2.conversation.create", "conversation"));
    cr_expect_not(nats_client_may_subscribe(&second, "v1.conversation.create", "conversation"));
    cr_expect_not(nats_client_may_subscribe(&second, "v1.cell2.audit.append", "audit"));
    cr_expect(nats_client_may_publish(&second, "v1.cell2.notice.events"));
    cr_expect_not(nats_client_may_publish(&second, "v1.notice.events"));
    cr_expect_not(nats_client_may_publish(&second, "v1.cell2.conversation.create"));
    nats_client_close(&second);
    own_stack_stop();
}
