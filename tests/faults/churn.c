#include "tests/faults/churn.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/faults/ask.h"
#include "tests/faults/history.h"
#include "tests/faults/workload.h"

enum {
    USES = 6,             /* before it is revoked, and at least as many after */
    USE_EVERY_MS = 120,   /* through the two gateways in turn */
    USED_AFTER_MS = 8000, /* a gateway that missed the notice refuses the key after 5 s */
    REVOKED_MAX = 16,     /* used again and again after that: more than a minute, for as long as a
                             gateway may use what it knows when it cannot reach access */
    ENDPOINT_EVERY = 4,
    RESPONSE_MS = 12000
};

static struct {
    const struct org *org;
    int org_number;
    const char *endpoint_url;
    atomic_bool stopping;
    pthread_t thread;
    struct http_connection connections[WORKLOAD_GATEWAYS];
    int n_uses;
    struct revoked {
        char token[64], id[37];
    } revoked[REVOKED_MAX];
    size_t n_revoked; /* all of them: the latest REVOKED_MAX are kept */
} churn;

static void use(const char *token, const char *key)
{
    const int gateway = churn.n_uses++ % WORKLOAD_GATEWAYS;
    const struct ask it = {.connection = &churn.connections[gateway],
                           .gateway = gateway,
                           .key = token,
                           .method = "GET",
                           .path = "/ping",
                           .timeout_ms = RESPONSE_MS};
    struct response response = ask(&it);

    ask_note("ping", churn.org_number, &it, &response,
             json_pack("{s:s, s:s}", "scope", "full", "key", key));
    poll(NULL, 0, USE_EVERY_MS);
}

/* Records what convctl did to a key, and between which times. */
static void note(const char *key, const char *state, int64_t begin_us, bool is_done)
{
    history_write(json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "type", "key", "key", key, "state",
                            state, "begin", (json_int_t)begin_us, "end",
                            (json_int_t)clock_mono_us(), "done", is_done ? 1 : 0));
}

static bool revoke(const char *id)
{
    const int64_t begin_us = clock_mono_us();
    json_t *revoked = convctl_if_possible("key", "revoke", "--org", churn.org->id, id, NULL);

    note(id, "revoked", begin_us, revoked != NULL);
    json_decref(revoked);
    return revoked != NULL;
}

static void use_revoked(void)
{
    for (size_t i = 0; i < REVOKED_MAX && i < churn.n_revoked && !churn.stopping; i++)
        use(churn.revoked[i].token, churn.revoked[i].id);
}

static void keep_revoked(const json_t *key)
{
    struct revoked *kept = &churn.revoked[churn.n_revoked++ % REVOKED_MAX];

    snprintf(kept->token, sizeof(kept->token), "%s", text_of(key, "token"));
    snprintf(kept->id, sizeof(kept->id), "%s", text_of(key, "id"));
}

static void have_key(void)
{
    const int64_t begin_us = clock_mono_us();
    json_t *key = convctl_if_possible("key", "create", "--org", churn.org->id, "--name", "churn",
                                      "--scope", "full", NULL);
    int64_t until_us;

    if (key == NULL) {
        poll(NULL, 0, USE_EVERY_MS);
        return;
    }
    note(text_of(key, "id"), "made", begin_us, true);
    for (int i = 0; i < USES; i++)
        use(text_of(key, "token"), text_of(key, "id"));
    while (!churn.stopping && !revoke(text_of(key, "id")))
        poll(NULL, 0, USE_EVERY_MS);
    until_us = clock_mono_us() + USED_AFTER_MS * 1000LL;
    while (!churn.stopping && clock_mono_us() < until_us)
        use(text_of(key, "token"), text_of(key, "id"));
    use_revoked();
    keep_revoked(key);
    json_decref(key);
}

static void have_endpoint(void)
{
    json_t *endpoint =
        convctl_if_possible("webhook", "create", "--org", churn.org->id, "--url",
                            churn.endpoint_url, "--event", "conversation.created", NULL);

    if (endpoint == NULL)
        return;
    while (!churn.stopping && !convctl_succeeds("webhook", "delete", "--org", churn.org->id,
                                                text_of(endpoint, "id"), NULL))
        poll(NULL, 0, USE_EVERY_MS);
    json_decref(endpoint);
}

static void *come_and_go(void *closure)
{
    (void)closure;
    for (int i = 0; !churn.stopping; i++) {
        have_key();
        if (i % ENDPOINT_EVERY == 0)
            have_endpoint();
    }
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        http_connection_close(&churn.connections[i]);
    return NULL;
}

void churn_start(const struct org *org, int org_number, const char *endpoint_url)
{
    churn.org = org;
    churn.org_number = org_number;
    churn.endpoint_url = endpoint_url;
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        churn.connections[i].fd = -1;
    cr_assert_eq(pthread_create(&churn.thread, NULL, come_and_go, NULL), 0);
}

void churn_stop(void)
{
    churn.stopping = true;
    pthread_join(churn.thread, NULL);
}
