/* A gateway accepts connections only when it can serve them. */
#include <criterion/criterion.h>

#include "tests/support/api_client.h"
#include "tests/support/gateway_restart.h"
#include "tests/support/nats_server.h"
#include "tests/support/replica.h"

TestSuite(gateway_start, .init = stack_share);

enum { KILLS = 3, WITHIN_MS = 30000 };

Test(gateway_start, after_a_kill_no_client_is_refused)
{
    const struct gateway_restart all = gateway_restart_measure(KILLS);

    cr_expect_eq(all.n_refused, 0);
    cr_expect_eq(all.n_after_served, 0);
}

static int ping(const struct replica *gateway, const struct org *org)
{
    return http_send(&(struct client_request){.method = "GET",
                                              .base = gateway->base,
                                              .path = "/ping",
                                              .key = org->full_key,
                                              .may_fail = true})
        ->status;
}

static bool is_unready(void *gateway)
{
    return replica_ask(gateway, "/readyz")->status == 503;
}

Test(gateway_start, connections_are_refused_until_the_bus_has_answered_once)
{
    struct nats_server bus;
    struct replica gateway;
    struct org org;

    org_new(&org);
    nats_server_prepare(&bus, NULL);
    replica_launch_of(&gateway, "gateway",
                      (const char *const[]){format("NATS_URL=%s", bus.url), NULL});
    cr_assert(stack_wait(is_unready, &gateway, WITHIN_MS));
    cr_expect_eq(replica_ask(&gateway, "/servez")->status, 503);
    cr_expect_eq(ping(&gateway, &org), 0);
    nats_server_start(&bus);
    replica_await(&gateway);
    cr_expect_eq(ping(&gateway, &org), 503, "access is not running");
    nats_server_kill(&bus);
    cr_assert(stack_wait(is_unready, &gateway, WITHIN_MS));
    cr_expect_eq(ping(&gateway, &org), 503, "it keeps listening");
    cr_expect_eq(replica_ask(&gateway, "/servez")->status, 200, "/servez permits requests");
    nats_server_stop(&bus);
    replica_stop(&gateway);
}
