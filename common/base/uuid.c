#include "common/base/uuid.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/log.h"

enum {
    COUNTER_MAX = 0xFFF,  /* the 12 bits behind the time */
    COUNTER_SEED = 0x7FF, /* half of them, so that a millisecond has room for 2,048 ids */
    CLOCK_STEP_BACK_MS =
        1000, /* up to here we go on from the latest; beyond it the clock was set */
};

/* Per thread: random bytes fetched a page at a time, and the last id's time and counter. */
static _Thread_local struct {
    uint8_t random[512];
    size_t left;
    int64_t ms;
    uint32_t counter;
} state;

/* A child must not give out the random bytes that its parent has as well. */
static void on_fork(void)
{
    state.left = 0;
}

__attribute__((constructor)) static void on_load(void)
{
    pthread_atfork(NULL, NULL, on_fork);
}

static void take_random(uint8_t *out, size_t n)
{
    if (state.left < n) {
        ssize_t got;

        /* Up to 256 bytes a call are never cut short; more may be, by a signal. */
        for (size_t at = 0; at < sizeof(state.random); at += (size_t)got) {
            got = getrandom(state.random + at, sizeof(state.random) - at, 0);
            must(got > 0 || errno == EINTR);
            if (got < 0)
                got = 0;
        }
        state.left = sizeof(state.random);
    }
    state.left -= n;
    memcpy(out, state.random + state.left, n);
}

struct uuid uuid_v7(int64_t now_us)
{
    int64_t ms = now_us / 1000;
    struct uuid id;
    uint64_t head;

    take_random(id.b + 6, sizeof(id.b) - 6);
    if (ms > state.ms || ms < state.ms - CLOCK_STEP_BACK_MS) {
        state.ms = ms;
        state.counter = ((uint32_t)id.b[6] << 8 | id.b[7]) & COUNTER_SEED;
    } else if (state.counter < COUNTER_MAX) {
        state.counter++;
    } else {
        state.ms++; /* borrowed from the next millisecond */
        state.counter = 0;
    }

    head = htobe64((uint64_t)state.ms << 16 | 0x7000 | state.counter);
    memcpy(id.b, &head, sizeof(head));
    id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3F));
    return id;
}

int64_t uuid_v7_ms(const struct uuid *id)
{
    uint64_t head;

    memcpy(&head, id->b, sizeof(head));
    return (int64_t)(be64toh(head) >> 16);
}

/* Where each byte's two digits stand in the text. */
static const uint8_t digits_at[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void uuid_format(const struct uuid *id, char text[UUID_TEXT + 1])
{
    static const char digits[] = "0123456789abcdef";

    text[8] = text[13] = text[18] = text[23] = '-';
    for (size_t i = 0; i < sizeof(id->b); i++) {
        text[digits_at[i]] = digits[id->b[i] >> 4];
        text[digits_at[i] + 1] = digits[id->b[i] & 0xF];
    }
    text[UUID_TEXT] = '\0';
}

/* A digit's value with VALID beside it; 0 for what is no digit. */
enum { VALID = 0x10 };
static const uint8_t digit_of[256] = {
    ['0'] = VALID,      ['1'] = VALID | 1,  ['2'] = VALID | 2,  ['3'] = VALID | 3,
    ['4'] = VALID | 4,  ['5'] = VALID | 5,  ['6'] = VALID | 6,  ['7'] = VALID | 7,
    ['8'] = VALID | 8,  ['9'] = VALID | 9,  ['a'] = VALID | 10, ['b'] = VALID | 11,
    ['c'] = VALID | 12, ['d'] = VALID | 13, ['e'] = VALID | 14, ['f'] = VALID | 15,
};

bool uuid_parse(struct str text, struct uuid *out)
{
    const unsigned char *p = (const unsigned char *)text.p;
    struct uuid id;
    unsigned all = VALID;

    if (text.n != UUID_TEXT || p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-')
        return false;
    for (size_t i = 0; i < sizeof(id.b); i++) {
        unsigned high = digit_of[p[digits_at[i]]], low = digit_of[p[digits_at[i] + 1]];

        all &= high & low;
        id.b[i] = (uint8_t)(high << 4 | (low & 0xF));
    }
    if (!(all & VALID))
        return false;
    *out = id;
    return true;
}

bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

bool uuid_is_nil(const struct uuid *id)
{
    return uuid_equal(id, &(struct uuid){{0}});
}
