/*
 * lane - the message with changes that is under way to the audit service of one cell, and how fast
 * that service takes them.
 *
 * What     Claims the changes, sends them and keeps them until there is a reply, or none is to be
 *          expected any more. Lanes do not wait for each other: a cell that does not answer takes
 *          nothing from others.
 * Owns     Its arena, which holds the claimed changes until the message has ended.
 * Threads  The outbox's (outbox.h); lane_judge() on any.
 * Fails    As db_commit() does.
 */
#ifndef SERVICES_ACCESS_LANE_H
#define SERVICES_ACCESS_LANE_H

#include "common/base/metrics.h"
#include "common/bus/bus.h"
#include "services/access/claimed.h"

struct lane {
    char cell[CELL_CAPACITY]; /* empty: it has not been used */
    struct arena arena;
    size_t limit;           /* changes in the next message */
    int64_t retry_ms;       /* the pause after the last message; 0: there was a reply */
    int64_t rests_until_us; /* times are clock_mono_us() */
    bool was_looked_at;     /* in this round of the outbox */

    struct claimed claimed; /* n == 0: nothing is under way */
    int64_t until_us;
    uint64_t handle; /* of the latest request; 0: no reply is awaited */
    bool has_ended;
    struct bus_message *reply; /* NULL: nobody takes the command */
};

void lane_init(struct lane *lane);
void lane_release(struct lane *lane);
/* From now on it is that cell's; what it knew of another one is forgotten. */
void lane_assign(struct lane *lane, const char *cell);

bool lane_is_under_way(const struct lane *lane);
/* It has neither a message under way nor a pause to wait for. */
bool lane_is_free(const struct lane *lane, int64_t now_us);

/* Claims changes of its cell and sends them with `handle`, which is not 0; without any, nothing is
   under way. */
MUST_CHECK enum status lane_send(struct lane *lane, struct db *db, struct bus *bus,
                                 uint64_t handle);
/* Takes the reply with its handle. */
void lane_on_reply(struct lane *lane, struct bus_message *message);
/* There is a reply, or it is too late for one. */
bool lane_has_ended(const struct lane *lane, int64_t now_us);

struct lane_metrics {
    struct metric *sent, *refused, *retries;
};

struct lane_metrics lane_metrics_make(void);
/* After the end: clears the changes, makes them due again after a pause, or sets aside what is
   refused. Without an answer of the database their claims expire. */
MUST_CHECK enum status lane_settle(struct lane *lane, struct db *db, bool is_stopping,
                                   const struct lane_metrics *metrics);

/* -- what a reply means ------------------------------------------------------------------------ */

enum lane_verdict {
    LANE_IN_LOG,  /* the log has all of the changes */
    LANE_LATER,   /* the log may have them or not: retry soon */
    LANE_REFUSED, /* the log has none of them, and retrying soon will not help */
};

/* By the reply's outcome; STR_NONE: there was no reply, or nobody takes the command. Pure. */
enum lane_verdict lane_judge(struct str outcome);

#endif
