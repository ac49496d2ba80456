/* An Authorization header yields a token only if the token is all that follows `Bearer `. The
   parsers of the other headers that the gateway reads itself accept any bytes. */
#include <stdint.h>

#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/http/request_headers.h"
#include "services/gateway/api_auth.h"
#include "services/gateway/api_route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_authorization(struct str value)
{
    struct str token = STR_NONE;
    enum authorization result = authorization_read(value, 1, &token);

    must((result == AUTHORIZATION_TOKEN) == (token.p != NULL));
    must(authorization_read(value, 0, &token) == AUTHORIZATION_MISSING);
    must(authorization_read(value, 2, &token) == AUTHORIZATION_MALFORMED);
    if (token.p == NULL)
        return;
    must(value.n == token.n + sizeof("Bearer ") - 1);
    must(token.p + token.n == value.p + value.n);
    must(token_classify(token) == TOKEN_LIVE || token_classify(token) == TOKEN_READ);
}

static void check_route(struct str target)
{
    struct api_route route = api_route_find(STR("GET"), target);

    must((route.end == API_ROUTE_NO_METHOD) == (route.allow != NULL));
    must(route.end != API_ROUTE_FOUND || route.resource_id.n <= API_ROUTE_RESOURCE_MAX);
    must(route.resource_id.n <= target.n && route.query.n <= target.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct request_headers headers = {.content_type.n = 1, .content_encoding.n = 1};
    struct str value = {(const char *)data, n};

    check_authorization(value);
    check_route(value);
    (void)media_accepts_json(&value, 1);
    headers.content_type.value = headers.content_encoding.value = value;
    (void)media_body_error(&headers);
    return 0;
}
