#include "common/base/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/base/version.h"
#include "common/base/watchdog.h"

enum { BUCKETS_MAX = 16 };

/* Upper bounds of buckets, and how many stored units make one displayed unit. */
struct scale {
    int64_t per_unit;
    size_t n;
    int64_t max[BUCKETS_MAX];
};

static const struct scale scale_seconds = {
    .per_unit = 1000000,
    .n = 16,
    .max = {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
            2500000, 5000000, 10000000},
};
static const struct scale scale_count = {
    .per_unit = 1,
    .n = 11,
    .max = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
};

/* The series of a list, and how many there are. */
struct listed {
    pthread_mutex_t lock;
    size_t n;
    struct metric_series at[METRIC_LISTED_MAX];
};

struct metric {
    struct metric *next;
    const char *name, *labels, *help, *type;
    const struct scale *scale; /* NULL unless a histogram */
    struct listed *listed;     /* NULL unless a list */
    bool is_shown_when_used;
    atomic_int_least64_t value;               /* of a histogram: the sum */
    atomic_int_least64_t in[BUCKETS_MAX + 1]; /* observations by bucket; the last is +Inf */
};

static struct metric *first, *last;

/* -- registering ------------------------------------------------------------------------------- */

/* A name must not be used again after another one: its series must be adjacent. */
static bool name_is_closed(const char *name)
{
    for (const struct metric *m = first; m != NULL && m != last; m = m->next)
        if (strcmp(m->name, name) == 0)
            return strcmp(last->name, name) != 0;
    return false;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static struct metric *add_metric(const char *type, const char *name, const char *labels,
                                 const char *help)
{
    struct metric *metric = calloc(1, sizeof(*metric));

    must(!name_is_closed(name));
    must(metric != NULL);
    *metric = (struct metric){
        .name = strdup(name),
        .labels = strdup(labels != NULL ? labels : ""),
        .help = help,
        .type = type,
    };
    must(metric->name != NULL && metric->labels != NULL);
    if (last != NULL)
        last->next = metric;
    else
        first = metric;
    last = metric;
    return metric;
}

struct metric *metric_counter(const char *name, const char *labels, const char *help)
{
    must(ends_with(name, "_total"));
    return add_metric("counter", name, labels, help);
}

struct metric *metric_gauge(const char *name, const char *labels, const char *help)
{
    must(!ends_with(name, "_total"));
    return add_metric("gauge", name, labels, help);
}

static struct metric *add_histogram(const struct scale *scale, const char *name, const char *labels,
                                    const char *help)
{
    struct metric *metric = add_metric("histogram", name, labels, help);

    metric->scale = scale;
    return metric;
}

struct metric *metric_histogram_seconds(const char *name, const char *labels, const char *help)
{
    must(ends_with(name, "_seconds"));
    return add_histogram(&scale_seconds, name, labels, help);
}

struct metric *metric_histogram_count(const char *name, const char *labels, const char *help)
{
    return add_histogram(&scale_count, name, labels, help);
}

struct metric *metric_gauge_list(const char *name, const char *help)
{
    struct metric *metric = metric_gauge(name, NULL, help);
    int failed;

    metric->listed = calloc(1, sizeof(*metric->listed));
    must(metric->listed != NULL);
    failed = pthread_mutex_init(&metric->listed->lock, NULL);
    must(failed == 0);
    return metric;
}

void metric_show_when_used(struct metric *metric)
{
    metric->is_shown_when_used = true;
}

/* -- updating ---------------------------------------------------------------------------------- */

void metric_add(struct metric *metric, int64_t n)
{
    atomic_fetch_add_explicit(&metric->value, n, memory_order_relaxed);
}

void metric_set(struct metric *metric, int64_t value)
{
    atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void metric_list(struct metric *metric, const struct metric_series *series, size_t n)
{
    struct listed *listed = metric->listed;

    pthread_mutex_lock(&listed->lock);
    listed->n = n < METRIC_LISTED_MAX ? n : METRIC_LISTED_MAX;
    memcpy(listed->at, series, listed->n * sizeof(*series));
    pthread_mutex_unlock(&listed->lock);
}

int64_t metric_read(const struct metric *metric)
{
    return atomic_load_explicit(&metric->value, memory_order_relaxed);
}

void metric_observe(struct metric *metric, int64_t value)
{
    const struct scale *scale = metric->scale;
    size_t bucket = 0;

    if (value < 0)
        value = 0;
    while (bucket < scale->n && value > scale->max[bucket])
        bucket++;
    atomic_fetch_add_explicit(&metric->in[bucket], 1, memory_order_relaxed);
    metric_add(metric, value);
}

/* -- rendering --------------------------------------------------------------------------------- */

/* name{labels} value, with the value in the displayed unit. */
static void render_value(struct buf *out, const struct metric *metric, const char *suffix,
                         int64_t value, int64_t per_unit)
{
    buf_printf(out, *metric->labels ? "%s%s{%s} " : "%s%s%s ", metric->name, suffix,
               metric->labels);
    buf_int(out, value / per_unit);
    if (per_unit > 1)
        buf_printf(out, ".%06d", (int)(value % per_unit));
    buf_char(out, '\n');
}

static void render_bucket(struct buf *out, const struct metric *metric, const char *max,
                          int64_t count)
{
    buf_printf(out, "%s_bucket{%s%sle=\"%s\"} ", metric->name, metric->labels,
               *metric->labels ? "," : "", max);
    buf_int(out, count);
    buf_char(out, '\n');
}

static void render_histogram(struct buf *out, const struct metric *metric)
{
    const struct scale *scale = metric->scale;
    int64_t count = 0;
    char max[32];

    for (size_t i = 0; i <= scale->n; i++) {
        count += atomic_load_explicit(&metric->in[i], memory_order_relaxed);
        if (i < scale->n)
            snprintf(max, sizeof(max), "%.10g", (double)scale->max[i] / (double)scale->per_unit);
        render_bucket(out, metric, i < scale->n ? max : "+Inf", count);
    }
    render_value(out, metric, "_sum", atomic_load_explicit(&metric->value, memory_order_relaxed),
                 scale->per_unit);
    /* Counted from the buckets, so that both agree while others observe. */
    render_value(out, metric, "_count", count, 1);
}

static void render_list(struct buf *out, const struct metric *metric)
{
    struct listed *listed = metric->listed;

    pthread_mutex_lock(&listed->lock);
    for (size_t i = 0; i < listed->n; i++)
        buf_printf(out, "%s{%s} %" PRId64 "\n", metric->name, listed->at[i].labels,
                   listed->at[i].value);
    pthread_mutex_unlock(&listed->lock);
}

/* -- the process ------------------------------------------------------------------------------- */

static int64_t started_us;
static const char *cell_name;

__attribute__((constructor)) static void on_load(void)
{
    started_us = clock_us();
}

static int64_t time_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static int64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    struct str sizes;
    uint64_t pages = 0;

    if (file == NULL)
        return 0;
    if (fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0';
    fclose(file);
    sizes = str_of(line);
    (void)str_cut(&sizes, ' '); /* skips the size of the address space */
    if (!str_to_u64(str_cut(&sizes, ' '), INT32_MAX, &pages))
        return 0;
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void begin_process_metric(struct buf *out, const char *name, const char *type,
                                 const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s", name, help, name, type, name);
}

void metrics_name_cell(const char *cell)
{
    cell_name = cell;
}

static void render_seconds(struct buf *out, int64_t us)
{
    buf_printf(out, " %" PRId64 ".%06" PRId64 "\n", us / 1000000, us % 1000000);
}

static void render_process(struct buf *out)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    begin_process_metric(out, "conversations_build_info", "gauge",
                         "Version of the program, always 1.");
    buf_printf(out, "{version=\"%s\",revision=\"%s\"", version_text, version_revision);
    if (cell_name != NULL)
        buf_printf(out, ",cell=\"%s\"", cell_name);
    buf_add(out, STR("} 1\n"));
    begin_process_metric(out, "process_cpu_seconds_total", "counter", "CPU time used.");
    render_seconds(out, time_us(usage.ru_utime) + time_us(usage.ru_stime));
    begin_process_metric(out, "process_start_time_seconds", "gauge",
                         "When the process started, Unix time.");
    render_seconds(out, started_us);
    begin_process_metric(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
    buf_printf(out, " %" PRId64 "\n", resident_bytes());
    begin_process_metric(out, "conversations_threads_hung", "gauge",
                         "Threads that have not responded for more than three seconds.");
    buf_printf(out, " %zu\n", watchdog_overdue(WATCHDOG_READY_US, NULL));
    begin_process_metric(out, "log_lines_dropped_total", "counter",
                         "Log lines that could not be written.");
    buf_printf(out, " %" PRIu64 "\n", log_dropped());
}

/* -- all of them ------------------------------------------------------------------------------- */

static bool is_used(const struct metric *metric)
{
    int64_t n = metric_read(metric);

    for (size_t i = 0; metric->scale != NULL && i <= metric->scale->n; i++)
        n += atomic_load_explicit(&metric->in[i], memory_order_relaxed);
    return n != 0;
}

void metrics_render(struct buf *out)
{
    const char *name = "";

    for (const struct metric *m = first; m != NULL; m = m->next) {
        if (m->is_shown_when_used && !is_used(m))
            continue;
        if (strcmp(m->name, name) != 0)
            buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
        name = m->name;
        if (m->scale != NULL)
            render_histogram(out, m);
        else if (m->listed != NULL)
            render_list(out, m);
        else
            render_value(out, m, "", atomic_load_explicit(&m->value, memory_order_relaxed), 1);
    }
    render_process(out);
}
