/*
 * change-password - a user's own, who knows the old one.
 *
 * Answer   ok: {ended: how many other sessions that ended}; or parameter_invalid,
 *          parameter_not_found, not_found, rate_limit_exceeded
 * Retry    a second call finds the old password wrong
 */
#include "common/crypto/crypto.h"
#include "services/access/inputs.h"
#include "services/access/password_attempts.h"
#include "services/access/session.h"

enum { PASSWORD_HASH, EMAIL };

struct change_password {
    struct str user_id, password, new_password, keep;
    struct str organization_id;
    struct password_attempts attempts;
    size_t found;
};

static const struct field fields[] = {
    INPUT_ID(change_password, user_id, true),
    INPUT_TEXT(change_password, password, 1, PASSWORD_MAX),
    INPUT_TEXT(change_password, new_password, PASSWORD_MIN, PASSWORD_MAX),
    INPUT(change_password, keep, input_hash, true),
};

enum status access_password_parse(struct command *command, void *service)
{
    struct change_password *body = ARENA_NEW(command->arena, struct change_password);
    const struct access_query *query = access_for_organization(command, SQL_READ_PASSWORD);

    command->arena->wipes = true;
    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 4, body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    body->organization_id = query->params.at[0];
    body->user_id = input_exact_id(body->user_id);
    password_attempts_of_user(&body->attempts, command->arena, body->user_id);
    command->state = body;
    command->change_target = body->user_id;
    return ST_OK;
}

void access_password_query(struct command *command, struct db *db, void *service)
{
    struct change_password *body = command->state;
    const db_param params[] = {body->organization_id, body->user_id};

    password_attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_READ_PASSWORD, params, 2);
}

/* The other sessions end behind the change, in a statement that sees all that were opened with the
   old password: opening one locks the user. */
static enum status change(struct command *command, struct db *db,
                          const struct change_password *body, struct str old_hash)
{
    char hash[CRYPTO_PASSWORD_TEXT];
    db_param params[4] = {body->organization_id, body->user_id};
    size_t changed, ended;
    enum status st;

    crypto_password_hash(body->new_password, hash);
    params[2] = str_of(hash);
    params[3] = old_hash;
    changed = db_add(db, SQL_CHANGE_PASSWORD, params, 4);
    params[2] = body->keep;
    ended = db_add(db, SQL_END_SESSIONS, params, 3);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    if (db_rows_count(db_result(db, changed)) == 0)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password",
                              "has just been changed");
    buf_add(&command->reply, db_value(db_result(db, ended), 0, 1));
    return ST_OK;
}

static enum status reply(struct command *command, struct db *db, const struct change_password *body)
{
    const struct db_rows *rows = db_result(db, body->found);
    const char *hash;

    if (password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_SUBJECT))
        return password_attempts_refuse(&body->attempts, command);
    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is no such user");
    if (password_is_easy(body->new_password, db_value(rows, 0, EMAIL)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "new_password", PASSWORD_EASY);
    hash = arena_cstr(command->arena, db_value(rows, 0, PASSWORD_HASH));
    if (crypto_password_matches(body->password, hash))
        return change(command, db, body, str_of(hash));
    password_attempts_note(&body->attempts, command->arena, db);
    return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", "is incorrect");
}

enum status access_password_reply(struct command *command, struct db *db, void *service)
{
    const struct change_password *body = command->state;
    enum status st = reply(command, db, body);

    crypto_wipe((char *)body->password.p, body->password.n);
    crypto_wipe((char *)body->new_password.p, body->new_password.n);
    return st;
}
