/* A replica that alone is cut off from the database leaves the requests to the others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/replica.h"
#include "tests/support/tcp_proxy.h"

TestSuite(partition, .init = stack_have_alone);

enum {
    RATE = 100,
    SOME = 50, /* requests of the load */
    WITHIN_MS = 30000,
    COMMANDS = 10, /* to access, which no request of the load needs */
    /* Of a hundred requests between the cut and the moment at which nothing failed any more: those
       who are cut off get half of them until they have left. */
    FAIL_MAX = 50,
};

static const char *const cut_off[] = {"conversation", "search", "audit", "access"};

enum { ALL = 4, BUSY = 3 /* the first of them: under load each is asked many times a second */ };

struct side {
    struct tcp_proxy proxy;
    size_t n;
    struct replica replicas[ALL];
    struct replica gateway; /* gives up soon what is not answered */
    struct org org;
    struct load *load;
};

static void open_side(struct side *side, size_t n)
{
    const char *at = strchr(stack_setting("DATABASE_URL"), '@') + 1;
    const char *port = strchr(at, ':'), *database = strchr(at, '/');

    side->n = n;
    tcp_proxy_start(&side->proxy, (uint16_t)strtol(port + 1, NULL, 10));
    for (size_t i = 0; i < side->n; i++) {
        const char *url =
            replica_database_url(cut_off[i], format("127.0.0.1:%d%s", side->proxy.port, database));

        replica_launch_of(&side->replicas[i], cut_off[i],
                          (const char *const[]){format("DATABASE_URL=%s", url), NULL});
    }
    replica_start(&side->gateway, (const char *const[]){"COMMAND_TIMEOUT_MS=1000", NULL});
    for (size_t i = 0; i < side->n; i++)
        replica_await(&side->replicas[i]);
    org_new(&side->org);
    json_decref(convctl("org", "set", side->org.id, "--rate-limit", "100000", NULL));
    side->load = load_start_at(side->gateway.base, &side->org, RATE);
}

static void close_side(struct side *side)
{
    replicas_stop(side->replicas, side->n);
    replica_stop(&side->gateway);
    tcp_proxy_cut(&side->proxy);
}

static bool are_unready(void *closure)
{
    const struct side *side = closure;

    for (size_t i = 0; i < side->n; i++) {
        const struct client_response *readiness = replica_ask(&side->replicas[i], "/readyz");

        if (readiness->status != 503 || strstr(readiness->body, "database") == NULL)
            return false;
    }
    return true;
}

/* How many commands it has answered so far, however they ended. */
static long long answered(const struct replica *replica)
{
    long long sum = 0;

    for (const char *at = replica_metrics(replica);
         (at = strstr(at, "\nconversations_command_seconds_count{")) != NULL; at++)
        sum += strtoll(strchr(at, '}') + 1, NULL, 10);
    return sum;
}

struct standing {
    const struct side *side;
    long long before[ALL];
};

static void note(struct standing *standing, const struct side *side)
{
    standing->side = side;
    for (size_t i = 0; i < side->n; i++)
        standing->before[i] = answered(&side->replicas[i]);
}

static bool have_all_answered(void *closure)
{
    const struct standing *standing = closure;

    for (size_t i = 0; i < standing->side->n; i++) {
        json_decref(convctl("org", "get", standing->side->org.id, NULL));
        if (answered(&standing->side->replicas[i]) == standing->before[i])
            return false;
    }
    return true;
}

/* Requests and commands go on, and none of them gets any. */
static bool have_all_left(void *closure)
{
    struct standing *standing = closure;
    const struct side *side = standing->side;

    note(standing, side);
    cr_assert(load_await_served(side->load, SOME, WITHIN_MS), "requests still fail");
    for (int i = 0; i < COMMANDS; i++)
        if (!convctl_succeeds("org", "get", side->org.id, NULL))
            return false;
    for (size_t i = 0; i < side->n; i++)
        if (answered(&side->replicas[i]) != standing->before[i])
            return false;
    return true;
}

/* Cuts them off under load, holds the others to it that nothing fails once they have left, and
   mends the link: then they do their part again. */
static void split_under_load(size_t n, void (*cut_off_by)(struct tcp_proxy *),
                             void (*mend_by)(struct tcp_proxy *))
{
    struct side side;
    struct standing standing;
    int64_t cut_us, left_us;

    open_side(&side, n);
    note(&standing, &side);
    cr_assert(stack_wait(have_all_answered, &standing, WITHIN_MS), "one of them does nothing");
    cut_us = clock_mono_us();
    cut_off_by(&side.proxy);
    cr_assert(stack_wait(are_unready, &side, WITHIN_MS), "one of them notices nothing");
    cr_assert(stack_wait(have_all_left, &standing, WITHIN_MS), "one of them goes on");
    left_us = clock_mono_us();
    cr_assert(have_all_left(&standing), "one of them goes on");
    mend_by(&side.proxy);
    for (size_t i = 0; i < n; i++)
        replica_await(&side.replicas[i]);
    note(&standing, &side);
    cr_assert(stack_wait(have_all_answered, &standing, WITHIN_MS), "one of them does nothing");
    load_stop(side.load);
    fprintf(stderr, "%d of %d failed; the last %lld ms after the cut\n",
            load_failures(side.load, cut_us, left_us), load_sent(side.load, cut_us, left_us),
            load_last_failure_us(side.load) == 0
                ? 0LL
                : (load_last_failure_us(side.load) - cut_us) / 1000LL);
    cr_assert_lt(load_last_failure_us(side.load), left_us);
    cr_assert_eq(load_failures(side.load, 0, cut_us), 0, "a request failed before");
    cr_assert_leq(load_failures(side.load, cut_us, left_us) * 100,
                  load_sent(side.load, cut_us, left_us) * FAIL_MAX);
    load_check_consistency(side.load);
    close_side(&side);
}

Test(partition, a_link_that_is_cut_costs_requests_for_a_moment)
{
    split_under_load(ALL, tcp_proxy_cut, tcp_proxy_restore);
}

Test(partition, a_link_that_falls_silent_costs_what_was_under_way)
{
    split_under_load(BUSY, tcp_proxy_pause, tcp_proxy_resume);
}
