/* A replica that alone is cut off from the database leaves the requests to the others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api.h"
#include "tests/support/lenient.h"
#include "tests/support/load.h"
#include "tests/support/relay.h"
#include "tests/support/replica.h"

TestSuite(split, .init = stack_have_alone, .timeout = 240);

enum {
    RATE = 100,
    WITHIN_MS = 20000,
    CUT_SEEN_MS = 1000,     /* half of it is the machine's */
    SILENCE_SEEN_MS = 8000, /* a command's 3 s, a second more, and as much for the machine */
    LEFT_MS = 1000,         /* after 250 ms without a database */
    WATCHED_MS = 2000,
};

static const char *const cut_off[] = {"conversation", "search", "audit", "access"};

enum { ALL = 4, BUSY = 3 /* the first of them: under load each is asked many times a second */ };

struct side {
    struct relay relay;
    size_t n;
    struct replica replicas[ALL];
    struct org org;
};

static void open_side(struct side *side, size_t n)
{
    const char *at = strchr(stack_setting("DATABASE_URL"), '@') + 1;
    const char *port = strchr(at, ':'), *database = strchr(at, '/');

    side->n = n;
    relay_start(&side->relay, (uint16_t)strtol(port + 1, NULL, 10));
    for (size_t i = 0; i < side->n; i++) {
        const char *url =
            replica_database_url(cut_off[i], format("127.0.0.1:%d%s", side->relay.port, database));

        replica_start_of(&side->replicas[i], cut_off[i],
                         (const char *const[]){format("DATABASE_URL=%s", url), NULL});
    }
    org_new(&side->org);
    json_decref(convctl("org", "set", side->org.id, "--rate-limit", "100000", NULL));
}

static void close_side(struct side *side)
{
    for (size_t i = 0; i < side->n; i++)
        replica_stop(&side->replicas[i]);
    relay_cut(&side->relay);
}

static bool is_over(void *closure)
{
    return clock_mono_us() >= *(const int64_t *)closure;
}

/* Lets the load run on. */
static void pass(int64_t ms)
{
    int64_t until_us = clock_mono_us() + ms * 1000;

    stack_wait(is_over, &until_us, (int)ms + 1000);
}

static bool are_unready(void *closure)
{
    const struct side *side = closure;

    for (size_t i = 0; i < side->n; i++) {
        const struct answer *readiness = replica_ask(&side->replicas[i], "/readyz");

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

/* Cuts them off under load, holds the others to it that nothing fails once they have left, and
   mends the link: then they do their part again. */
static void split_under_load(size_t n, void (*cut_off_by)(struct relay *),
                             void (*mend_by)(struct relay *), int seen_within_ms)
{
    struct side side;
    struct standing standing;
    struct load *load;
    int64_t cut_us, left_us;

    open_side(&side, n);
    load = load_start(&side.org, RATE);
    note(&standing, &side);
    cr_assert(stack_wait(have_all_answered, &standing, WITHIN_MS), "one of them does nothing");
    cut_us = clock_mono_us();
    cut_off_by(&side.relay);
    cr_assert(stack_wait(are_unready, &side, (int)lenient(seen_within_ms)),
              "one of them notices nothing");
    pass(lenient(LEFT_MS));
    left_us = clock_mono_us();
    note(&standing, &side);
    pass(WATCHED_MS);
    for (int i = 0; i < 20; i++)
        json_decref(convctl("org", "get", side.org.id, NULL));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(answered(&side.replicas[i]), standing.before[i], "%s goes on", cut_off[i]);
    mend_by(&side.relay);
    for (size_t i = 0; i < n; i++)
        replica_await(&side.replicas[i]);
    cr_assert(stack_wait(have_all_answered, &standing, WITHIN_MS), "one of them does nothing");
    load_stop(load);
    fprintf(stderr, "%d requests; the last failure %lld ms after the cut\n", load_count(load),
            load_last_failure_us(load) == 0 ? 0LL : (load_last_failure_us(load) - cut_us) / 1000LL);
    cr_assert_lt(load_last_failure_us(load), left_us);
    load_reckon(load);
    close_side(&side);
}

Test(split, a_link_that_is_cut_costs_requests_for_a_moment)
{
    split_under_load(ALL, relay_cut, relay_mend, CUT_SEEN_MS);
}

Test(split, a_link_that_falls_silent_costs_what_was_under_way)
{
    split_under_load(BUSY, relay_hang, relay_go_on, SILENCE_SEEN_MS);
}
