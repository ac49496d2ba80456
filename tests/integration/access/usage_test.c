/* Usage of keys: counted apart from the requests' own work; none is lost or counted twice. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "common/base/clock.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

static void open_alone(void)
{
    stack_have_alone();
    service_connection = service_client_open();
}

static int send(const struct replica *gateway, const char *method, const char *path,
                const char *key, const char *body)
{
    return http_send(
               &(struct client_request){
                   .method = method, .base = gateway->base, .path = path, .key = key, .body = body})
        ->status;
}

static json_t *usage(const struct org *org)
{
    long long now = (long long)(clock_us() / 1000000);

    return service_client_get(service_connection, SUBJECT_USAGE_READ, org->id,
                              "{\"since\":%lld,\"until\":%lld,\"step\":60}", now - 600, now + 60);
}

static long long sum(const json_t *usage, const char *what)
{
    const json_t *points = json_object_get(usage, "points"), *point;
    long long n = 0;
    size_t i;

    json_array_foreach(points, i, point) n += json_integer_value(json_object_get(point, what));
    return n;
}

struct awaited {
    const struct org *org;
    long long requests;
};

static bool are_noted(void *closure)
{
    const struct awaited *awaited = closure;

    return sql_integer("SELECT coalesce(sum(n), 0) FROM access.usage, unnest(latency) AS n"
                       " WHERE organization_id = $1::uuid",
                       awaited->org->id, NULL) == awaited->requests;
}

/* Waits until so many requests are recorded, each with its latency. */
static bool await_noted(const struct org *org, long long requests)
{
    return stack_wait(are_noted, &(struct awaited){org, requests}, 40000);
}

Test(usage, is_as_many_of_each_outcome_as_there_were_requests, .init = service_connection_open,
     .fini = service_connection_close)
{
    struct org org;
    struct replica gateway;
    json_t *told, *keys;

    org_new(&org);
    replica_start(&gateway, (const char *const[]){NULL});
    for (int i = 0; i < 7; i++)
        cr_assert_eq(send(&gateway, "GET", "/ping", org.full_key, NULL), 200);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(send(&gateway, "POST", "/conversations", org.read_key, "{}"), 403);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(send(&gateway, "GET", "/conversations/none", org.read_key, NULL), 404);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "1", NULL));
    int limited = 0, allowed = 7;
    for (int i = 0; i < 4 || limited == 0; i++)
        switch (send(&gateway, "GET", "/ping", org.full_key, NULL)) {
        case 200:
            allowed++;
            break;
        case 429:
            limited++;
            break;
        default:
            cr_assert_fail("neither served nor limited");
        }
    cr_assert_eq(send(&gateway, "GET", "/ping", "svc_live_nobody", NULL), 401);
    replica_stop(&gateway); /* it reports the rest first */
    cr_assert(await_noted(&org, allowed + 5 + 3 + limited));

    told = usage(&org);
    cr_expect_eq(sum(told, "allowed"), allowed);
    cr_expect_eq(sum(told, "denied"), 5);
    cr_expect_eq(sum(told, "rejected"), 3);
    cr_expect_eq(sum(told, "limited"), limited);
    cr_expect_eq(sum(told, "error"), 0);
    keys = json_object_get(told, "keys");
    cr_assert_eq(json_array_size(keys), 2);
    cr_expect_eq(reply_integer(keys, "[0].limit_per_minute"), 6);
    cr_expect_eq(json_array_size(json_object_get(json_array_get(keys, 0), "points")),
                 json_array_size(json_object_get(told, "points")));
}

/* Kills access each time it is back, until a report of the gateway has failed. */
static bool is_kept(void *closure)
{
    static pid_t killed;
    pid_t pid;

    if (replica_metric(closure, "conversations_gateway_usage_reports_failed_total") > 0)
        return true;
    pid = stack_pid("access-0");
    if (pid > 1 && pid != killed && kill(pid, SIGKILL) == 0)
        killed = pid;
    return false;
}

/* False: access was killed in the middle of a report, which may be lost then. */
static bool keeps_a_report(struct org *org)
{
    struct replica gateway;
    bool is_certain;

    replica_start(&gateway, (const char *const[]){NULL}); /* ready once access is back */
    org_new(org);
    cr_assert_eq(send(&gateway, "GET", "/ping", org->full_key, NULL), 200);
    stack_signal("access-0", SIGKILL);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(send(&gateway, "GET", "/ping", org->full_key, NULL), 200);
    cr_assert(stack_wait(is_kept, &gateway, 30000));
    is_certain =
        replica_metric(&gateway, "conversations_gateway_usage_reports_uncertain_total") == 0;
    if (is_certain)
        cr_assert(await_noted(org, 21), "reported once access is back");
    replica_stop(&gateway);
    return is_certain;
}

Test(usage, is_kept_by_gateways_while_access_is_away, .init = open_alone,
     .fini = service_connection_close)
{
    enum { ATTEMPTS = 5 };
    struct org org;
    int n = 1;

    while (!keeps_a_report(&org))
        cr_assert_lt(n++, ATTEMPTS);
    cr_assert_eq(sum(usage(&org), "allowed"), 21);
}
