#include "common/http/edge_clock.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/calls.h"
#include "common/http/edge_metrics.h"
#include "proto/subject.h"

enum { LOOKS_A_CHECK = 5 }; /* at our machine's clock */

static void note_time(struct edge_clock *clock, enum clock_source source, struct str theirs)
{
    const int64_t heard_ms = clock_us() / 1000,
                  waited_ms = (clock_mono_us() - clock->asked_us) / 1000;
    uint64_t theirs_ms;

    if (str_to_u64(theirs, INT64_MAX / 2, &theirs_ms))
        clock_check_note(&clock->check, source, heard_ms - waited_ms, heard_ms, (int64_t)theirs_ms);
}

/* If our machine's clock has been set, it is right if it is nearer to all others than the time that
   we have kept since. Another loop may have taken it over. */
static void judge_jump(struct edge_clock *clock)
{
    const int64_t jump_ms = clock_jump_us() / 1000;

    if (jump_ms != 0 && clock_check_confirms(&clock->check, jump_ms) && clock_take_jump())
        LOG(LOG_WARNING, "our machine's clock was set, which access and its database confirm",
            log_int("by_ms", jump_ms));
    metric_set(edge_metrics.clock_jump, clock_seconds(clock_jump_us() / -1000));
    if (clock->n_jumps == clock_jumps_taken())
        return;
    clock->n_jumps = clock_jumps_taken();
    clock->check = (struct clock_check){0};
}

static void judge_clock(struct edge_clock *clock)
{
    const struct clock_check *check = &clock->check;
    const int64_t wrong_ms = clock_check_wrong_ms(check);
    const bool was_skewed = atomic_load(&clock->is_skewed), is_skewed = clock_is_skewed(wrong_ms);

    for (int i = 0; i < CLOCK_SOURCES; i++)
        metric_set(edge_metrics.clock_skew[i],
                   clock_seconds(clock_check_skew_ms(check, (enum clock_source)i)));
    clock->calls->access_skew_ms = clock_check_skew_ms(check, CLOCK_OF_ACCESS);
    atomic_store(&clock->is_skewed, is_skewed);
    if (is_skewed == was_skewed)
        return;
    LOG(is_skewed ? LOG_ERROR : LOG_WARNING,
        is_skewed ? "our clock differs too much from those of access and its database"
                  : "our clock no longer differs from those of access and its database, as far as "
                    "they are known",
        log_int("ahead_ms", wrong_ms));
}

static void on_time(void *owner, enum call_end end, struct bus_message *message)
{
    struct edge_clock *clock = owner;

    if (end == CALL_REPLIED) {
        note_time(clock, CLOCK_OF_ACCESS, bus_message_header(message, BUS_CLOCK_HEADER));
        note_time(clock, CLOCK_OF_DATABASE, bus_message_header(message, BUS_DATABASE_CLOCK_HEADER));
        metric_add(edge_metrics.clock_checks, 1);
        judge_jump(clock);
        judge_clock(clock);
    }
    bus_message_free(message);
    clock->asked_us = 0;
}

static void check_clock(struct edge_clock *clock)
{
    struct call_request request = {.subject = BUS_CLOCK_SUBJECT,
                                   .body = STR(""),
                                   .timeout = CALL_TIMEOUT_SHORT,
                                   .on_end = on_time,
                                   .owner = clock};
    uint64_t handle;

    if (clock->asked_us == 0 && calls_start(clock->calls, &request, &handle) == ST_OK)
        clock->asked_us = clock_mono_us();
}

static bool knows_access(const struct edge_clock *clock)
{
    return clock->check.of[CLOCK_OF_ACCESS].n > 0;
}

static void on_clock_due(struct timer *timer)
{
    struct edge_clock *clock = H2O_STRUCT_FROM_MEMBER(struct edge_clock, timer, timer);

    const bool is_due = clock->n_looks++ % LOOKS_A_CHECK == 0;

    timer_start(clock->timers, timer, clock->look_ms, on_clock_due);
    if (is_due)
        clock_check_ask(&clock->check);
    judge_jump(clock);
    judge_clock(clock);
    if (is_due || clock_jump_us() != 0 || !knows_access(clock))
        check_clock(clock);
}

void edge_clock_open(struct edge_clock *clock, struct timers *timers, struct calls *calls)
{
    *clock = (struct edge_clock){.timers = timers, .calls = calls};
    clock->look_ms = CLOCK_CHECK_MS / LOOKS_A_CHECK;
    timer_start(clock->timers, &clock->timer, clock->look_ms, on_clock_due);
}

void edge_clock_hear(struct edge_clock *clock)
{
    if (!knows_access(clock))
        check_clock(clock);
}
