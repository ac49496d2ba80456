/*
 * key-create, key-list, key-rotate, key-revoke - an organization's API keys.
 *
 * Answer   ok: the key, with its token if it was just created; or an array; or parameter_invalid,
 *          parameter_not_found, not_found
 * Notice   v1.notice.access after a change
 * Retry    key-create creates another key each time; if the reply is lost, the key is useless and
 *          can be found by its name and revoked. key-rotate creates another successor each time,
 *          and the old key never ends later because of it. key-revoke is idempotent
 */
/*
 * authenticate, quota - for gateways: check a key, and take a share of its limits.
 *
 * Answer   authenticate: ok, or unauthorized; quota: ok
 * Retry    authenticate is idempotent; a quota stays taken if its reply is lost
 */
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/access.h"

#define EXPIRES_IN_MAX (10 * 366 * 86400)
#define PREFIX_TEXT    9 /* "svc_live_" */
#define LAST_TEXT      4

static const char *const scopes[] = {"read", "full", NULL};

struct key_create {
    struct str name, scope;
    struct field_int expires_in;
};

static const struct field create_fields[] = {
    {.name = "name",
     .kind = FIELD_FILLED,
     .required = true,
     .min = 1,
     .max = 255,
     .offset = offsetof(struct key_create, name)},
    {.name = "scope",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = scopes,
     .offset = offsetof(struct key_create, scope)},
    {.name = "expires_in",
     .kind = FIELD_INT,
     .min = 1,
     .max = EXPIRES_IN_MAX,
     .offset = offsetof(struct key_create, expires_in)},
    FIELDS_END,
};

/* Creates a token and adds its hash as the next parameter. */
static struct str ask_for_token(struct operator_query *query, struct arena *arena, bool full)
{
    char *token = arena_alloc(arena, TOKEN_TEXT + 1);
    char *hash_text = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    arena->wipes = true;
    token_make(full ? TOKEN_LIVE : TOKEN_READ, token);
    token_hash(str_of(token), hash);
    hex_write(hash, sizeof(hash), hash_text);
    params_add(&query->params, str_of(hash_text));
    return str_of(token);
}

static struct str last_of(struct str token)
{
    return str_skip(token, token.n - LAST_TEXT);
}

static enum status key_create_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_CREATE_KEY);
    const struct uuid id = uuid_v7(clock_us());
    const struct key_create *body = command->input;

    params_add_id(&query->params, command->arena, &id);
    query->secret_name = "token";
    query->secret = ask_for_token(query, command->arena, str_equal(body->scope, STR("full")));
    params_add(&query->params, body->name);
    params_add(&query->params, body->scope);
    params_add(&query->params, (struct str){query->secret.p, PREFIX_TEXT});
    params_add(&query->params, last_of(query->secret));
    if (body->expires_in.given)
        params_add_int(&query->params, command->arena, body->expires_in.value);
    else
        params_add(&query->params, STR_NONE);
    return ST_OK;
}

const struct command_handler access_key_create = {
    .subject = SUBJECT_ACCESS_KEY_CREATE,
    .change = CHANGE_KEY_CREATE,
    .writes = true,
    .needs_organization = true,
    .fields = create_fields,
    .input_size = sizeof(struct key_create),
    .parse = key_create_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

static enum status key_list_parse(struct command *command, void *service)
{
    const struct operator_list *body = command->input;

    params_add(&access_for_organization(command, SQL_LIST_KEYS)->params, body->before);
    return ST_OK;
}

const struct command_handler access_key_list = {
    .subject = SUBJECT_ACCESS_KEY_LIST,
    .needs_organization = true,
    .fields = operator_list_fields,
    .input_size = sizeof(struct operator_list),
    .may_be_empty = true,
    .parse = key_list_parse,
    .query = operator_query,
    .reply = access_reply,
};

struct key_rotate {
    struct str id, overlap;
};

static const char *const overlaps[] = {"now", "1h", "24h", "7d", NULL};
static const int64_t overlap_seconds[] = {0, 3600, 86400, 7 * 86400};
#define OVERLAP_DEFAULT 2 /* 24h */

static const struct field rotate_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct key_rotate, id)},
    {.name = "overlap",
     .kind = FIELD_CHOICE,
     .choices = overlaps,
     .offset = offsetof(struct key_rotate, overlap)},
    FIELDS_END,
};

static int64_t seconds_of(struct str overlap)
{
    for (size_t i = 0; overlaps[i] != NULL; i++)
        if (str_equal(overlap, str_of(overlaps[i])))
            return overlap_seconds[i];
    return overlap_seconds[OVERLAP_DEFAULT];
}

/* The successor has the scope of the old key, which only the database has. So a token of each kind
   is created, and one of them is used. */
static enum status key_rotate_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_ROTATE_KEY);
    const struct uuid successor = uuid_v7(clock_us());
    const struct key_rotate *body = command->input;

    operator_param_id(query, command->arena, body->id);
    params_add_id(&query->params, command->arena, &successor);
    command_note(command, "successor", query->params.at[query->params.n - 1]);
    params_add_int(&query->params, command->arena, seconds_of(body->overlap));
    query->secret_name = "token";
    query->secret = ask_for_token(query, command->arena, true);
    params_add(&query->params, last_of(query->secret));
    query->secret_of_reader = ask_for_token(query, command->arena, false);
    query->scope_column = ROTATE_KEY_SCOPE;
    params_add(&query->params, last_of(query->secret_of_reader));
    return ST_OK;
}

const struct command_handler access_key_rotate = {
    .subject = SUBJECT_ACCESS_KEY_ROTATE,
    .change = CHANGE_KEY_ROTATE,
    .writes = true,
    .needs_organization = true,
    .fields = rotate_fields,
    .input_size = sizeof(struct key_rotate),
    .parse = key_rotate_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

struct key_revoke {
    struct str id;
};

static const struct field revoke_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct key_revoke, id)},
    FIELDS_END,
};

static enum status key_revoke_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_REVOKE_KEY);
    const struct key_revoke *body = command->input;

    operator_param_id(query, command->arena, body->id);
    return ST_OK;
}

const struct command_handler access_key_revoke = {
    .subject = SUBJECT_ACCESS_KEY_REVOKE,
    .change = CHANGE_KEY_REVOKE,
    .writes = true,
    .needs_organization = true,
    .fields = revoke_fields,
    .input_size = sizeof(struct key_revoke),
    .parse = key_revoke_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

/* -- authenticate ------------------------------------------------------------------------------ */

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

/* -- quota ------------------------------------------------------------------------------------- */

struct quota_command {
    struct field_int window, want, key_limit, organization_limit;
    struct field_bool refusals;
};

#define COUNT_FIELD(text, member, from, to)                                                        \
    {                                                                                              \
        .name = (text), .kind = FIELD_INT, .required = true, .min = (from), .max = (to),           \
        .offset = offsetof(struct quota_command, member)                                           \
    }

static const struct field quota_fields[] = {
    COUNT_FIELD("window", window, 0, INT32_MAX),
    COUNT_FIELD("want", want, 1, INT32_MAX),
    COUNT_FIELD("key_limit", key_limit, 0, INT32_MAX),
    COUNT_FIELD("organization_limit", organization_limit, 0, INT32_MAX),
    {.name = "refusals", .kind = FIELD_BOOL, .offset = offsetof(struct quota_command, refusals)},
    FIELDS_END,
};

static enum status quota_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_of(command, SQL_GRANT_QUOTA);
    const struct caller *caller = &command->caller;
    const struct quota_command *body = command->input;

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
    params_add_bool(&query->params, body->refusals.value);
    return ST_OK;
}

const struct command_handler access_quota = {
    .subject = SUBJECT_ACCESS_QUOTA,
    .writes = true,
    .needs_organization = true,
    .fields = quota_fields,
    .input_size = sizeof(struct quota_command),
    .parse = quota_parse,
    .query = operator_query,
    .reply = access_reply,
};
