#include "proto/subject.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cell.h"
#include "common/base/log.h"
#include "common/base/str.h"

#define MAILBOX(symbol, subject, user)              const char SUBJECT_##symbol[] = subject;
#define COMMAND(symbol, subject, senders)           const char SUBJECT_##symbol[] = subject;
#define NOTICE(symbol, subject, senders, listeners) const char SUBJECT_##symbol[] = subject;
#include "proto/subject.def"

/* The names that subject.def uses for users, each as a set of one. */
enum {
#define BUS_USER(symbol, name) symbol = 1 << BUS_USER_##symbol,
#include "proto/subject.def"
};

const struct bus_permission bus_permissions[] = {
#define MAILBOX(symbol, subject, user)              {subject, BUS_MAILBOX, 0, user},
#define COMMAND(symbol, subject, senders)           {subject, BUS_COMMAND, senders, 0},
#define NOTICE(symbol, subject, senders, listeners) {subject, BUS_NOTICE, senders, listeners},
#include "proto/subject.def"
};

const size_t n_bus_permissions = ARRAY_SIZE(bus_permissions);

/* -- cells ------------------------------------------------------------------------------------- */

static const unsigned cell_users = 0
#define CELL_USER(symbol) | symbol
#include "proto/subject.def"
    ;

bool bus_user_is_of_cell(enum bus_user user)
{
    return (cell_users >> user & 1) != 0;
}

/* Compares the part of the mailbox's subject before its `*`: v1.conversation. */
static bool is_of_mailbox(const char *subject, const char *mailbox)
{
    const size_t n = strlen(mailbox) - 1;

    return strncmp(subject, mailbox, n) == 0;
}

bool subject_is_of_cell(const char *subject)
{
    for (size_t i = 0; i < n_bus_permissions; i++) {
        const struct bus_permission *at = &bus_permissions[i];

        if (at->kind == BUS_MAILBOX && (at->listeners & cell_users) != 0 &&
            is_of_mailbox(subject, at->subject))
            return true;
        if (at->kind == BUS_NOTICE && (at->senders & cell_users) != 0 &&
            strcmp(subject, at->subject) == 0)
            return true;
    }
    return false;
}

const char *subject_in_cell(const char *subject, const char *cell, char out[CELL_SUBJECT_CAPACITY])
{
    const char *const rest = strchr(subject, '.');

    if (cell_is_main(cell) || !subject_is_of_cell(subject))
        return subject;
    must(snprintf(out, CELL_SUBJECT_CAPACITY, "%.*s.%s%s", (int)(rest - subject), subject, cell,
                  rest) < CELL_SUBJECT_CAPACITY);
    return out;
}

/* -- users ------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *inbox;
} users[BUS_USER_COUNT] = {
#define BUS_USER(symbol, name) {name, "_INBOX." name},
#include "proto/subject.def"
};

const char *bus_user_name(enum bus_user user)
{
    return users[user].name;
}

const char *bus_user_inbox(enum bus_user user)
{
    return users[user].inbox;
}

bool bus_user_asks(enum bus_user user)
{
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].kind == BUS_COMMAND && bus_permissions[i].senders >> user & 1)
            return true;
    return false;
}

bool bus_user_asks_at(enum bus_user user, const struct bus_permission *mailbox)
{
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].kind == BUS_COMMAND && bus_permissions[i].senders >> user & 1 &&
            is_of_mailbox(bus_permissions[i].subject, mailbox->subject))
            return true;
    return false;
}

const char *const bus_discovery_verbs[BUS_DISCOVERY_VERBS] = {"$SRV.PING", "$SRV.INFO",
                                                              BUS_STATS_SUBJECT};

bool bus_user_discovers(enum bus_user user)
{
    return user == BUS_USER_OPERATOR;
}

bool bus_user_checks_clock(enum bus_user user)
{
    return user == BUS_USER_GATEWAY || user == BUS_USER_DASHBOARD;
}

bool bus_user_reads_stats(enum bus_user user)
{
    return user == BUS_USER_DASHBOARD;
}

bool bus_user_answers(enum bus_user user)
{
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].kind == BUS_MAILBOX && bus_permissions[i].listeners >> user & 1)
            return true;
    return false;
}
