#include "tests/support/measure.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t limit_scaled(int64_t limit)
{
    const char *text = getenv("TEST_LIMIT_SCALE");
    int factor = text != NULL ? atoi(text) : 1;

    return limit * (factor > 1 ? factor : 1);
}

int long_form_or(int whole, int usual)
{
    const char *asked = getenv("TEST_LONG");

    return asked != NULL && strcmp(asked, "1") == 0 ? whole : usual;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t percentile(int64_t *values, size_t n, int percent)
{
    cr_assert(n > 0 && percent >= 0 && percent <= 100, "percentile %d of %zu values", percent, n);
    qsort(values, n, sizeof(*values), by_value);
    return values[(n - 1) * (size_t)percent / 100];
}

/* From the line "NAME: N kB" of /proc/PID/status. */
static long status_kb(pid_t pid, const char *name)
{
    const size_t n = strlen(name);
    char path[64], line[256];
    FILE *file;
    long kb = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            kb = strtol(line + n + 1, NULL, 10);
    fclose(file);
    cr_assert_gt(kb, 0);
    return kb;
}

long measure_memory_kb(pid_t pid)
{
    return status_kb(pid, "VmRSS");
}

void measure_peak_from_now(pid_t pid)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
    file = fopen(path, "we");
    cr_assert(file != NULL && fputs("5", file) >= 0 && fclose(file) == 0);
}

long measure_peak_kb(pid_t pid)
{
    return status_kb(pid, "VmHWM");
}
