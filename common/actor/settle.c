#include <stdlib.h>
#include <string.h>

#include "common/actor/engine.h"
#include "common/base/clock.h"
#include "common/base/log.h"

/* A command that lost a race is run this many times more. */
enum { AGAIN_MOST = 3 };

/* -- one transaction ------------------------------------------------------------------------- */

static int by_lock_order(const void *a, const void *b)
{
    const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;

    if (x->command.lock_order != y->command.lock_order)
        return x->command.lock_order < y->command.lock_order ? -1 : 1;
    return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

/* The batch waits as long as its most patient command; it is the server that is waited for. */
static int64_t latest_deadline(struct work *const *works, size_t n)
{
    int64_t latest_us = 0;

    for (size_t i = 0; i < n; i++)
        if (works[i]->command.deadline_us > latest_us)
            latest_us = works[i]->command.deadline_us;
    return latest_us;
}

static void record(struct actor *actor, struct work *const *works, size_t n)
{
    const struct ledger *ledger = actor->service->ledger;
    struct command **settled;
    size_t n_settled = 0;

    if (ledger == NULL)
        return;
    settled = ARENA_ARRAY(&actor->arena, struct command *, n);
    for (size_t i = 0; i < n; i++)
        if (works[i]->verdict != ST_RETRY)
            settled[n_settled++] = &works[i]->command;
    if (n_settled > 0)
        ledger->add(actor->db, (int)actor->service->n_statements, settled, n_settled,
                    &actor->arena);
}

static void ask_together(struct actor *actor, const struct route *route, struct work *const *works,
                         size_t n)
{
    struct command **together = ARENA_ARRAY(&actor->arena, struct command *, n);
    size_t n_together = 0;

    for (size_t i = 0; i < n; i++)
        if (works[i]->command.route == route && works[i]->verdict == ST_OK)
            together[n_together++] = &works[i]->command;
    if (n_together > 0)
        route->ask_together(together, n_together, actor->db, actor->service->self);
}

static void ask(struct actor *actor, struct work *const *works, size_t n)
{
    const struct service *service = actor->service;

    for (size_t i = 0; i < n; i++)
        work_ask(actor, works[i]);
    for (size_t i = 0; i < service->n_routes; i++)
        if (service->routes[i].ask_together)
            ask_together(actor, &service->routes[i], works, n);
}

/* The ledger's statements go out with the commit: one round trip for all. */
static enum status commit(struct actor *actor)
{
    int64_t start_us = clock_mono_us();
    enum status st = db_commit(actor->db);

    metric_observe(actor->meters->commit_seconds, clock_mono_us() - start_us);
    return st;
}

/* ST_OK: committed, and every verdict is ST_OK, ST_REFUSED or ST_RETRY (wrote nothing, has no
   entry, is to be run again). Anything else is about all of them alike. */
static enum status run_together(struct actor *actor, struct work **works, size_t n)
{
    enum status st;

    metric_observe(actor->meters->batch_size, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        work_judge(actor, works[i]);
        if (works[i]->verdict != ST_OK && works[i]->verdict != ST_REFUSED)
            return ST_INTERNAL;
    }
    qsort(works, n, sizeof(struct work *), by_lock_order);

    db_open_batch(actor->db, latest_deadline(works, n));
    st = works_look_up(actor, works, n);
    if (st != ST_OK)
        return st;
    ask(actor, works, n);
    st = db_run(actor->db);
    if (st != ST_OK)
        return st;

    for (size_t i = 0; i < n; i++) {
        work_tell(actor, works[i]);
        st = db_failure(actor->db);
        if (st != ST_OK) {
            db_abandon(actor->db);
            return st;
        }
        if (works[i]->verdict == ST_OK || works[i]->verdict == ST_REFUSED ||
            works[i]->verdict == ST_RETRY)
            continue;
        /* Its statements may have written something that nobody can vouch for. */
        db_abandon(actor->db);
        return ST_INTERNAL;
    }
    record(actor, works, n);
    return commit(actor);
}

/* -- one command ----------------------------------------------------------------------------- */

/* The link was lost, or the server could not serve. What cannot have changed anything of the
   customer's is never called uncertain. */
static void answer_lost(struct actor *actor, struct work *work, enum status st)
{
    bool may_have_written =
        st == ST_UNCERTAIN && work->command.route->writes && work->verdict == ST_OK;

    work_fail(work, may_have_written ? OUTCOME_UNCERTAIN : OUTCOME_UNAVAILABLE);
    work_answer(actor, work);
}

/* The ledger refused a second entry for the same request: the gateway has given up waiting, and has
   answered and recorded it. Whatever the command did was rolled back with its entry. */
static bool is_recorded_already(const struct actor *actor)
{
    return actor->service->ledger && strcmp(db_last_sqlstate(actor->db), "23505") == 0 &&
           db_last_statement(actor->db) == (int)actor->service->n_statements;
}

static void drop_recorded(struct work *work)
{
    LOG(LOG_INFO, "request has been answered and recorded already, not run",
        log_str("route", work->command.route->subject), log_slice("request_id", work->request_id),
        log_trace(work->command.traceparent));
    work_drop(work);
}

/* Nothing of the command is written; all that is left to do is to say so, durably. */
static void fail_on_record(struct actor *actor, struct work *work)
{
    enum status st;

    work_fail(work, OUTCOME_SERVER_ERROR);
    work->verdict = ST_REFUSED;
    db_open_batch(actor->db, work->command.deadline_us);
    record(actor, &work, 1);
    st = commit(actor);
    if (st == ST_OK)
        work_answer(actor, work);
    else if (is_recorded_already(actor))
        drop_recorded(work);
    else
        answer_lost(actor, work, st);
}

static void settle_alone(struct actor *actor, struct work *work)
{
    enum status st = ST_RETRY;

    for (int i = 0; i <= AGAIN_MOST && st == ST_RETRY; i++) {
        if (work_is_expired(work)) {
            work_expire(actor, work);
            return;
        }
        st = run_together(actor, &work, 1);
        if (st == ST_RETRY && is_recorded_already(actor)) {
            drop_recorded(work);
            return;
        }
        if (st == ST_OK)
            st = work->verdict;
    }
    if (st == ST_OK || st == ST_REFUSED)
        work_answer(actor, work);
    else if (st == ST_UNAVAILABLE || st == ST_UNCERTAIN)
        answer_lost(actor, work, st);
    else
        fail_on_record(actor, work);
}

/* -- all of them ----------------------------------------------------------------------------- */

/* Keeps those whose deadline has not passed; returns how many. */
static size_t keep_unexpired(struct actor *actor, struct work **works, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (work_is_expired(works[i]))
            work_expire(actor, works[i]);
        else
            works[kept++] = works[i];
    return kept;
}

/* Answers what is settled and keeps what lost a race; returns how many. */
static size_t answer_settled(struct actor *actor, struct work **works, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (works[i]->verdict == ST_RETRY)
            works[kept++] = works[i];
        else
            work_answer(actor, works[i]);
    return kept;
}

static void settle_one_by_one(struct actor *actor, struct work **works, size_t n)
{
    for (size_t i = 0; i < n; i++)
        settle_alone(actor, works[i]);
}

static void settle(struct actor *actor, struct work **works, size_t n)
{
    enum status st = ST_OK;

    for (int i = 0; i < AGAIN_MOST && n > 1 && st == ST_OK; i++) {
        n = keep_unexpired(actor, works, n);
        st = run_together(actor, works, n);
        if (st == ST_OK)
            n = answer_settled(actor, works, n);
    }
    if (st == ST_OK || (st != ST_UNCERTAIN && db_is_up(actor->db))) {
        if (st != ST_OK)
            metric_add(actor->meters->fallbacks, 1);
        settle_one_by_one(actor, works, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        answer_lost(actor, works[i], st);
}

static int64_t earliest_deadline(struct work *const *works, size_t n)
{
    int64_t earliest_us = INT64_MAX;

    for (size_t i = 0; i < n; i++)
        if (works[i]->command.deadline_us < earliest_us)
            earliest_us = works[i]->command.deadline_us;
    return earliest_us;
}

/* Who is answered too late is not helped: when a batch took longer than a command in it had, half
   as many are taken from now on, and with every full batch that is in time one more. */
void works_settle(struct actor *actor, struct work **works, size_t n)
{
    const int64_t deadline_us = earliest_deadline(works, n), start_us = clock_mono_us();

    settle(actor, works, n);
    actor->batch_us = clock_mono_us() - start_us;
    if (deadline_us <= clock_us())
        actor->batch_now = (n + 1) / 2;
    else if (n >= actor->batch_now && n < actor->options.batch_most)
        actor->batch_now = n + 1;
}
