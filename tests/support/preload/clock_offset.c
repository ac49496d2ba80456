/*
 * clock_offset - moves the real-time clock of a process that preloads it (LD_PRELOAD).
 *
 * CLOCK_OFFSET_FILE holds seconds, as an int64_t, which another process may change at any time. The
 * monotonic clock stays, as when somebody sets a machine's clock. A timed wait is for as long as it
 * would be if the offset did not change meanwhile.
 *
 * libfaketime does the same and more, but leaves semaphores behind when a process is killed, and
 * PostgreSQL cannot open those that it has made before its script changed to another user.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SINCE_2001 = 1000000000 }; /* seconds: monotonic clocks begin with the machine's start */

static const _Atomic int64_t *offset;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd >= 0 ? mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (mapped == MAP_FAILED) {
        perror("CLOCK_OFFSET_FILE");
        _exit(127);
    }
    close(fd);
    offset = mapped;
}

/* 0 before map_offset(): constructors of libraries may run earlier. */
static int64_t seconds_ahead(void)
{
    return offset != NULL ? atomic_load(offset) : 0;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*_Atomic real)(clockid_t, struct timespec *);
    int result;

    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    result = real(id, now);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += seconds_ahead();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* On x86-64 dlsym() of some versions of glibc finds an older function, of another structure. */
static void *find_timedwait(void)
{
    void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");

    return found != NULL ? found : dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

/* The kernel compares with the unmoved clock. Which clock the condition uses shows in the time. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*_Atomic real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec moved = *until;

    if (real == NULL)
        real =
            (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))find_timedwait();
    if (moved.tv_sec > SINCE_2001)
        moved.tv_sec -= seconds_ahead();
    return real(condition, mutex, &moved);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
