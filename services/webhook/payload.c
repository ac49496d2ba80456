#include "services/webhook/payload.h"

#include <inttypes.h>
#include <string.h>

#include "common/crypto/crypto.h"
#include "common/wire/json.h"

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
    crypto_hex(mac, sizeof(mac), signature + 3);
}
