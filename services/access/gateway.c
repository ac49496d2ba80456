/*
 * authenticate, quota, used - what gateways ask about a key.
 *
 * Answer   authenticate: ok, or unauthorized; quota: ok; used: nobody waits for one
 * Retry    authenticate and used are idempotent; a quota whose answer was lost stays taken
 */
#include <inttypes.h>
#include <string.h>

#include "common/crypto/crypto.h"
#include "common/db/array.h"
#include "common/wire/fields.h"
#include "proto/headers.h"
#include "services/access/access.h"

#define USED_MOST 10000 /* keys in one message */

/* -- authenticate ---------------------------------------------------------------------------- */

struct authenticate {
    struct str token_hash;
};

static const struct field authenticate_fields[] = {
    {.name = "token_hash",
     .kind = FIELD_TEXT,
     .required = true,
     .least = 2 * SHA256_BYTES,
     .most = 2 * SHA256_BYTES,
     .offset = offsetof(struct authenticate, token_hash)},
};

enum status authenticate_judge(struct command *command, void *service)
{
    const struct access *self = service;
    struct access_ask *ask = ARENA_NEW(command->arena, struct access_ask);
    struct authenticate body = {0};
    uint8_t hash[SHA256_BYTES];

    if (!fields_read_body(command->body, authenticate_fields, 1, &body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (!crypto_unhex(body.token_hash, hash, sizeof(hash)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "token_hash",
                              "must be a SHA-256 in lower-case hexadecimal digits");
    ask->statement = SQL_AUTHENTICATE;
    params_add(&ask->params, body.token_hash);
    params_add_int(&ask->params, command->arena, self->rate_limit_default);
    command->state = ask;
    return ST_OK;
}

/* -- quota ----------------------------------------------------------------------------------- */

struct quota {
    struct field_int window, want, key_limit, organization_limit;
};

#define COUNT_FIELD(text, member, from, to)                                                        \
    {                                                                                              \
        .name = (text), .kind = FIELD_INT, .required = true, .least = (from), .most = (to),        \
        .offset = offsetof(struct quota, member)                                                   \
    }

static const struct field quota_fields[] = {
    COUNT_FIELD("window", window, 0, INT32_MAX),
    COUNT_FIELD("want", want, 1, INT32_MAX),
    COUNT_FIELD("key_limit", key_limit, 0, INT32_MAX),
    COUNT_FIELD("organization_limit", organization_limit, 0, INT32_MAX),
};

enum status quota_judge(struct command *command, void *service)
{
    struct access_ask *ask = ARENA_NEW(command->arena, struct access_ask);
    const struct caller *caller = &command->caller;
    struct quota body = {0};

    if (uuid_is_nil(&caller->organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION,
                              "is required");
    if (uuid_is_nil(&caller->api_key_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_API_KEY, "is required");
    if (!fields_read_body(command->body, quota_fields, 4, &body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));

    /* The statement takes an advisory lock of this number. */
    command->lock_order = access_lock_order(&caller->organization_id);
    ask->statement = SQL_GRANT_QUOTA;
    params_add_int(&ask->params, command->arena, (int64_t)command->lock_order);
    params_add_id(&ask->params, command->arena, &caller->organization_id);
    params_add_id(&ask->params, command->arena, &caller->api_key_id);
    params_add_int(&ask->params, command->arena, body.window.value);
    params_add_int(&ask->params, command->arena, body.want.value);
    params_add_int(&ask->params, command->arena, body.key_limit.value);
    params_add_int(&ask->params, command->arena, body.organization_limit.value);
    command->state = ask;
    return ST_OK;
}

/* -- used ------------------------------------------------------------------------------------ */

struct used_key {
    struct str organization_id, api_key_id;
    struct field_int at;
};

static const struct field used_key_fields[] = {
    {.name = "organization_id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct used_key, organization_id)},
    {.name = "api_key_id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct used_key, api_key_id)},
    {.name = "at",
     .kind = FIELD_INT,
     .required = true,
     .least = 0,
     .most = INT32_MAX * INT64_C(2),
     .offset = offsetof(struct used_key, at)},
};

/* The three columns, as PostgreSQL writes arrays. */
struct used {
    struct buf organizations, keys, times;
};

static void keys_read(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct arena *arena = problems->arena;
    struct used *used = slot;
    size_t n = json_array_size(value);

    if (!json_is_array(value) || n == 0 || n > USED_MOST) {
        problems_add(problems, "parameter_invalid", path, "must be an array of 1 to %d keys",
                     USED_MOST);
        return;
    }
    for (size_t i = 0; i < n && problems->n == 0; i++) {
        struct used_key key = {0};

        fields_read(json_array_get(value, i), arena_printf(arena, "%s[%zu]", path, i),
                    used_key_fields, 3, &key, problems);
        if (problems->n > 0)
            return;
        array_add_plain(&used->organizations, key.organization_id);
        array_add_plain(&used->keys, key.api_key_id);
        array_add_int(&used->times, key.at.value);
    }
}

static const struct field used_fields[] = {
    {.name = "keys", .kind = FIELD_CUSTOM, .required = true, .read = keys_read},
};

enum status used_judge(struct command *command, void *service)
{
    struct access_ask *ask = ARENA_NEW(command->arena, struct access_ask);
    struct buf *columns[3];
    struct used used;

    columns[0] = &used.organizations;
    columns[1] = &used.keys;
    columns[2] = &used.times;
    for (size_t i = 0; i < 3; i++)
        array_open(columns[i], command->arena, 1024);
    if (!fields_read_body(command->body, used_fields, 1, &used, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    ask->statement = SQL_NOTE_USED;
    for (size_t i = 0; i < 3; i++)
        params_add(&ask->params, array_close(columns[i]));
    command->state = ask;
    return ST_OK;
}
