#include "common/base/clock_check.h"

#include <stdlib.h>

int64_t clock_difference_ms(int64_t asked_ms, int64_t heard_ms, int64_t theirs_ms)
{
    if (theirs_ms < asked_ms)
        return asked_ms - theirs_ms;
    return theirs_ms > heard_ms ? heard_ms - theirs_ms : 0;
}

bool clock_is_skewed(int64_t difference_ms)
{
    return llabs(difference_ms) > CLOCK_SKEW_MAX_MS;
}

int64_t clock_seconds(int64_t difference_ms)
{
    return (difference_ms + (difference_ms > 0 ? 999 : -999)) / 1000;
}

void clock_check_note(struct clock_check *check, enum clock_source source, int64_t asked_ms,
                      int64_t heard_ms, int64_t theirs_ms)
{
    check->of[source].skew_ms[check->of[source].n++ % CLOCK_CHECK_REPLIES] =
        clock_difference_ms(asked_ms, heard_ms, theirs_ms);
    check->of[source].silent = 0;
}

void clock_check_ask(struct clock_check *check)
{
    for (int i = 0; i < CLOCK_SOURCES; i++)
        if (check->of[i].silent++ >= CLOCK_CHECK_SILENT)
            check->of[i].n = 0;
}

int64_t clock_check_skew_ms(const struct clock_check *check, enum clock_source source)
{
    const int64_t *skew_ms = check->of[source].skew_ms;
    const unsigned n =
        check->of[source].n < CLOCK_CHECK_REPLIES ? check->of[source].n : CLOCK_CHECK_REPLIES;
    int64_t nearest_ms = n > 0 ? skew_ms[0] : 0;

    for (unsigned i = 1; i < n; i++)
        if (llabs(skew_ms[i]) < llabs(nearest_ms))
            nearest_ms = skew_ms[i];
    return nearest_ms;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Our own difference is 0, so of the two in the middle of an even number the one nearer to 0 is
   nearer to ours. */
int64_t clock_check_wrong_ms(const struct clock_check *check)
{
    int64_t clocks_ms[CLOCK_SOURCES + 1] = {0}, lower_ms, upper_ms;
    size_t n = 1;

    for (int i = 0; i < CLOCK_SOURCES; i++)
        if (check->of[i].n > 0)
            clocks_ms[n++] = clock_check_skew_ms(check, (enum clock_source)i);
    qsort(clocks_ms, n, sizeof(clocks_ms[0]), by_value);
    lower_ms = clocks_ms[(n - 1) / 2];
    upper_ms = clocks_ms[n / 2];
    return llabs(lower_ms) < llabs(upper_ms) ? lower_ms : upper_ms;
}

bool clock_check_confirms(const struct clock_check *check, int64_t jump_ms)
{
    size_t n = 0;

    for (int i = 0; i < CLOCK_SOURCES; i++) {
        const unsigned replies = check->of[i].n;
        int64_t latest_ms;

        if (replies == 0)
            continue;
        latest_ms = check->of[i].skew_ms[(replies - 1) % CLOCK_CHECK_REPLIES];
        if (llabs(latest_ms + jump_ms) >= llabs(latest_ms))
            return false;
        n++;
    }
    return n > 0;
}
