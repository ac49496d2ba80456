#include "common/http/timer.h"

#include "common/base/log.h"

void timers_init(struct timers *timers, h2o_loop_t *loop)
{
    *timers = (struct timers){.loop = loop};
}

#if H2O_LIBRARY_VERSION_MINOR < 14

void timers_release(struct timers *timers)
{
    while (timers->n > 0)
        h2o_timeout_dispose(timers->loop, &timers->lists[--timers->n]);
}

static h2o_timeout_t *list_of(struct timers *timers, uint64_t ms)
{
    for (size_t i = 0; i < timers->n; i++)
        if (timers->lists[i].timeout == ms)
            return &timers->lists[i];
    must(timers->n < TIMERS_MAX);
    h2o_timeout_init(timers->loop, &timers->lists[timers->n], ms);
    return &timers->lists[timers->n++];
}

static void link_entry(struct timers *timers, timer_entry *entry, uint64_t ms)
{
    h2o_timeout_link(timers->loop, list_of(timers, ms), entry);
}

static void unlink_entry(timer_entry *entry)
{
    h2o_timeout_unlink(entry);
}

#else

void timers_release(struct timers *timers)
{
    timers->loop = NULL;
}

static void link_entry(struct timers *timers, timer_entry *entry, uint64_t ms)
{
    h2o_timer_link(timers->loop, ms, entry);
}

static void unlink_entry(timer_entry *entry)
{
    h2o_timer_unlink(entry);
}

#endif

static void run(timer_entry *entry)
{
    struct timer *timer = H2O_STRUCT_FROM_MEMBER(struct timer, entry, entry);

    timer->on_due(timer);
}

void timer_start(struct timers *timers, struct timer *timer, int64_t ms,
                 void (*on_due)(struct timer *timer))
{
    must(ms >= 0);
    unlink_entry(&timer->entry);
    timer->on_due = on_due;
    timer->entry.cb = run;
    link_entry(timers, &timer->entry, (uint64_t)ms);
}

void timer_stop(struct timer *timer)
{
    unlink_entry(&timer->entry);
}

bool timer_is_running(const struct timer *timer)
{
    return timer->entry._link.next != NULL;
}
