#include "services/access/session.h"

#include "common/base/ascii.h"
#include "common/base/base64url.h"
#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/access.h"

/*
 * session-check, session-list, session-end, session-end-all - sessions of the dashboard's users.
 *
 * Answer   session-check: ok: the session's user, or unauthorized; session-list: ok: an array in
 *          an object; the others: ok: {ended: n}; all: parameter_invalid, parameter_not_found
 * Retry    all are idempotent
 */

struct session {
    struct str token_hash, user_id, id;
};

/* -- session-check --------------------------------------------------------------------------- */

static const struct field check_fields[] = {INPUT(session, token_hash, input_hash, true),
                                            FIELDS_END};

/* The one parameter is the token's hash. */
static void query_by_token(struct command *command, enum access_sql statement,
                           struct str token_hash)
{
    struct operator_query *query = ARENA_NEW(command->arena, struct operator_query);

    query->statement = statement;
    params_add(&query->params, token_hash);
    command->state = query;
}

static enum status session_check_parse(struct command *command, void *service)
{
    const struct session *body = command->input;

    query_by_token(command, SQL_CHECK_SESSION, body->token_hash);
    return ST_OK;
}

const struct command_handler access_session_check = {
    .subject = SUBJECT_ACCESS_SESSION_CHECK,
    .fields = check_fields,
    .input_size = sizeof(struct session),
    .parse = session_check_parse,
    .query = operator_query,
    .reply = access_session_check_reply,
};

/* -- session-list ---------------------------------------------------------------------------- */

static const struct field list_fields[] = {
    INPUT_ID(session, user_id, true),
    INPUT(session, token_hash, input_hash, true),
    FIELDS_END,
};

static enum status session_list_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_LIST_SESSIONS);
    const struct session *body = command->input;

    params_add(&query->params, input_exact_id(body->user_id));
    params_add(&query->params, body->token_hash);
    return ST_OK;
}

const struct command_handler access_session_list = {
    .subject = SUBJECT_ACCESS_SESSION_LIST,
    .needs_organization = true,
    .fields = list_fields,
    .input_size = sizeof(struct session),
    .parse = session_list_parse,
    .query = operator_query,
    .reply = access_reply,
};

/* -- session-end ----------------------------------------------------------------------------- */

static const struct field end_fields[] = {
    INPUT(session, token_hash, input_hash, false),
    INPUT_ID(session, user_id, false),
    INPUT_ID(session, id, false),
    FIELDS_END,
};

static enum status end_by_id(struct command *command, const struct session *body)
{
    struct operator_query *query = access_for_organization(command, SQL_END_SESSION);

    if (uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION,
                              "is required");
    if (body->user_id.p == NULL || body->id.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND,
                              body->user_id.p == NULL ? "user_id" : "id", "is required");
    params_add(&query->params, input_exact_id(body->user_id));
    params_add(&query->params, input_exact_id(body->id));
    return ST_OK;
}

/* The token is enough to end its session. */
static enum status session_end_parse(struct command *command, void *service)
{
    const struct session *body = command->input;

    if (body->token_hash.p == NULL)
        return end_by_id(command, body);
    query_by_token(command, SQL_END_TOKEN, body->token_hash);
    return ST_OK;
}

/* The user of a token's session is known only from the row. */
static enum status session_end_reply(struct command *command, struct db *db, void *service)
{
    const struct operator_query *query = command->state;
    const struct db_rows *rows = db_result(db, query->index);
    struct caller *caller = &command->caller;

    if (query->statement == SQL_END_TOKEN &&
        uuid_parse(db_value(rows, 0, END_TOKEN_ORGANIZATION_ID), &caller->organization_id)) {
        (void)uuid_parse(db_value(rows, 0, END_TOKEN_USER_ID), &caller->user_id);
        caller->user_email = db_value(rows, 0, END_TOKEN_EMAIL);
    }
    return access_reply(command, db, service);
}

const struct command_handler access_session_end = {
    .subject = SUBJECT_ACCESS_SESSION_END,
    .change = CHANGE_SESSION_END,
    .writes = true,
    .fields = end_fields,
    .input_size = sizeof(struct session),
    .parse = session_end_parse,
    .query = operator_query,
    .reply = session_end_reply,
};

/* -- session-end-all ------------------------------------------------------------------------- */

static const struct field end_all_fields[] = {INPUT_ID(session, user_id, true), FIELDS_END};

static enum status session_end_all_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_END_SESSIONS);
    const struct session *body = command->input;

    command->change_target = input_exact_id(body->user_id);
    params_add(&query->params, command->change_target);
    params_add(&query->params, STR_NONE);
    return ST_OK;
}

const struct command_handler access_session_end_all = {
    .subject = SUBJECT_ACCESS_SESSION_END_ALL,
    .change = CHANGE_SESSION_END_ALL,
    .writes = true,
    .needs_organization = true,
    .fields = end_all_fields,
    .input_size = sizeof(struct session),
    .parse = session_end_all_parse,
    .query = operator_query,
    .reply = access_reply,
};

/* -- opening a session -------------------------------------------------------------------------- */

_Static_assert(SESSION_SECRET_TEXT == BASE64URL_TEXT(SESSION_SECRET_BYTES),
               "the length of a secret's text");

struct str session_secret_make(struct arena *arena, struct str *hash)
{
    char *text = arena_alloc(arena, SESSION_SECRET_TEXT + 1);
    char *hex = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t bytes[SESSION_SECRET_BYTES], digest[SHA256_BYTES];

    arena->wipes = true;
    crypto_random(bytes, sizeof(bytes));
    base64url_write(bytes, sizeof(bytes), text);
    crypto_sha256(str_of(text), digest);
    hex_write(digest, sizeof(digest), hex);
    *hash = str_of(hex);
    return str_of(text);
}

enum status session_open(struct command *command, struct db *db, const struct session_of *of)
{
    const struct uuid id = uuid_v7(clock_us());
    struct str token, token_hash;
    struct params params = {.n = 0};
    const struct db_rows *rows;
    enum status st;
    size_t i;

    token = session_secret_make(command->arena, &token_hash);
    params_add(&params, of->organization_id);
    params_add(&params, of->user_id);
    params_add(&params, of->password_hash);
    params_add_id(&params, command->arena, &id);
    params_add(&params, token_hash);
    params_add(&params, of->address);
    params_add(&params, of->user_agent);
    params_add(&params, of->network);
    i = db_add(db, SQL_CREATE_SESSION, &params);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    rows = db_result(db, i);
    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL,
                              "The password was just changed, or the user was removed");
    if (!operator_write(command, db_value(rows, 0, CREATE_SESSION_OPERATOR + OPERATOR_REPLY),
                        "session", token))
        return ST_INTERNAL;
    if (!uuid_parse(of->organization_id, &command->caller.organization_id) ||
        !uuid_parse(of->user_id, &command->caller.user_id))
        return ST_INTERNAL;
    command->caller.user_email = of->email;
    command->caller.address = of->address;
    command->change_target = str_of(arena_cstr(command->arena, params.at[3]));
    return ST_OK;
}
