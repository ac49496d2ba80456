/*
 * actor - runs the commands of its mailbox in batches: one pipeline, one commit, then all replies.
 *
 * What     One thread, one bus connection, and a database connection and an arena for each batch
 *          in progress. A batch:
 *
 *            1  take at most `batch_max` commands from the queue, by organization in turn
 *               (fair_queue.h), fewer after a batch that was late. Commands past their deadline are
 *               answered `busy`; if more than `mailbox_max` wait, so are the newest of the
 *               organization with the most of them (docs/limits.md, "Mailbox")
 *            2  parse  each command by itself: bytes to struct, rules, no I/O
 *            3  query  queue its statements; those of all commands go out as one pipeline. Statements
 *                      that depend on the results, if there are any, go out as a second one
 *            4  reply  turn its rows into a reply or a refusal
 *            5  audit  write an entry for each command with an audited outcome, all in one statement;
 *                      their changes, if any, in another
 *            6  commit once; only then publish the replies and the notices
 *
 *          If the service has two batches, the second begins while PostgreSQL works on the first:
 *          as soon as half as many commands wait as the first has, or 5 ms after the first began.
 *          Each has its own transaction and fails independently of the other.
 *
 *          When a batch fails, the command whose statement failed is taken out and the others run
 *          together again, so one bad command never harms the others. If several commands share the
 *          failed statement, they run again in halves. Commands that commit are answered at once.
 *          If the search takes too long, the commands that are not suspects go back to the mailbox
 *          and run with the next batch, and suspects are answered `unavailable`.
 *          A command that lost a race (ST_RETRY), or waited too long for a row lock, goes back into
 *          the mailbox and is retried with later batches for half a second; then it is answered
 *          `unavailable`. No other command waits for it.
 *          Commands of organizations that send expensive ones go to the slow lane: an actor that
 *          runs what the others hand over to it in the same way, and rests after each batch for as
 *          long as the batch took. See slow_lane.h.
 * Threads  Any, but one at a time: starting, stopping and freeing.
 * Owns     Free it with actor_free().
 * Fails    Commands get `unavailable`, `uncertain` or `server_error` when the database fails. An actor
 *          without its database for a second leaves the queue group to actors that have theirs, and
 *          rejoins when the database is back: see membership.h.
 */
#ifndef COMMON_ACTOR_ACTOR_H
#define COMMON_ACTOR_ACTOR_H

#include "common/actor/command.h"
#include "common/actor/handler.h"
#include "common/db/db.h"
#include "common/json/fields.h"
#include "proto/outcome.h"

struct actor;
struct actor_metrics; /* common/actor/actor_metrics.h */

struct actor_options {
    const struct service *service;
    struct actor_metrics *metrics; /* shared by all actors of the process */
    const char *name;              /* "conversation-0": how the bus and the database show it */
    const char *bus_url;           /* never logged */
    const struct bus_settings *bus_settings;
    const char *database_url; /* never logged */
    const char *cell;         /* whose subjects it serves; NULL: main */
    bool is_first;            /* does the upkeep; answers service discovery */
    size_t mailbox_max;       /* 0 = 1024 */
    size_t batches;           /* 0 = as the service says */
    bool is_slow_lane;        /* takes only what other actors hand over */
    /* Other actors of the service hand over the commands of slow organizations to this one, which
       must outlive them. NULL: none. */
    struct actor *slow_lane;
};

/* Starts the thread. NULL (logged): an option is unusable. What the options point to must outlive
   the actor. */
struct actor *actor_start(const struct actor_options *options);
/* Why it is not up, a constant text; NULL: it is up. */
const char *actor_bus_trouble(const struct actor *actor);
const char *actor_database_trouble(const struct actor *actor);
/* Ends the intake and lets the thread finish the commands that wait. */
void actor_stop(struct actor *actor);
/* Stops it if needed, waits for its thread to end, and frees it. NULL is fine. */
void actor_free(struct actor *actor);

#endif
