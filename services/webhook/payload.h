/*
 * payload - the bytes of an event as receivers get them, and their signature.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_WEBHOOK_PAYLOAD_H
#define SERVICES_WEBHOOK_PAYLOAD_H

#include "common/base/buf.h"
#include "services/webhook/attempt.h"

/* {"id":"evt_...","type":...,"created_at":...,"data":{...}}: `id` is 32 hex digits, `data` is JSON.
 */
struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data);

/* "v1=" and HMAC-SHA-256, keyed with the whole secret, of timestamp, full stop and body. */
void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1]);

#endif
