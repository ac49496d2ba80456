#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/dashboard/deployment.h"

#define ID(n) "0199a000-0000-7000-8000-00000000000" #n

static struct deployment_state state;

static void note(const char *name, const char *id, const char *data)
{
    char reply[512];

    snprintf(reply, sizeof(reply), "{\"name\":\"%s\",\"id\":\"%s\",\"data\":%s}", name, id, data);
    deployment_state_note(&state, str_of(reply));
}

static const struct service_state *of(const char *name)
{
    const struct service_state *found = NULL;

    for (size_t i = 0; i < state.n_services; i++)
        if (strcmp(state.services[i].name, name) == 0)
            found = &state.services[i];
    cr_assert_not_null(found, "%s is not listed", name);
    return found;
}

static void begin(void)
{
    deployment_state_init(&state);
}

TestSuite(deployment_state, .init = begin);

Test(deployment_state, lists_every_service_before_any_has_replied)
{
    static const char *const names[] = {"access", "conversation", "search", "audit", "webhook"};

    cr_assert_eq(state.n_services, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        cr_expect_eq(of(names[i])->replicas, 0);
    cr_expect_not(deployment_state_is_complete(&state));
}

Test(deployment_state, is_complete_when_every_service_has_replied)
{
    static const char *const ids[] = {ID(1), ID(2), ID(3), ID(4), ID(5)};

    for (size_t i = 0; i < state.n_services; i++) {
        cr_expect_not(deployment_state_is_complete(&state));
        note(state.services[i].name, ids[i], "{\"database\":true}");
    }
    cr_expect(deployment_state_is_complete(&state));
}

Test(deployment_state, counts_replicas_and_those_that_can_work)
{
    note("search", ID(1), "{\"database\":true}");
    note("search", ID(2), "{\"database\":false}");
    cr_expect_eq(of("search")->replicas, 2);
    cr_expect_eq(of("search")->ready, 1);
    cr_expect_eq(of("audit")->replicas, 0);
}

Test(deployment_state, counts_a_replica_once)
{
    note("search", ID(1), "{\"database\":true}");
    note("search", ID(1), "{\"database\":true}");
    cr_expect_eq(of("search")->replicas, 1);
}

Test(deployment_state, has_the_lag_of_the_replica_that_is_furthest_behind)
{
    cr_expect_not(of("audit")->has_lag);
    note("audit", ID(1), "{\"database\":true,\"lag_s\":3}");
    note("audit", ID(2), "{\"database\":true,\"lag_s\":140}");
    note("audit", ID(3), "{\"database\":true,\"lag_s\":0}");
    cr_expect(of("audit")->has_lag);
    cr_expect_eq(of("audit")->lag_s, 140);
}

Test(deployment_state, calls_a_replica_that_does_not_say_so_not_ready)
{
    deployment_state_note(&state, STR("{\"name\":\"audit\",\"id\":\"" ID(1) "\"}"));
    cr_expect_eq(of("audit")->replicas, 1);
    cr_expect_eq(of("audit")->ready, 0);
}

Test(deployment_state, does_not_read_replies_of_others)
{
    static const char *const foreign[] = {
        "",
        "nothing of JSON",
        "[]",
        "{}",
        "{\"name\":7,\"id\":\"" ID(1) "\"}",
        "{\"name\":\"stranger\",\"id\":\"" ID(1) "\"}",
        "{\"name\":\"audit\",\"id\":\"one\"}",
        "{\"name\":\"audit\"}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
        deployment_state_note(&state, str_of(foreign[i]));
    cr_expect_eq(state.n_replicas, 0);
}

Test(deployment_state, reads_no_reply_that_is_too_long)
{
    static char reply[DEPLOYMENT_REPLY_MAX + 2];
    const int n = snprintf(reply, sizeof(reply), "{\"name\":\"audit\",\"id\":\"" ID(1) "\"}");

    memset(reply + n, ' ', sizeof(reply) - 1 - (size_t)n);
    deployment_state_note(&state, str_of(reply));
    cr_expect_eq(state.n_replicas, 0);
    reply[DEPLOYMENT_REPLY_MAX] = '\0';
    deployment_state_note(&state, str_of(reply));
    cr_expect_eq(state.n_replicas, 1);
}

Test(deployment_state, counts_so_many_replicas_and_no_more)
{
    char id[64];

    for (int i = 0; i < DEPLOYMENT_REPLICAS_MAX + 10; i++) {
        snprintf(id, sizeof(id), "0199a000-0000-7000-8000-%012x", (unsigned)i);
        note("search", id, "{\"database\":true}");
    }
    cr_expect_eq(of("search")->replicas, DEPLOYMENT_REPLICAS_MAX);
}

Test(deployment_state, is_written_without_ids)
{
    char *text;

    note("access", ID(1), "{\"database\":true}");
    note("audit", ID(2), "{\"database\":false,\"lag_s\":7}");
    text = deployment_state_write(&state, 1700000000);
    cr_expect_str_eq(text, "{\"as_of\":1700000000,\"services\":["
                           "{\"name\":\"access\",\"replicas\":1,\"ready\":1,\"lag_s\":null},"
                           "{\"name\":\"conversation\",\"replicas\":0,\"ready\":0,\"lag_s\":null},"
                           "{\"name\":\"search\",\"replicas\":0,\"ready\":0,\"lag_s\":null},"
                           "{\"name\":\"audit\",\"replicas\":1,\"ready\":0,\"lag_s\":7},"
                           "{\"name\":\"webhook\",\"replicas\":0,\"ready\":0,\"lag_s\":null}]}");
    free(text);
}
