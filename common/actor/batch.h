/*
 * batch - commands that run together, and the connection that they run on.
 *
 * What     An actor has one or two: while the server works on one, the actor parses, queries or
 *          replies to the other. batch_run.h takes one through its phases.
 * Owns     The items live in the arena; each owns its message.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_BATCH_H
#define COMMON_ACTOR_BATCH_H

#include "common/actor/command.h"
#include "common/actor/flows.h"
#include "common/base/arena.h"
#include "common/trace/trace.h"

struct actor; /* common/actor/actor_internal.h */
struct db;
struct transaction;

/* A command on its way through a batch. */
struct batch_item {
    struct command command;
    struct waiting *waiting; /* what it was made from */
    struct str request_id;   /* as sent, for the log */
    struct span span;
    size_t arrival;
    size_t entries_begin, entries_end; /* its statements of the transaction */
    /* Bytes of results dropped because the batch held too much; if not 0, its reply hook is not
       called. */
    size_t dropped;
    enum status status; /* of its hooks so far; ST_OK, ST_REFUSED or ST_RETRY at the end */
    bool is_suspect;    /* the latest transaction may have failed because of it */
    bool has_failed;    /* for a reason of its own: only its audit entry is written */
};

enum batch_phase {
    BATCH_IDLE,
    BATCH_ASKED,      /* its statements are sent */
    BATCH_ASKED_REST, /* those that depend on the results are sent */
    BATCH_COMMITTING  /* its commit is sent */
};

struct batch {
    struct actor *actor;
    struct db *db;      /* no other batch's */
    struct arena arena; /* cleared when the batch ends */
    enum batch_phase phase;
    struct transaction *transaction;
    struct batch_item **items;
    size_t n;
    int64_t start_us;    /* by clock_mono_us() */
    int64_t deadline_us; /* by clock_us(): the earliest of its commands */
    size_t replied_bytes;
    /* Its latest notice: it is not published twice in a row. */
    const char *noticed;
    struct uuid noticed_for;
};

#endif
