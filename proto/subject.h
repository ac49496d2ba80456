/*
 * subject - every subject on the bus, as SUBJECT_NAME, and the permissions that nats-server enforces
 *           there; the table is subject.def.
 *
 * What     nats-config prints the server's configuration from this table, and tests check that the
 *          server enforces it. The administrator is not in it: that user may do everything.
 * Threads  Any; constant tables.
 */
#ifndef PROTO_SUBJECT_H
#define PROTO_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#define MAILBOX(symbol, subject, user)              extern const char SUBJECT_##symbol[];
#define COMMAND(symbol, subject, senders)           extern const char SUBJECT_##symbol[];
#define NOTICE(symbol, subject, senders, listeners) extern const char SUBJECT_##symbol[];
#include "proto/subject.def"

enum bus_user {
#define BUS_USER(symbol, name) BUS_USER_##symbol,
#include "proto/subject.def"
    BUS_USER_COUNT
};

enum bus_kind { BUS_MAILBOX, BUS_COMMAND, BUS_NOTICE };

struct bus_permission {
    const char *subject;
    enum bus_kind kind;
    unsigned senders;   /* may publish: a bit 1 << BUS_USER_... for each */
    unsigned listeners; /* may subscribe; to mailboxes only in its own queue group */
};

extern const struct bus_permission bus_permissions[];
extern const size_t n_bus_permissions;

/* -- cells (common/base/cell.h) ---------------------------------------------------------------- */

#define CELL_SUBJECT_CAPACITY 128

/* True: the subject belongs to a service that each cell has, or is a notice of one. */
bool subject_is_of_cell(const char *subject);
/* The subject in that cell (NULL: main): `subject` itself in main, or if it belongs to no cell;
   otherwise a name that is written to `out`. */
const char *subject_in_cell(const char *subject, const char *cell, char out[CELL_SUBJECT_CAPACITY]);
bool bus_user_is_of_cell(enum bus_user user);

const char *bus_user_name(enum bus_user user);
const char *bus_user_inbox(enum bus_user user); /* its bus_options.inbox_prefix */
bool bus_user_asks(enum bus_user user);         /* true: sends commands, so it has an inbox */
/* True: sends commands to that mailbox. */
bool bus_user_asks_at(enum bus_user user, const struct bus_permission *mailbox);
/* True: has a mailbox, so it replies to messages there and can be found by service discovery. */
bool bus_user_answers(enum bus_user user);
bool bus_user_discovers(enum bus_user user); /* true: may send any $SRV.VERB, .NAME and .NAME.ID */

/* True: may ping the access service, and only that, for the time in its answer. */
bool bus_user_checks_clock(enum bus_user user);
#define BUS_CLOCK_SUBJECT "$SRV.PING.access"
#define BUS_CLOCK_HEADER  "Time" /* Unix milliseconds; in every service discovery answer */
/* Likewise, of its database, if it has asked that lately. */
#define BUS_DATABASE_CLOCK_HEADER "Database-Time"

/* True: may request the statistics of all services at once. */
bool bus_user_reads_stats(enum bus_user user);
#define BUS_STATS_SUBJECT "$SRV.STATS"

#define BUS_DISCOVERY_VERBS 3
extern const char *const bus_discovery_verbs[BUS_DISCOVERY_VERBS]; /* "$SRV.PING" and so on */

#endif
