#include "common/base/metrics_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/base/version.h"
#include "common/base/watchdog.h"

static int64_t started_us;

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

    if (!file)
        return 0;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    sizes = str_of(line);
    (void)str_cut(&sizes, ' '); /* the first is that of the address space */
    if (!str_to_u64(str_cut(&sizes, ' '), INT32_MAX, &pages))
        return 0;
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void render(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s", name, help, name, type, name);
}

static void render_us(struct buf *out, int64_t us)
{
    buf_printf(out, " %" PRId64 ".%06" PRId64 "\n", us / 1000000, us % 1000000);
}

void metrics_render_process(struct buf *out)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    render(out, "conversations_build_info", "gauge", "Version of the program, always 1.");
    buf_printf(out, "{version=\"%s\",revision=\"%s\"} 1\n", version_text, version_revision);
    render(out, "process_cpu_seconds_total", "counter", "CPU time used.");
    render_us(out, time_us(usage.ru_utime) + time_us(usage.ru_stime));
    render(out, "process_start_time_seconds", "gauge", "When the process started, Unix time.");
    render_us(out, started_us);
    render(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
    buf_printf(out, " %" PRId64 "\n", resident_bytes());
    render(out, "conversations_threads_standing", "gauge",
           "Threads that have not responded for more than three seconds.");
    buf_printf(out, " %zu\n", watchdog_overdue(WATCHDOG_READY_US, NULL));
    render(out, "log_lines_dropped_total", "counter", "Log lines that could not be written.");
    buf_printf(out, " %" PRIu64 "\n", log_dropped());
}
