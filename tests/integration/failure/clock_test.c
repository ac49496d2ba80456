/* A gateway whose clock differs from that of access, of its database, or of both. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/bus.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_server.h"
#include "tests/support/replica.h"

TestSuite(clock, .init = stack_share);

enum { WITHIN_MS = 30000, TURN_MS = 5, FAR_MS = 10000 };

static const char checks[] = "conversations_gateway_clock_checks_total";
static const char from_access[] = "conversations_gateway_clock_skew_seconds{from=\"access\"}";
static const char from_database[] = "conversations_gateway_clock_skew_seconds{from=\"database\"}";

/* A stand-in for access, how far its clock and that of its database are ahead, and the gateway that
   asks it. */
struct clock_service {
    struct bus *bus;
    struct bus_mailbox *asked;
    int64_t ahead_ms, database_ahead_ms;
    bool knows_database;
    struct replica gateway;
    const char *expected; /* part of the gateway's /readyz */
};

static void answer(struct clock_service *service)
{
    struct bus_message *message;
    char now_ms[24], database_ms[24];
    const struct bus_header times[] = {{BUS_CLOCK_HEADER, now_ms},
                                       {BUS_DATABASE_CLOCK_HEADER, database_ms}};

    bus_wait(service->bus, TURN_MS);
    while ((message = bus_take(service->asked)) != NULL) {
        snprintf(now_ms, sizeof(now_ms), "%" PRId64, clock_us() / 1000 + service->ahead_ms);
        snprintf(database_ms, sizeof(database_ms), "%" PRId64,
                 clock_us() / 1000 + service->database_ahead_ms);
        cr_assert_eq(
            bus_reply(service->bus, message, times, service->knows_database ? 2 : 1, STR("{}")),
            ST_OK);
        bus_message_free(message);
    }
    (void)bus_flush(service->bus);
}

static bool shows(const struct clock_service *service, const char *gauge, int64_t ahead_ms)
{
    return llabs(replica_metric(&service->gateway, gauge) + ahead_ms / 1000) <= 1;
}

static bool shows_both(void *closure)
{
    struct clock_service *service = closure;
    const struct client_response *reply;

    answer(service);
    reply = replica_ask(&service->gateway, "/readyz");
    return reply->status != 0 && strstr(reply->body, service->expected) != NULL &&
           shows(service, from_access, service->ahead_ms) &&
           shows(service, from_database, service->database_ahead_ms);
}

/* The gauge shows that and /readyz says so, if the clocks are that far ahead. */
static void expect(struct clock_service *service, int64_t ahead_ms, int64_t database_ahead_ms,
                   const char *expected)
{
    service->ahead_ms = ahead_ms;
    service->database_ahead_ms = database_ahead_ms;
    service->expected = expected;
    cr_assert(stack_wait(shows_both, service, WITHIN_MS), "%s",
              replica_ask(&service->gateway, "/readyz")->body);
}

static const char unready[] = "its clock is more than 5 s from those of access and its database";

Test(clock, that_is_alone_makes_a_gateway_unready_until_it_is_set)
{
    struct clock_service service = {
        .ahead_ms = FAR_MS, .database_ahead_ms = FAR_MS, .knows_database = true};
    struct nats_server server;

    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
    service.bus = bus_connect(&(struct bus_options){.url = server.url, .name = "clock"});
    service.asked = bus_serve(service.bus, BUS_CLOCK_SUBJECT, "access");
    while (!bus_is_up(service.bus))
        bus_wait(service.bus, TURN_MS);
    replica_launch_of(&service.gateway, "gateway",
                      (const char *const[]){format("NATS_URL=%s", server.url), NULL});
    expect(&service, FAR_MS, FAR_MS, unready);
    expect(&service, FAR_MS, 0, "ok");
    expect(&service, -FAR_MS, -FAR_MS, unready);
    expect(&service, 0, -FAR_MS, "ok");
    service.knows_database = false; /* a replica may not know it now; others may know it again */
    expect(&service, FAR_MS, -FAR_MS, "ok");
    replica_stop(&service.gateway);
    bus_free(service.bus);
    nats_server_stop(&server);
}

static bool has_checked(void *gateway)
{
    return replica_metric(gateway, checks) > 0;
}

Test(clock, is_checked_against_that_of_access)
{
    struct replica gateway;

    replica_start(&gateway, (const char *const[]){NULL});
    cr_assert(stack_wait(has_checked, &gateway, WITHIN_MS));
    cr_expect_leq(llabs(replica_metric(&gateway, from_access)), 1);
    cr_expect_leq(llabs(replica_metric(&gateway, from_database)), 1);
    cr_expect_eq(replica_metric(&gateway, "conversations_bus_permission_violations_total"), 0);
    replica_stop(&gateway);
}
