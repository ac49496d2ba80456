#include "services/webhook/attempt.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

const char *failure_name(enum failure failure)
{
    static const char *const names[FAILURES] = {
#define FAILURE(symbol, name) [symbol] = (name),
#include "services/webhook/failure.def"
#undef FAILURE
    };

    return names[failure];
}

int attempt_left_ms(const struct attempt *attempt)
{
    const int64_t left_us = attempt->begun_us + ATTEMPT_LIMIT_MS * INT64_C(1000) - clock_mono_us();

    return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

void attempt_end(struct attempt *attempt, enum failure failure)
{
    attempt->has_ended = true;
    attempt->failure = failure;
    attempt->total_us = clock_mono_us() - attempt->begun_us;
    attempt->finished_ms = clock_us() / 1000;
}

static bool is_inert(uint32_t c)
{
    if (c == '\n' || c == '\t')
        return true;
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || c == 0x061c)
        return false;
    return !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

struct str attempt_inert(struct arena *arena, struct str bytes)
{
    char *const out = arena_alloc(arena, bytes.n + 1);
    size_t n = 0;

    while (bytes.n > 0) {
        uint32_t code = 0;
        const size_t used = utf8_decode(bytes, &code);

        if (used > 0 && is_inert(code)) {
            memcpy(out + n, bytes.p, used);
            n += used;
        } else {
            out[n++] = '.';
        }
        bytes = str_skip(bytes, used > 0 ? used : 1);
    }
    return (struct str){out, n};
}
