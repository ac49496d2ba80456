/* Memory that responses have freed serves the next ones, without page faults (keep_freed_memory() in
   common/runtime/program.c). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "common/base/str.h"
#include "tests/support/large_pages.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"

TestSuite(freed_memory, .init = stack_have_alone);

enum {
    CLIENTS = 32,
    PAGES = 20,                      /* for each of them */
    FAULTS_MAX = CLIENTS * PAGES / 4 /* without keep_freed_memory() the gateway had 1,068 or more */
};

/* Page faults of a process that needed no disk. */
static long faults_of(pid_t pid)
{
    FILE *file = fopen(format("/proc/%d/stat", (int)pid), "re");
    long faults = -1;

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %ld", &faults), 1);
    fclose(file);
    return faults;
}

static void *read_pages(void *closure)
{
    const struct org *org = closure;

    for (int i = 0; i < PAGES; i++)
        expect_status(api_post(org->read_key, "/conversations/search", LARGE_PAGE_SEARCH), 200);
    return NULL;
}

static void read_at_once(struct org *org)
{
    pthread_t clients[CLIENTS];

    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        cr_assert_eq(pthread_create(&clients[i], NULL, read_pages, org), 0);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
        pthread_join(clients[i], NULL);
}

/* A contact with a hundred conversations: pages of 80 KB. */
static void make_pages(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "1000000", NULL));
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id, "
                    "external_id, contact_id, channel, status, custom_attributes, created_at, "
                    "updated_at) SELECT c.organization_id, gen_random_uuid(), 'e' || i, "
                    "c.contact_id, 'api', 'active', jsonb_build_object('k', repeat('v', 400)), "
                    "c.created_at, c.created_at FROM conversation.conversations c, "
                    "generate_series(2, 100) i WHERE c.organization_id = $1::uuid RETURNING 1) "
                    "SELECT count(*) FROM made",
                    org->id, NULL),
        99);
}

/* The fewest faults of three rounds: in one, more pages may be under way at once than before. */
Test(freed_memory, serves_the_next_pages)
{
    static const char *const processes[] = {"gateway-0", "search-0"};
    enum { ROUNDS = 3 };
    int64_t faults[ARRAY_SIZE(processes)][ROUNDS];
    struct org org;

    make_pages(&org);
    read_at_once(&org);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
            faults[i][round] = -faults_of(stack_pid(processes[i]));
        read_at_once(&org);
        for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
            faults[i][round] += faults_of(stack_pid(processes[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
        const int64_t fewest = percentile(faults[i], ROUNDS, 0);

        fprintf(stderr, "%s: %" PRId64 " page faults in %d pages\n", processes[i], fewest,
                CLIENTS * PAGES);
        cr_expect_leq(fewest, FAULTS_MAX);
    }
}
