#include "common/http/clock_check.h"

#include <stdlib.h>

void clock_check_note(struct clock_check *check, int64_t asked_ms, int64_t heard_ms,
                      int64_t theirs_ms)
{
    int64_t apart_ms = 0;

    if (theirs_ms < asked_ms)
        apart_ms = asked_ms - theirs_ms;
    else if (theirs_ms > heard_ms)
        apart_ms = heard_ms - theirs_ms;
    check->apart_ms[check->n++ % CLOCK_CHECK_REPLIES] = apart_ms;
}

int64_t clock_check_apart_ms(const struct clock_check *check)
{
    const unsigned n = check->n < CLOCK_CHECK_REPLIES ? check->n : CLOCK_CHECK_REPLIES;
    int64_t nearest_ms = n > 0 ? check->apart_ms[0] : 0;

    for (unsigned i = 1; i < n; i++)
        if (llabs(check->apart_ms[i]) < llabs(nearest_ms))
            nearest_ms = check->apart_ms[i];
    return nearest_ms;
}

int64_t clock_check_apart_s(const struct clock_check *check)
{
    const int64_t apart_ms = clock_check_apart_ms(check);

    return (apart_ms + (apart_ms > 0 ? 999 : -999)) / 1000;
}

bool clock_check_is_apart(const struct clock_check *check)
{
    return llabs(clock_check_apart_ms(check)) > CLOCK_APART_MS;
}
