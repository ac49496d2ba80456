/*
 * authenticate, quota - what gateways ask about a key.
 *
 * Answer   authenticate: ok, or unauthorized; quota: ok
 * Retry    authenticate is idempotent; a quota whose answer was lost stays taken
 */
#include <inttypes.h>
#include <string.h>

#include "common/crypto/crypto.h"
#include "common/json/fields.h"
#include "proto/headers.h"
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
};

enum status access_authenticate_parse(struct command *command, void *service)
{
    const struct access *self = service;
    struct access_query *query = ARENA_NEW(command->arena, struct access_query);
    struct authenticate body = {0};
    uint8_t hash[SHA256_BYTES];

    if (!fields_read_body(command->body, authenticate_fields, 1, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (!crypto_unhex(body.token_hash, hash, sizeof(hash)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "token_hash",
                              "must be a SHA-256 in lower-case hexadecimal digits");
    query->statement = SQL_AUTHENTICATE;
    params_add(&query->params, body.token_hash);
    params_add_int(&query->params, command->arena, self->rate_limit_default);
    command->state = query;
    return ST_OK;
}

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
};

enum status access_quota_parse(struct command *command, void *service)
{
    struct access_query *query = ARENA_NEW(command->arena, struct access_query);
    const struct caller *caller = &command->caller;
    struct quota_request body = {0};

    if (uuid_is_nil(&caller->organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION,
                              "is required");
    if (uuid_is_nil(&caller->api_key_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_API_KEY, "is required");
    if (!fields_read_body(command->body, quota_fields, 4, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));

    /* The statement takes an advisory lock of this number. */
    command->lock_order = access_order_of_grants(&caller->organization_id);
    query->statement = SQL_GRANT_QUOTA;
    params_add_int(&query->params, command->arena, (int64_t)command->lock_order);
    params_add_id(&query->params, command->arena, &caller->organization_id);
    params_add_id(&query->params, command->arena, &caller->api_key_id);
    params_add_int(&query->params, command->arena, body.window.value);
    params_add_int(&query->params, command->arena, body.want.value);
    params_add_int(&query->params, command->arena, body.key_limit.value);
    params_add_int(&query->params, command->arena, body.organization_limit.value);
    command->state = query;
    return ST_OK;
}
