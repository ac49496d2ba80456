#include "services/dashboard/deployment.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/json/json.h"

/* -- replies --------------------------------------------------------------------------------- */

void deployment_state_init(struct deployment_state *state)
{
    *state = (struct deployment_state){.n_services = 0};
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++)
        if (bus_user_answers(user))
            state->services[state->n_services++].name = bus_user_name(user);
}

static struct service_state *service_of(struct deployment_state *state, struct str name)
{
    for (size_t i = 0; i < state->n_services; i++)
        if (str_equal(name, str_of(state->services[i].name)))
            return &state->services[i];
    return NULL;
}

static bool is_counted(const struct deployment_state *state, const struct uuid *id)
{
    for (size_t i = 0; i < state->n_replicas; i++)
        if (memcmp(&state->replicas[i], id, sizeof(*id)) == 0)
            return true;
    return false;
}

static void count(struct service_state *service, const json_t *data)
{
    const json_t *lag = json_object_get(data, "lag_s");

    service->replicas++;
    service->ready += json_is_true(json_object_get(data, "database"));
    if (!json_is_integer(lag))
        return;
    if (!service->has_lag || json_integer_value(lag) > service->lag_s)
        service->lag_s = json_integer_value(lag);
    service->has_lag = true;
}

void deployment_state_note(struct deployment_state *state, struct str reply)
{
    struct service_state *service;
    struct uuid id;
    json_t *stats;

    if (reply.n > DEPLOYMENT_REPLY_MAX || state->n_replicas == DEPLOYMENT_REPLICAS_MAX ||
        !json_read(reply, &stats, NULL))
        return;
    service = service_of(state, json_member_text(stats, "name"));
    if (service != NULL && uuid_parse(json_member_text(stats, "id"), &id) &&
        !is_counted(state, &id)) {
        state->replicas[state->n_replicas++] = id;
        count(service, json_object_get(stats, "data"));
    }
    json_free(stats);
}

bool deployment_state_is_complete(const struct deployment_state *state)
{
    for (size_t i = 0; i < state->n_services; i++)
        if (state->services[i].replicas == 0)
            return false;
    return true;
}

char *deployment_state_write(const struct deployment_state *state, int64_t as_of_s)
{
    json_t *services = json_array(), *all;
    char *text;

    for (size_t i = 0; i < state->n_services; i++) {
        const struct service_state *one = &state->services[i];

        json_array_append_new(services,
                              json_pack("{s:s, s:i, s:i, s:o}", "name", one->name, "replicas",
                                        (int)one->replicas, "ready", (int)one->ready, "lag_s",
                                        one->has_lag ? json_integer(one->lag_s) : json_null()));
    }
    all = json_pack("{s:I, s:o}", "as_of", (json_int_t)as_of_s, "services", services);
    text = json_dumps(all, JSON_COMPACT);
    must(text != NULL);
    json_free(all);
    return text;
}

/* -- asking ---------------------------------------------------------------------------------- */

static bool is_over(const struct deployment *deployment, int64_t now_us)
{
    const bool is_quiet = now_us - deployment->heard_us >= DEPLOYMENT_QUIET_MS * INT64_C(1000);

    return now_us - deployment->begun_us >= DEPLOYMENT_ROUND_MS * INT64_C(1000) ||
           (is_quiet && deployment_state_is_complete(&deployment->state));
}

static void take_replies(struct deployment *deployment, int64_t now_us)
{
    struct bus_message *message;

    for (int n = 0; n < DEPLOYMENT_REPLIES_PER_TICK; n++) {
        message = bus_take(deployment->replies);
        if (message == NULL)
            return;
        deployment_state_note(&deployment->state, bus_message_body(message));
        bus_message_free(message);
        deployment->heard_us = now_us;
    }
}

/* A round without any reply does not show that the services are down: the question may not be
   permitted. The same goes for a round during which the bus was lost. */
static void end_round(struct deployment *deployment, int64_t now_us)
{
    const bool is_known = deployment->state.n_replicas > 0 && bus_is_up(deployment->bus);
    struct deployment_waiter *waiter;

    deployment->begun_us = 0;
    deployment->known_us = is_known ? now_us : 0;
    deployment->as_of_us = clock_us();
    while ((waiter = LIST_FIRST(&deployment->waiting, struct deployment_waiter, link)) != NULL) {
        list_remove(&waiter->link);
        waiter->on_end(waiter, is_known);
    }
}

static void on_tick(struct timer *timer)
{
    struct deployment *deployment = H2O_STRUCT_FROM_MEMBER(struct deployment, timer, timer);
    const int64_t now_us = clock_mono_us();

    take_replies(deployment, now_us);
    if (is_over(deployment, now_us))
        end_round(deployment, now_us);
    else
        timer_start(deployment->timers, timer, DEPLOYMENT_TICK_MS, on_tick);
}

void deployment_init(struct deployment *deployment, struct timers *timers, struct bus *bus)
{
    struct uuid id = uuid_v7(clock_us());
    char text[UUID_TEXT + 1];

    *deployment = (struct deployment){.timers = timers, .bus = bus};
    uuid_format(&id, text);
    snprintf(deployment->inbox, sizeof(deployment->inbox), "%s.%s",
             bus_user_inbox(BUS_USER_DASHBOARD), text);
    deployment->replies = bus_serve(bus, deployment->inbox, NULL);
    list_init(&deployment->waiting);
}

static bool begin_round(struct deployment *deployment, int64_t now_us)
{
    struct bus_message *late;

    /* Replies to the previous round: a replica that has stopped since must not be counted. */
    while ((late = bus_take(deployment->replies)) != NULL)
        bus_message_free(late);
    if (bus_publish(deployment->bus, BUS_STATS_SUBJECT, deployment->inbox, NULL, 0, STR("")) !=
        ST_OK)
        return false;
    deployment_state_init(&deployment->state);
    deployment->known_us = 0;
    deployment->begun_us = deployment->heard_us = now_us;
    timer_start(deployment->timers, &deployment->timer, DEPLOYMENT_TICK_MS, on_tick);
    return true;
}

enum deployment_answer
deployment_ask(struct deployment *deployment, struct deployment_waiter *waiter,
               void (*on_end)(struct deployment_waiter *waiter, bool is_known))
{
    const int64_t now_us = clock_mono_us();

    if (deployment->known_us > 0 &&
        now_us - deployment->known_us < DEPLOYMENT_FRESH_MS * INT64_C(1000))
        return DEPLOYMENT_KNOWN;
    if (deployment->begun_us == 0 && !begin_round(deployment, now_us))
        return DEPLOYMENT_UNREACHABLE;
    *waiter = (struct deployment_waiter){.on_end = on_end};
    list_add(&deployment->waiting, &waiter->link);
    return DEPLOYMENT_ASKED;
}

bool deployment_leave(struct deployment_waiter *waiter)
{
    if (!list_is_linked(&waiter->link))
        return false;
    list_remove(&waiter->link);
    return true;
}
