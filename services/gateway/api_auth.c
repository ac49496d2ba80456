#include "services/gateway/api_auth.h"

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"

/* -- the key --------------------------------------------------------------------------------- */

enum authorization authorization_read(struct str value, size_t n, struct str *token)
{
    struct str scheme, rest = value;

    if (n == 0)
        return AUTHORIZATION_MISSING;
    if (n > 1)
        return AUTHORIZATION_MALFORMED;
    scheme = str_cut(&rest, ' ');
    if (!str_equal_nocase(scheme, STR("bearer")) || rest.p == NULL)
        return AUTHORIZATION_MALFORMED;
    switch (token_classify(rest)) {
    case TOKEN_LIVE:
    case TOKEN_READ:
        *token = rest;
        return AUTHORIZATION_TOKEN;
    case TOKEN_LEGACY:
        return AUTHORIZATION_LEGACY;
    case TOKEN_MALFORMED:
        break;
    }
    return AUTHORIZATION_MALFORMED;
}

/* -- the checks ------------------------------------------------------------------------------ */

static enum outcome check_route(enum api_route_end end)
{
    switch (end) {
    case API_ROUTE_FOUND:
        return OUTCOME_OK;
    case API_ROUTE_NO_METHOD:
        return OUTCOME_METHOD_NOT_ALLOWED;
    case API_ROUTE_UNKNOWN:
    case API_ROUTE_OUTSIDE:
        break;
    }
    return OUTCOME_NOT_FOUND;
}

enum outcome checks_run(const struct facts *facts)
{
    const struct key_record *record = facts->record;
    const struct api_route *route = facts->route;
    enum outcome outcome;

    if (!record->plan_has_api)
        return OUTCOME_API_PLAN_RESTRICTED;
    if (record->require_https && !facts->is_https)
        return OUTCOME_HTTPS_REQUIRED;
    if (record->ip_allowlist_enabled && !key_record_lists(record, &facts->client))
        return OUTCOME_IP_NOT_ALLOWED;
    if (facts->over_limit)
        return OUTCOME_RATE_LIMITED;
    outcome = check_route(route->end);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (!facts->accepts_json)
        return OUTCOME_NOT_ACCEPTABLE;
    if (route->writes && !record->may_write)
        return OUTCOME_INSUFFICIENT_SCOPE;
    if (route->has_body && !facts->sends_json)
        return OUTCOME_UNSUPPORTED_MEDIA;
    return facts->too_large ? OUTCOME_PAYLOAD_TOO_LARGE : OUTCOME_OK;
}
