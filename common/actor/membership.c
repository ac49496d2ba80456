#include "common/actor/membership.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "proto/subject.h"

void membership_init(struct membership *membership, const struct service *service, const char *name,
                     const char *cell, struct bus *bus)
{
    *membership = (struct membership){.service = service, .name = name, .cell = cell, .bus = bus};
    membership->mailboxes = heap_zeroed(service->n_handlers, sizeof(struct bus_mailbox *));
}

void membership_release(struct membership *membership)
{
    free(membership->mailboxes);
}

static void join(struct membership *membership)
{
    const struct service *service = membership->service;
    const char *group = service->group != NULL ? service->group : service->name;
    char in_cell[CELL_SUBJECT_CAPACITY];

    for (size_t i = 0; i < service->n_handlers; i++)
        membership->mailboxes[i] = bus_serve(
            membership->bus,
            subject_in_cell(service->handlers[i]->subject, membership->cell, in_cell), group);
    membership->n_mailboxes = service->n_handlers;
    (void)bus_flush(membership->bus);
}

static void leave(struct membership *membership, const char *trouble)
{
    membership_close_intake(membership);
    membership->has_left = true;
    LOG(LOG_WARNING, "database is unreachable; leaving commands to other replicas",
        log_str("name", membership->name), log_str("reason", trouble));
}

static void rejoin(struct membership *membership)
{
    for (size_t i = 0; i < membership->n_mailboxes; i++)
        bus_serve_again(membership->mailboxes[i]);
    (void)bus_flush(membership->bus);
    membership->has_left = false;
    LOG(LOG_INFO, "taking commands again", log_str("name", membership->name));
}

void membership_update(struct membership *membership, const char *trouble, bool is_away)
{
    if (membership->n_mailboxes == 0) {
        if (trouble == NULL)
            join(membership);
    } else if (!bus_is_up(membership->bus)) {
        return;
    } else if (!membership->has_left) {
        if (is_away)
            leave(membership, trouble);
    } else if (!membership_is_drained(membership)) {
        membership_close_intake(membership);
    } else if (trouble == NULL) {
        rejoin(membership);
    }
}

void membership_close_intake(struct membership *membership)
{
    for (size_t i = 0; i < membership->n_mailboxes; i++)
        bus_stop_serving(membership->mailboxes[i]);
}

bool membership_is_drained(const struct membership *membership)
{
    for (size_t i = 0; i < membership->n_mailboxes; i++)
        if (!bus_is_drained(membership->mailboxes[i]))
            return false;
    return true;
}

size_t membership_waiting(const struct membership *membership)
{
    size_t n = 0;

    for (size_t i = 0; i < membership->n_mailboxes; i++)
        n += bus_waiting(membership->mailboxes[i]);
    return n;
}
