#include "common/base/log_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/str.h"

enum {
    CAPACITY = 1024 * 1024,
    GATHER_MS = 10,
    FAREWELL_MS = 500,
    LAST_WORDS_MS = 200,
};

/* Lines one after the other. Adding takes writer.lock. Taking is exclusive but takes no lock, since
   it must also work after a thread has crashed while adding. */
static struct {
    char bytes[CAPACITY];
    atomic_uint_fast64_t added, taken; /* bytes so far */
    atomic_bool is_being_taken;
} ring;

static struct {
    pthread_t thread;
    atomic_bool has_started;
    pthread_mutex_t lock;
    pthread_cond_t wake, ended;
    enum { BUSY, GATHERING, IDLE } state; /* IDLE: until there is a line */
    bool at_once, is_ending, has_ended;
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t dropped;
static uint64_t told; /* how many of these were reported; only the current taker may change it */

/* -- the ring -------------------------------------------------------------------------------- */

static size_t waiting(void)
{
    return (size_t)(atomic_load_explicit(&ring.added, memory_order_acquire) -
                    atomic_load_explicit(&ring.taken, memory_order_acquire));
}

/* False: there is no room. */
static bool add(const char *line, size_t n)
{
    const uint64_t added = atomic_load_explicit(&ring.added, memory_order_relaxed);
    const size_t at = added % CAPACITY, first = n < CAPACITY - at ? n : CAPACITY - at;

    if (CAPACITY - waiting() < n)
        return false;
    memcpy(ring.bytes + at, line, first);
    memcpy(ring.bytes, line + first, n - first);
    atomic_store_explicit(&ring.added, added + n, memory_order_release);
    return true;
}

/* Takes as many whole lines as fit; 0: there is none. */
static size_t take(char out[LOG_LINE_MAX])
{
    const uint64_t taken = atomic_load_explicit(&ring.taken, memory_order_relaxed);
    const size_t all = waiting(), n = all < LOG_LINE_MAX ? all : LOG_LINE_MAX;
    const size_t at = taken % CAPACITY, first = n < CAPACITY - at ? n : CAPACITY - at;
    size_t whole = n;

    memcpy(out, ring.bytes + at, first);
    memcpy(out + first, ring.bytes, n - first);
    while (whole > 0 && out[whole - 1] != '\n')
        whole--;
    atomic_store_explicit(&ring.taken, taken + whole, memory_order_release);
    return whole;
}

/* -- writing --------------------------------------------------------------------------------- */

/* False: standard error takes nothing more until `until_us`. */
static bool await_room(int64_t until_us)
{
    const int64_t left_us = until_us - clock_mono_us();
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (until_us == INT64_MAX)
        return poll(&out, 1, -1) >= 0 || errno == EINTR;
    return left_us >= 0 && poll(&out, 1, (int)(left_us / 1000)) > 0;
}

static void drop(const char *lines, size_t n)
{
    uint64_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += lines[i] == '\n';
    atomic_fetch_add_explicit(&dropped, count, memory_order_relaxed);
}

/* False: not everything was written; counts the lines that were not. */
static bool write_out(const char *lines, size_t n, int64_t until_us)
{
    while (n > 0) {
        ssize_t done = -1;

        if (until_us != INT64_MAX && !await_room(until_us))
            break;
        done = write(STDERR_FILENO, lines, n);
        if (done >= 0) {
            lines += done;
            n -= (size_t)done;
        } else if (errno == EAGAIN && await_room(until_us)) {
            continue; /* another process has made standard error non-blocking */
        } else if (errno != EINTR) {
            break;
        }
    }
    drop(lines, n);
    return n == 0;
}

static void tell_lost(int64_t until_us)
{
    const uint64_t now = log_writer_dropped();
    char line[LOG_LINE_MAX];

    if (now != told && write_out(line, log_format_lost(now - told, line), until_us))
        told = now;
}

/* False: another thread is writing. Without `tells_lost`, calls only what a signal handler may
   call: formatting a line takes locks. */
static bool write_waiting(int64_t until_us, bool tells_lost)
{
    char lines[LOG_LINE_MAX];
    bool is_whole = true;
    size_t n;

    if (atomic_exchange(&ring.is_being_taken, true))
        return false;
    while ((n = take(lines)) > 0)
        is_whole = write_out(lines, n, until_us) && is_whole;
    if (is_whole && tells_lost)
        tell_lost(until_us);
    atomic_store(&ring.is_being_taken, false);
    return true;
}

/* -- the thread ------------------------------------------------------------------------------ */

/* Waits a little, so that lines in quick succession leave in one write. */
static void gather(void)
{
    const int64_t until_us = clock_mono_us() + GATHER_MS * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};

    writer.state = GATHERING;
    while (!writer.at_once && !writer.is_ending && waiting() < CAPACITY / 2 &&
           pthread_cond_timedwait(&writer.wake, &writer.lock, &until) != ETIMEDOUT)
        ;
}

/* False: the thread must end, and no line is left. */
static bool await_lines(void)
{
    bool has_lines;

    pthread_mutex_lock(&writer.lock);
    while (waiting() == 0 && !writer.is_ending) {
        writer.state = IDLE;
        pthread_cond_wait(&writer.wake, &writer.lock);
    }
    gather();
    writer.state = BUSY;
    writer.at_once = false;
    has_lines = waiting() > 0;
    pthread_mutex_unlock(&writer.lock);
    return has_lines;
}

static void *run(void *unused)
{
    const struct sched_param none = {0};

    /* It does not preempt the thread that wakes it. */
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    while (await_lines())
        (void)write_waiting(INT64_MAX, true);
    pthread_mutex_lock(&writer.lock);
    writer.has_ended = true;
    pthread_cond_signal(&writer.ended);
    pthread_mutex_unlock(&writer.lock);
    return NULL;
}

void log_writer_add(const char *line, size_t n, bool at_once)
{
    bool wake;

    pthread_mutex_lock(&writer.lock);
    if (!add(line, n))
        atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    writer.at_once = writer.at_once || at_once;
    wake = writer.state == IDLE ||
           (writer.state == GATHERING && (at_once || waiting() >= CAPACITY / 2));
    if (wake)
        writer.state = BUSY;
    pthread_mutex_unlock(&writer.lock);
    if (wake)
        pthread_cond_signal(&writer.wake);
}

/* -- the end --------------------------------------------------------------------------------- */

static void say_farewell(void)
{
    const int64_t until_us = clock_mono_us() + FAREWELL_MS * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    bool has_ended;

    pthread_mutex_lock(&writer.lock);
    writer.is_ending = true;
    pthread_cond_signal(&writer.wake);
    while (!writer.has_ended &&
           pthread_cond_timedwait(&writer.ended, &writer.lock, &until) != ETIMEDOUT)
        ;
    has_ended = writer.has_ended;
    pthread_mutex_unlock(&writer.lock);
    if (has_ended)
        (void)pthread_join(writer.thread, NULL);
}

/* Calls only what a signal handler may call. If the writer thread is writing, waits for it. */
static void on_mistake(int number)
{
    const int64_t until_us = clock_mono_us() + LAST_WORDS_MS * 1000;
    const int saved_errno = errno;

    while ((!write_waiting(until_us, false) || waiting() > 0) && clock_mono_us() < until_us)
        (void)poll(NULL, 0, 1);
    errno = saved_errno;
    (void)raise(number); /* the handler has been reset to the default */
}

static void watch_mistakes(void)
{
    static const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const struct sigaction ours = {.sa_handler = on_mistake, .sa_flags = (int)SA_RESETHAND};
    struct sigaction theirs;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        /* A sanitizer has its own handlers. */
        if (sigaction(numbers[i], NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL)
            (void)sigaction(numbers[i], &ours, NULL);
    }
}

void log_writer_start(void)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;

    must(!writer.has_started);
    must(pthread_condattr_init(&monotonic) == 0 &&
         pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
         pthread_cond_init(&writer.wake, &monotonic) == 0 &&
         pthread_cond_init(&writer.ended, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    /* Blocks all signals on this thread, which leaves them to the others. */
    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    must(pthread_create(&writer.thread, NULL, run, NULL) == 0);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    watch_mistakes();
    must(atexit(say_farewell) == 0);
    atomic_store(&writer.has_started, true);
}

bool log_writer_has_started(void)
{
    return atomic_load_explicit(&writer.has_started, memory_order_acquire);
}

void log_writer_write(const char *line, size_t n)
{
    (void)write_out(line, n, INT64_MAX);
}

uint64_t log_writer_dropped(void)
{
    return atomic_load_explicit(&dropped, memory_order_relaxed);
}
