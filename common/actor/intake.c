#include "common/actor/intake.h"

#include "common/actor/actor_internal.h"
#include "common/actor/command_read.h"
#include "common/actor/command_reply.h"
#include "common/base/clock.h"
#include "proto/headers.h"

/* Nil if the header is missing or malformed. */
static struct uuid organization_of(struct bus_message *message)
{
    struct uuid organization = {{0}};

    (void)uuid_parse(bus_message_header(message, HEADER_ORGANIZATION), &organization);
    return organization;
}

static void admit(struct actor *actor, const struct uuid *organization,
                  const struct waiting *waiting)
{
    struct waiting excess;

    while (fair_queue_add(&actor->queue, organization, waiting, &excess)) {
        const bool is_itself = excess.message == waiting->message;

        command_reject_message(actor, &excess);
        if (is_itself)
            break;
    }
}

static void take_from(struct actor *actor, size_t at, int64_t now, int64_t since)
{
    struct bus_message *message;

    while ((message = bus_take(actor->membership.mailboxes[at])) != NULL) {
        const struct uuid organization = organization_of(message);
        const struct waiting waiting = {.message = message,
                                        .handler = actor->service->handlers[at],
                                        .metrics = &actor->route_metrics[at],
                                        .bytes = bus_message_body(message).n,
                                        .received_us = now,
                                        .since_us = since,
                                        .until_us = command_until_us(message, now, since)};

        if (actor->slow_lane != NULL && !bus_message_is_plain(message) &&
            slow_lane_has(actor->slow_lane, &organization, since))
            command_hand_over(actor, &organization, waiting);
        else
            admit(actor, &organization, &waiting);
    }
}

static void take_from_others(struct actor *actor)
{
    struct uuid organization;
    struct waiting waiting;

    while (slow_lane_take(actor->slow_lane, &organization, &waiting))
        admit(actor, &organization, &waiting);
}

static void take_in(struct actor *actor)
{
    const int64_t now = clock_us(), since = clock_mono_us();

    if (actor->is_slow_lane)
        take_from_others(actor);
    for (size_t i = 0; i < actor->membership.n_mailboxes; i++)
        take_from(actor, i, now, since);
}

void intake_on_wait(void *closure)
{
    struct actor *actor = closure;

    bus_wait(actor->bus, 0);
    take_in(actor);
    bus_push(actor->bus);
}

void intake_gather(struct actor *actor)
{
    size_t had;

    do {
        had = fair_queue_waiting(&actor->queue);
        take_in(actor);
        if (fair_queue_waiting(&actor->queue) > had)
            bus_wait(actor->bus, 0);
    } while (fair_queue_waiting(&actor->queue) > had &&
             fair_queue_waiting(&actor->queue) < actor->batch_max);
    take_in(actor);
}
