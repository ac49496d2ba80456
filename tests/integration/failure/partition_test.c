/* A replica that is cut off from the database leaves the requests to the others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"
#include "tests/support/tcp_proxy.h"

TestSuite(partition, .init = stack_have_alone);

enum {
    RATE = 100,
    SOME = 50, /* requests of the load */
    WITHIN_MS = 30000,
    COMMANDS = 10, /* to access, which no request of the load needs */
    /* Percent of the requests from the cut until all replicas that are cut off have left: until
       then, they get half of the requests. */
    FAIL_MAX = 50,
    /* By which limits are scaled with a sanitizer: then a request may fail for want of time. */
    SANITIZED = 10,
};

static const char *const cut_off[] = {"conversation", "search", "audit", "access"};

enum { ALL = 4, BUSY = 3 /* the first three: under load, each gets many commands a second */ };

struct partition {
    struct tcp_proxy proxy;
    size_t n;
    struct replica replicas[ALL];
    struct org org;
    struct load *load;
};

static void open_partition(struct partition *partition, size_t n)
{
    const char *at = strchr(stack_setting("DATABASE_URL"), '@') + 1;
    const char *port = strchr(at, ':'), *database = strchr(at, '/');

    partition->n = n;
    tcp_proxy_start(&partition->proxy, (uint16_t)strtol(port + 1, NULL, 10));
    for (size_t i = 0; i < partition->n; i++) {
        const char *url = replica_database_url(
            cut_off[i], format("127.0.0.1:%d%s", partition->proxy.port, database));

        replica_launch_of(&partition->replicas[i], cut_off[i],
                          (const char *const[]){format("DATABASE_URL=%s", url), NULL});
    }
    for (size_t i = 0; i < partition->n; i++)
        replica_await(&partition->replicas[i]);
    org_new(&partition->org);
    json_decref(convctl("org", "set", partition->org.id, "--rate-limit", "100000", NULL));
    partition->load = load_start(&partition->org, RATE);
}

static void close_partition(struct partition *partition)
{
    replicas_stop(partition->replicas, partition->n);
    tcp_proxy_cut(&partition->proxy);
}

static bool are_unready(void *closure)
{
    const struct partition *partition = closure;

    for (size_t i = 0; i < partition->n; i++) {
        const struct client_response *readiness = replica_ask(&partition->replicas[i], "/readyz");

        if (readiness->status != 503 || strstr(readiness->body, "database") == NULL)
            return false;
    }
    return true;
}

/* How many commands the replica has answered so far, with any outcome. */
static long long answered(const struct replica *replica)
{
    long long sum = 0;

    for (const char *at = replica_metrics(replica);
         (at = strstr(at, "\nconversations_command_seconds_count{")) != NULL; at++)
        sum += strtoll(strchr(at, '}') + 1, NULL, 10);
    return sum;
}

struct snapshot {
    const struct partition *partition;
    long long before[ALL];
};

static void take_snapshot(struct snapshot *snapshot, const struct partition *partition)
{
    snapshot->partition = partition;
    for (size_t i = 0; i < partition->n; i++)
        snapshot->before[i] = answered(&partition->replicas[i]);
}

static bool have_all_answered(void *closure)
{
    const struct snapshot *snapshot = closure;

    for (size_t i = 0; i < snapshot->partition->n; i++) {
        json_decref(convctl("org", "get", snapshot->partition->org.id, NULL));
        if (answered(&snapshot->partition->replicas[i]) == snapshot->before[i])
            return false;
    }
    return true;
}

/* Requests and commands succeed, and none goes to a replica that is cut off. */
static bool have_all_left(void *closure)
{
    struct snapshot *snapshot = closure;
    const struct partition *partition = snapshot->partition;

    take_snapshot(snapshot, partition);
    cr_assert(load_await_served(partition->load, SOME, WITHIN_MS), "requests still fail");
    for (int i = 0; i < COMMANDS; i++)
        if (!convctl_succeeds("org", "get", partition->org.id, NULL))
            return false;
    for (size_t i = 0; i < partition->n; i++)
        if (answered(&partition->replicas[i]) != snapshot->before[i])
            return false;
    return true;
}

/* Cuts replicas off under load, checks that nothing fails once they have left, and mends the link:
   then they take commands again. */
static void split_under_load(size_t n, void (*cut_off_by)(struct tcp_proxy *),
                             void (*mend_by)(struct tcp_proxy *))
{
    struct partition partition;
    struct snapshot snapshot;
    int64_t cut_us, left_us;

    open_partition(&partition, n);
    take_snapshot(&snapshot, &partition);
    cr_assert(stack_wait(have_all_answered, &snapshot, WITHIN_MS), "a replica answers nothing");
    cut_us = clock_mono_us();
    cut_off_by(&partition.proxy);
    cr_assert(stack_wait(are_unready, &partition, WITHIN_MS), "a replica stays ready");
    cr_assert(stack_wait(have_all_left, &snapshot, WITHIN_MS), "a replica still answers");
    left_us = clock_mono_us();
    cr_assert(have_all_left(&snapshot), "a replica still answers");
    mend_by(&partition.proxy);
    for (size_t i = 0; i < n; i++)
        replica_await(&partition.replicas[i]);
    take_snapshot(&snapshot, &partition);
    cr_assert(stack_wait(have_all_answered, &snapshot, WITHIN_MS), "a replica answers nothing");
    load_stop(partition.load);
    fprintf(stderr, "%d of %d failed; the last %lld ms after the cut\n",
            load_failures(partition.load, cut_us, left_us),
            load_sent(partition.load, cut_us, left_us),
            load_last_failure_us(partition.load) == 0
                ? 0LL
                : (load_last_failure_us(partition.load) - cut_us) / 1000LL);
    load_tell_failures(partition.load, left_us);
    cr_assert_leq(load_failures(partition.load, left_us, INT64_MAX), limit_scaled(1) / SANITIZED,
                  "requests failed after that, the last one after %lld ms",
                  (long long)(load_last_failure_us(partition.load) - left_us) / 1000);
    cr_assert_eq(load_failures(partition.load, 0, cut_us), 0, "a request failed before");
    cr_assert_leq(load_failures(partition.load, cut_us, left_us) * 100,
                  load_sent(partition.load, cut_us, left_us) * FAIL_MAX);
    load_check_consistency(partition.load);
    close_partition(&partition);
}

Test(partition, a_link_that_is_cut_costs_requests_for_a_moment)
{
    split_under_load(ALL, tcp_proxy_cut, tcp_proxy_restore);
}

Test(partition, a_silent_link_fails_only_the_requests_in_flight)
{
    split_under_load(BUSY, tcp_proxy_pause, tcp_proxy_resume);
}
