/* How processes start without what they need, grow in number, and end. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/api.h"
#include "tests/support/load.h"
#include "tests/support/nats_server.h"
#include "tests/support/replica.h"

TestSuite(lifecycle, .init = stack_have_alone, .timeout = 240);

enum { WITHIN_MS = 20000 };

static const char *const all[] = {"gateway", "dashboard", "access", "conversation",
                                  "search",  "audit",     "webhook"};
static const char *const with_database[] = {"access", "conversation", "search", "audit", "webhook"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct expected {
    const struct replica *replica;
    const char *reason;
};

static bool lives_unready(void *closure)
{
    const struct expected *expected = closure;
    const struct answer *readiness = replica_ask(expected->replica, "/readyz");

    return readiness->status == 503 && strstr(readiness->body, expected->reason) != NULL &&
           replica_ask(expected->replica, "/livez")->status == 200;
}

static void expect_unready(const struct replica *replica, const char *reason)
{
    struct expected expected = {replica, reason};

    cr_assert(stack_wait(lives_unready, &expected, WITHIN_MS), "port %d says %s", replica->port,
              replica_ask(replica, "/readyz")->body);
}

Test(lifecycle, without_a_bus_everything_waits_for_it)
{
    struct nats_server bus;
    struct replica replicas[COUNT(all)];

    nats_server_prepare(&bus, NULL);
    for (size_t i = 0; i < COUNT(all); i++)
        replica_launch_of(&replicas[i], all[i],
                          (const char *const[]){format("NATS_URL=%s", bus.url), NULL});
    for (size_t i = 0; i < COUNT(all); i++)
        expect_unready(&replicas[i], "bus");
    nats_server_start(&bus);
    for (size_t i = 0; i < COUNT(all); i++)
        replica_await(&replicas[i]);
    for (size_t i = 0; i < COUNT(all); i++)
        replica_stop(&replicas[i]);
    nats_server_stop(&bus);
}

Test(lifecycle, without_a_database_services_say_so_and_still_end_when_told)
{
    struct replica replicas[COUNT(with_database)];

    for (size_t i = 0; i < COUNT(with_database); i++)
        replica_launch_of(
            &replicas[i], with_database[i],
            (const char *const[]){"DATABASE_URL=postgresql://127.0.0.1:1/none", NULL});
    for (size_t i = 0; i < COUNT(with_database); i++)
        expect_unready(&replicas[i], "database");
    for (size_t i = 0; i < COUNT(with_database); i++)
        replica_stop(&replicas[i]);
}

Test(lifecycle, a_setting_that_is_wrong_ends_a_program_at_once)
{
    for (size_t i = 0; i < COUNT(all); i++) {
        struct replica replica;

        replica_launch_of(&replica, all[i], (const char *const[]){"ADMIN_PORT=many", NULL});
        cr_assert_eq(replica_await_end(&replica), 1, "%s", all[i]);
    }
}

Test(lifecycle, growing_to_five_and_back_costs_no_request)
{
    static const char *const grown[] = {"conversation", "search", "audit", "access"};
    struct replica more[COUNT(grown)][4];
    struct org org;
    struct load *load;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    load = load_start(&org, 100);
    for (size_t i = 0; i < COUNT(grown); i++)
        for (size_t j = 0; j < COUNT(more[i]); j++)
            replica_start_of(&more[i][j], grown[i], (const char *const[]){NULL});
    for (size_t i = 0; i < COUNT(grown); i++)
        for (size_t j = 0; j < COUNT(more[i]); j++)
            replica_stop(&more[i][j]);
    load_stop(load);
    cr_assert_gt(load_count(load), 50);
    cr_assert_eq(load_last_failure_us(load), 0, "a request failed");
    load_reckon(load);
}
