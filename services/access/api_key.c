/*
 * key-create, key-list, key-rotate, key-revoke - an organization's API keys.
 *
 * Answer   ok: the key, with its token when it was just made; or an array; or parameter_invalid,
 *          parameter_not_found, not_found
 * Notice   v1.notice.access after a change
 * Retry    key-create makes another key each time; a key whose answer was lost is of no use to
 *          anybody and can be revoked by its name. So does key-rotate: the old key ends no later
 *          for it. key-revoke is idempotent
 */
#include "common/base/clock.h"
#include "common/crypto/token.h"
#include "common/json/fields.h"
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
};

/* A new token; the next parameter is its hash. */
static struct str ask_for_token(struct access_query *query, struct arena *arena, bool full)
{
    char *token = arena_alloc(arena, TOKEN_TEXT + 1);
    char *hash_text = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    arena->wipes = true;
    token_make(full ? TOKEN_LIVE : TOKEN_READ, token);
    token_hash(str_of(token), hash);
    crypto_hex(hash, sizeof(hash), hash_text);
    params_add(&query->params, str_of(hash_text));
    return str_of(token);
}

static struct str last_of(struct str token)
{
    return str_skip(token, token.n - LAST_TEXT);
}

enum status access_key_create_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_CREATE_KEY);
    const struct uuid id = uuid_v7(clock_us());
    struct key_create body = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, create_fields, 3, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    params_add_id(&query->params, command->arena, &id);
    query->secret_name = "token";
    query->secret = ask_for_token(query, command->arena, str_equal(body.scope, STR("full")));
    params_add(&query->params, body.name);
    params_add(&query->params, body.scope);
    params_add(&query->params, (struct str){query->secret.p, PREFIX_TEXT});
    params_add(&query->params, last_of(query->secret));
    if (body.expires_in.given)
        params_add_int(&query->params, command->arena, body.expires_in.value);
    else
        params_add(&query->params, STR_NONE);
    return ST_OK;
}

enum status access_key_list_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_LIST_KEYS);

    return query != NULL ? access_list_before(command, query) : ST_REFUSED;
}

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
};

static int64_t seconds_of(struct str overlap)
{
    for (size_t i = 0; overlaps[i] != NULL; i++)
        if (str_equal(overlap, str_of(overlaps[i])))
            return overlap_seconds[i];
    return overlap_seconds[OVERLAP_DEFAULT];
}

/* The successor's scope is the old key's, which only the database knows: a token of each kind is
   made, and one of them is used. */
enum status access_key_rotate_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_ROTATE_KEY);
    const struct uuid successor = uuid_v7(clock_us());
    struct key_rotate body = {0};
    struct uuid id = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, rotate_fields, 2, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    uuid_parse(body.id, &id); /* as when revoking, below */
    params_add_id(&query->params, command->arena, &id);
    params_add_id(&query->params, command->arena, &successor);
    command_note(command, "successor", query->params.at[query->params.n - 1]);
    params_add_int(&query->params, command->arena, seconds_of(body.overlap));
    query->secret_name = "token";
    query->secret = ask_for_token(query, command->arena, true);
    params_add(&query->params, last_of(query->secret));
    query->secret_of_reader = ask_for_token(query, command->arena, false);
    params_add(&query->params, last_of(query->secret_of_reader));
    return ST_OK;
}

struct key_revoke {
    struct str id;
};

static const struct field revoke_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct key_revoke, id)},
};

enum status access_key_revoke_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_REVOKE_KEY);
    struct key_revoke body = {0};
    struct uuid id = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, revoke_fields, 1, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    /* Ids are case-sensitive: one in capitals names nothing, and the nil UUID finds nothing. */
    uuid_parse(body.id, &id);
    params_add_id(&query->params, command->arena, &id);
    return ST_OK;
}
