#include "common/base/uuid.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/ascii.h"
#include "common/base/log.h"

enum {
    COUNTER_MAX = 0xFFF,  /* the 12 bits after the time */
    COUNTER_SEED = 0x7FF, /* lower half, so that a millisecond has room for 2,048 ids */
    CLOCK_STEP_BACK_MS =
        /* A smaller step back continues from the latest id; a larger one means that the clock was
           set. */
    1000,
};

/* Per thread: random bytes, fetched 512 at a time, and the last id's time and counter. */
static _Thread_local struct {
    uint8_t random[512];
    size_t left;
    int64_t ms;
    uint32_t counter;
} state;

/* A child process must not use the random bytes that its parent has, too. */
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

        /* A call for up to 256 bytes is never cut short; a signal may cut a longer one short. */
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

/* The groups of digits in the text: first byte, number of bytes, position in the text. */
static const struct group {
    size_t byte, n, at;
} groups[] = {{0, 4, 0}, {4, 2, 9}, {6, 2, 14}, {8, 2, 19}, {10, 6, 24}};

void uuid_format(const struct uuid *id, char text[UUID_TEXT + 1])
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        hex_write(id->b + groups[i].byte, groups[i].n, text + groups[i].at);
    text[8] = text[13] = text[18] = text[23] = '-';
}

bool uuid_parse(struct str text, struct uuid *out)
{
    struct uuid id;

    if (text.n != UUID_TEXT || text.p[8] != '-' || text.p[13] != '-' || text.p[18] != '-' ||
        text.p[23] != '-')
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        const struct group *group = &groups[i];

        if (!hex_read((struct str){text.p + group->at, 2 * group->n}, id.b + group->byte, group->n))
            return false;
    }
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
