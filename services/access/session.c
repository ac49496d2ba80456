/*
 * session-check, session-list, session-end, session-end-all - sessions of the dashboard's users.
 *
 * Answer   session-check: ok: whose session it is, or unauthorized; session-list: ok: an array in
 *          an object; the others: ok: {ended: n}; all: parameter_invalid, parameter_not_found
 * Retry    all are idempotent
 */
#include "common/wire/fields.h"
#include "services/access/access.h"
#include "services/access/inputs.h"

enum { ORGANIZATION_ID = 2, USER_ID, USER_EMAIL }; /* of end_token */

struct session {
    struct str token_hash, user_id, id;
};

/* -- session-check --------------------------------------------------------------------------- */

static const struct field check_fields[] = {INPUT(session, token_hash, input_hash, true)};

/* The one parameter is the token's hash. */
static void query_by_token(struct command *command, enum access_sql statement,
                           struct str token_hash)
{
    struct access_query *query = ARENA_NEW(command->arena, struct access_query);

    query->statement = statement;
    params_add(&query->params, token_hash);
    command->state = query;
}

enum status access_session_check_parse(struct command *command, void *service)
{
    struct session body = {0};

    if (!fields_read_body(command->body, check_fields, 1, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    query_by_token(command, SQL_CHECK_SESSION, body.token_hash);
    return ST_OK;
}

/* -- session-list ---------------------------------------------------------------------------- */

static const struct field list_fields[] = {
    INPUT_ID(session, user_id, true),
    INPUT(session, token_hash, input_hash, true),
};

enum status access_session_list_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_LIST_SESSIONS);
    struct session body = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, list_fields, 2, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    params_add(&query->params, input_exact_id(body.user_id));
    params_add(&query->params, body.token_hash);
    return ST_OK;
}

/* -- session-end ----------------------------------------------------------------------------- */

static const struct field end_fields[] = {
    INPUT(session, token_hash, input_hash, false),
    INPUT_ID(session, user_id, false),
    INPUT_ID(session, id, false),
};

static enum status end_by_id(struct command *command, const struct session *body)
{
    struct access_query *query = access_for_organization(command, SQL_END_SESSION);

    if (query == NULL)
        return ST_REFUSED;
    if (body->user_id.p == NULL || body->id.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND,
                              body->user_id.p == NULL ? "user_id" : "id", "is required");
    params_add(&query->params, input_exact_id(body->user_id));
    params_add(&query->params, input_exact_id(body->id));
    return ST_OK;
}

/* Who holds the token may end its session, whosever it is. */
enum status access_session_end_parse(struct command *command, void *service)
{
    struct session body = {0};

    if (!fields_read_body(command->body, end_fields, 3, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (body.token_hash.p == NULL)
        return end_by_id(command, &body);
    query_by_token(command, SQL_END_TOKEN, body.token_hash);
    return ST_OK;
}

/* Of a token's session only the row knows whose it was. */
enum status access_session_end_reply(struct command *command, struct db *db, void *service)
{
    const struct access_query *query = command->state;
    const struct db_rows *rows = db_result(db, query->index);
    struct caller *caller = &command->caller;

    if (query->statement == SQL_END_TOKEN &&
        uuid_parse(db_value(rows, 0, ORGANIZATION_ID), &caller->organization_id)) {
        (void)uuid_parse(db_value(rows, 0, USER_ID), &caller->user_id);
        caller->user_email = db_value(rows, 0, USER_EMAIL);
    }
    return access_reply(command, db, service);
}

/* -- session-end-all ------------------------------------------------------------------------- */

static const struct field end_all_fields[] = {INPUT_ID(session, user_id, true)};

enum status access_session_end_all_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_END_SESSIONS);
    struct session body = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, end_all_fields, 1, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    command->change_target = input_exact_id(body.user_id);
    params_add(&query->params, command->change_target);
    params_add(&query->params, STR_NONE);
    return ST_OK;
}
