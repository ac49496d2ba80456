#include "common/base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Stored only if it has changed by more: threads would take its cache line from each other. */
enum { DRIFT_US = 1000 };

/* CLOCK_REALTIME minus CLOCK_BOOTTIME, which goes on while the machine is suspended; 0 = not kept. */
static _Atomic int64_t kept_us;
static atomic_uint n_taken;

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Follows small changes of the machine's clock. Larger ones are returned. A thread that loses the
   processor between the two readings sees a difference that is none: its time is right all the
   same, and the next reading corrects what it has stored. */
static int64_t follow(int64_t kept, int64_t booted_us, int64_t machine_us)
{
    const int64_t moved_us = machine_us - booted_us - kept;

    if (llabs(moved_us) > CLOCK_JUMP_US)
        return moved_us;
    if (llabs(moved_us) > DRIFT_US)
        atomic_compare_exchange_strong(&kept_us, &kept, kept + moved_us);
    return 0;
}

int64_t clock_us(void)
{
    const int64_t kept = atomic_load_explicit(&kept_us, memory_order_relaxed);
    int64_t booted_us, machine_us;

    if (kept == 0)
        return read_us(CLOCK_REALTIME);
    booted_us = read_us(CLOCK_BOOTTIME);
    machine_us = read_us(CLOCK_REALTIME);
    return follow(kept, booted_us, machine_us) == 0 ? machine_us : booted_us + kept;
}

void clock_hold(void)
{
    const int64_t booted_us = read_us(CLOCK_BOOTTIME);

    atomic_store(&kept_us, read_us(CLOCK_REALTIME) - booted_us);
}

int64_t clock_jump_us(void)
{
    const int64_t kept = atomic_load(&kept_us), booted_us = read_us(CLOCK_BOOTTIME);

    return kept == 0 ? 0 : follow(kept, booted_us, read_us(CLOCK_REALTIME));
}

bool clock_take_jump(void)
{
    int64_t kept = atomic_load(&kept_us);
    const int64_t booted_us = read_us(CLOCK_BOOTTIME), machine_us = read_us(CLOCK_REALTIME);

    if (kept == 0 || follow(kept, booted_us, machine_us) == 0 ||
        !atomic_compare_exchange_strong(&kept_us, &kept, machine_us - booted_us))
        return false;
    atomic_fetch_add(&n_taken, 1);
    return true;
}

unsigned clock_jumps_taken(void)
{
    return atomic_load(&n_taken);
}

int64_t clock_machine_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int clock_left_ms(int64_t due_us, int64_t now_us, int max_ms)
{
    if (due_us <= now_us)
        return 0;
    return due_us - now_us < max_ms * INT64_C(1000) ? (int)((due_us - now_us + 999) / 1000)
                                                    : max_ms;
}
