/*
 * authenticate, quota - what gateways ask about a key.
 *
 * Answer   authenticate: ok, or unauthorized; quota: ok
 * Retry    authenticate is idempotent; a quota whose answer was lost stays taken
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"
#include "common/json/fields.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/access.h"

/* -- authenticate ---------------------------------------------------------------------------- */

struct authenticate {
    struct str token_hash;
};

static const struct field authenticate_fields[] = {
    {.name = "token_hash",
     .kind = FIELD_TEXT,
     .required = true,
     .min = 2 * SHA256_BYTES,
     .max = 2 * SHA256_BYTES,
     .offset = offsetof(struct authenticate, token_hash)},
    FIELDS_END,
};

static enum status authenticate_parse(struct command *command, void *service)
{
    const struct access *self = service;
    struct operator_query *query = operator_query_of(command, SQL_AUTHENTICATE);
    const struct authenticate *body = command->input;
    uint8_t hash[SHA256_BYTES];

    if (!hex_read(body->token_hash, hash, sizeof(hash)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "token_hash",
                              "must be a SHA-256 in lower-case hexadecimal digits");
    params_add(&query->params, body->token_hash);
    params_add_int(&query->params, command->arena, self->rate_limit_default);
    return ST_OK;
}

const struct command_handler access_authenticate = {
    .subject = SUBJECT_ACCESS_AUTHENTICATE,
    .fields = authenticate_fields,
    .input_size = sizeof(struct authenticate),
    .parse = authenticate_parse,
    .query = operator_query,
    .reply = access_authenticate_reply,
};

/* -- quota ----------------------------------------------------------------------------------- */

struct quota_request {
    struct field_int window, want, key_limit, organization_limit;
};

#define COUNT_FIELD(text, member, from, to)                                                        \
    {                                                                                              \
        .name = (text), .kind = FIELD_INT, .required = true, .min = (from), .max = (to),           \
        .offset = offsetof(struct quota_request, member)                                           \
    }

static const struct field quota_fields[] = {
    COUNT_FIELD("window", window, 0, INT32_MAX),
    COUNT_FIELD("want", want, 1, INT32_MAX),
    COUNT_FIELD("key_limit", key_limit, 0, INT32_MAX),
    COUNT_FIELD("organization_limit", organization_limit, 0, INT32_MAX),
    FIELDS_END,
};

static enum status quota_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_of(command, SQL_GRANT_QUOTA);
    const struct caller *caller = &command->caller;
    const struct quota_request *body = command->input;

    if (uuid_is_nil(&caller->api_key_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_API_KEY, "is required");

    /* The statement takes an advisory lock of this number. */
    command->lock_order = access_order_of_grants(&caller->organization_id);
    params_add_int(&query->params, command->arena, (int64_t)command->lock_order);
    params_add_id(&query->params, command->arena, &caller->organization_id);
    params_add_id(&query->params, command->arena, &caller->api_key_id);
    params_add_int(&query->params, command->arena, body->window.value);
    params_add_int(&query->params, command->arena, body->want.value);
    params_add_int(&query->params, command->arena, body->key_limit.value);
    params_add_int(&query->params, command->arena, body->organization_limit.value);
    return ST_OK;
}

const struct command_handler access_quota = {
    .subject = SUBJECT_ACCESS_QUOTA,
    .writes = true,
    .needs_organization = true,
    .fields = quota_fields,
    .input_size = sizeof(struct quota_request),
    .parse = quota_parse,
    .query = operator_query,
    .reply = access_reply,
};
