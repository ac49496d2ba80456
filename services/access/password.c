/*
 * change-password - a user's own, who knows the old one.
 *
 * Answer   ok: {ended: how many other sessions that ended}; or parameter_invalid,
 *          parameter_not_found, not_found, rate_limit_exceeded
 * Retry    a second call finds the old password wrong
 */
#include "common/crypto/crypto.h"
#include "services/access/attempts.h"
#include "services/access/inputs.h"
#include "services/access/session.h"

struct change_password {
    struct str user_id, password, new_password, keep;
    struct str organization_id;
    struct attempts attempts;
    size_t found;
};

static const struct field fields[] = {
    INPUT_ID(change_password, user_id, true),
    INPUT_TEXT(change_password, password, 1, PASSWORD_MOST),
    INPUT_TEXT(change_password, new_password, PASSWORD_LEAST, PASSWORD_MOST),
    INPUT(change_password, keep, hash_read, true),
};

enum status password_judge(struct command *command, void *service)
{
    struct change_password *body = ARENA_NEW(command->arena, struct change_password);
    const struct access_ask *ask = access_for_organization(command, SQL_READ_PASSWORD);

    if (ask == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 4, body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    body->organization_id = ask->params.at[0];
    body->user_id = exact_id(body->user_id);
    attempts_of_user(&body->attempts, command->arena, body->user_id);
    command->state = body;
    command->change_target = body->user_id;
    return ST_OK;
}

void password_ask(struct command *command, struct db *db, void *service)
{
    struct change_password *body = command->state;
    const db_param params[] = {body->organization_id, body->user_id};

    attempts_ask(&body->attempts, command->arena, db);
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

enum status password_tell(struct command *command, struct db *db, void *service)
{
    const struct change_password *body = command->state;
    const struct db_rows *rows = db_result(db, body->found);
    enum status st = attempts_judge(&body->attempts, command, db);
    const char *hash;

    if (st == ST_OK && db_rows_count(rows) == 0)
        st = command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is no such user");
    if (st == ST_OK) {
        hash = arena_cstr(command->arena, db_value(rows, 0, 0));
        if (crypto_password_matches(body->password, hash)) {
            attempts_forgive(&body->attempts, command->arena, db);
            st = change(command, db, body, str_of(hash));
        } else {
            st = command_refuse(command, OUTCOME_PARAMETER_INVALID, "password",
                                "is not the password");
        }
    }
    crypto_wipe((char *)body->password.p, body->password.n);
    crypto_wipe((char *)body->new_password.p, body->new_password.n);
    return st;
}
