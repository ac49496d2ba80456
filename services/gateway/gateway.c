#include "services/gateway/gateway.h"

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "proto/headers.h"

enum status gateway_call(struct gateway *gateway, struct call_request *call)
{
    struct uuid request_id = uuid_v7(clock_us());
    char id[UUID_TEXT + 1];
    uint64_t handle;

    uuid_format(&request_id, id);
    call_headers_add(&call->headers, HEADER_REQUEST_ID, id);
    call->timeout = CALL_TIMEOUT_SHORT;
    return calls_start(&gateway->edge.calls, call, &handle);
}
