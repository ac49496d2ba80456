/* A database whose name a service cannot look up, because the name servers keep silent. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/measure.h"
#include "tests/support/own_names.h"
#include "tests/support/postgres_server.h"
#include "tests/support/second_deployment.h"

TestSuite(names, .init = stack_have_alone);

enum {
    WITHIN_MS = 30000,
    AWAY_MS = 4000, /* longer than a lookup takes to fail */
    HEALED_US = 1500 * 1000,
    ANSWERED_US = 300 * 1000, /* far sooner than by waiting for a reply */
};

#define LOCALHOST   "127.0.0.1 localhost\n"
#define WITH_NAME   LOCALHOST "127.0.0.1 db.test\n"
#define NAME_SERVER "127.66.0.2" /* it receives questions and never answers */

struct reader {
    const struct org *org;
    const struct replica *gateway;
    const char *id;
};

static struct client_response *read_one(const struct reader *reader)
{
    return http_send(&(struct client_request){.method = "GET",
                                              .base = reader->gateway->base,
                                              .path = format("/conversations/%s", reader->id),
                                              .key = reader->org->read_key});
}

static bool is_read(void *closure)
{
    return read_one(closure)->status == 200;
}

static bool is_refused_at_once(void *closure)
{
    const struct client_response *response = read_one(closure);

    return response->status == 503 && response->took_us < ANSWERED_US;
}

static bool is_unready(void *closure)
{
    return replica_ask(closure, "/readyz")->status == 503;
}

/* The programs whose database has a name, and what they do while it is not looked up. */
static void expect_away(struct reader *reader, struct replica *conversation)
{
    const int64_t until_us = clock_mono_us() + AWAY_MS * INT64_C(1000);

    cr_assert(stack_wait(is_refused_at_once, reader, WITHIN_MS));
    cr_assert(stack_wait(is_unready, conversation, WITHIN_MS));
    while (clock_mono_us() < until_us) {
        const struct client_response *response = read_one(reader);

        expect_error(response, 503, "service_unavailable", "*");
        cr_expect_lt(response->took_us, limit_scaled(ANSWERED_US),
                     "it has left its queue group, so nothing waits for a reply");
        expect_status(replica_ask(conversation, "/livez"), 200);
        expect_status(replica_ask(conversation, "/readyz"), 503);
    }
}

Test(names, a_database_whose_name_is_slow_to_fail_is_used_again_as_soon_as_it_returns)
{
    struct second_deployment deployment;
    struct replica access, conversation, gateway;
    struct org org;
    struct reader reader = {&org, &gateway, NULL};
    int64_t returned_us, away_us;

    own_names(WITH_NAME, NAME_SERVER);
    org_new(&org);
    /* It reads without pauses; and a refusal would be a 503, too, as nothing stores its entry. */
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    reader.id = new_conversation(&org, "e", "ada");
    second_deployment_open(&deployment);
    second_deployment_start(&deployment, &access, "access", NULL, NULL);
    second_deployment_start(
        &deployment, &conversation, "conversation",
        format("DATABASE_URL=%s",
               replica_database_url("conversation",
                                    format("db.test:%u/conversations", deployment.database.port))),
        NULL);
    replica_start(&gateway, (const char *const[]){format("NATS_URL=%s", deployment.bus.url), NULL});
    cr_assert(stack_wait(is_read, &reader, WITHIN_MS));

    own_names_hosts(LOCALHOST);
    postgres_server_crash(&deployment.database);
    expect_away(&reader, &conversation);
    postgres_server_start(&deployment.database);
    own_names_hosts(WITH_NAME);
    returned_us = clock_mono_us();
    cr_assert(stack_wait(is_read, &reader, WITHIN_MS));
    away_us = clock_mono_us() - returned_us;
    cr_expect_lt(away_us, limit_scaled(HEALED_US));
    fprintf(stderr, "served %lld ms after the name returned\n", (long long)away_us / 1000);

    replicas_stop((struct replica[]){gateway, conversation, access}, 3);
    second_deployment_close(&deployment);
}
