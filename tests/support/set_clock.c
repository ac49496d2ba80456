#include "tests/support/set_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

_Atomic int64_t set_clock_ahead_ms;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int clock_gettime(clockid_t id, struct timespec *now)
{
    const long result = syscall(SYS_clock_gettime, id, now);
    int64_t ns;

    if (result != 0 || id != CLOCK_REALTIME)
        return (int)result;
    ns = now->tv_sec * SECOND_NS + now->tv_nsec + set_clock_ahead_ms * 1000000;
    *now = (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    return 0;
}

/* For libraries, unless the program has one of its own: event_loop.c. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
__attribute__((weak)) int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
    return 0;
}

int64_t set_clock_real_us(void)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}
