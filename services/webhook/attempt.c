#include "services/webhook/attempt.h"

#include <string.h>

#include "common/base/ascii.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"

const char *failure_name(enum failure failure)
{
    static const char *const names[FAILURES] = {
#define FAILURE(symbol, name) [symbol] = (name),
#include "services/webhook/failure.def"
#undef FAILURE
    };

    return names[failure];
}

int64_t attempt_limit_us(const struct attempt *attempt)
{
    return attempt->begun_us + ATTEMPT_LIMIT_MS * INT64_C(1000);
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

/* -- payloads ---------------------------------------------------------------------------------- */

struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data)
{
    struct buf out;

    buf_init(&out, arena, data.n + 160);
    buf_add(&out, STR("{\"id\":\"evt_"));
    buf_add(&out, id);
    buf_add(&out, STR("\",\"type\":"));
    json_add_string(&out, type);
    buf_add(&out, STR(",\"created_at\":"));
    buf_int(&out, created_at);
    buf_add(&out, STR(",\"data\":"));
    buf_add(&out, data);
    buf_char(&out, '}');
    return buf_str(&out);
}

void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1])
{
    uint8_t mac[SHA256_BYTES];
    struct buf signed_bytes;

    buf_init(&signed_bytes, arena, body.n + 24);
    buf_int(&signed_bytes, timestamp);
    buf_char(&signed_bytes, '.');
    buf_add(&signed_bytes, body);
    crypto_hmac_sha256(secret, buf_str(&signed_bytes), mac);
    memcpy(signature, "v1=", sizeof("v1="));
    hex_write(mac, sizeof(mac), signature + 3);
}
