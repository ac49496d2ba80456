/* Memory that responses have freed serves the next ones, without page faults (keep_freed_memory() in
   common/runtime/program.c). */
#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(freed_memory, .init = stack_have_alone);

enum {
    CLIENTS = 32,
    PAGES = 20,                      /* for each of them */
    FAULTS_MAX = CLIENTS * PAGES / 4 /* a gateway that returned memory had 1,068, and else 0 */
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
        expect_status(api_post(org->read_key, "/conversations/search",
                               "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                               "\"value\":\"u\"},\"pagination\":{\"per_page\":100}}"),
                      200);
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

/* The fewest of three rounds: in the first ones, more pages may be under way at once than before. */
static long fewest_faults(struct org *org, const char *process)
{
    const pid_t pid = stack_pid(process);
    long fewest = LONG_MAX;

    for (int round = 0; round < 3; round++) {
        const long before = faults_of(pid);
        long faults;

        read_at_once(org);
        faults = faults_of(pid) - before;
        fprintf(stderr, "%s: %ld page faults in %d pages\n", process, faults, CLIENTS * PAGES);
        fewest = faults < fewest ? faults : fewest;
    }
    return fewest;
}

Test(freed_memory, serves_the_next_pages)
{
    struct org org;

    make_pages(&org);
    read_at_once(&org);
    cr_expect_leq(fewest_faults(&org, "gateway-0"), FAULTS_MAX);
    cr_expect_leq(fewest_faults(&org, "search-0"), FAULTS_MAX);
}
