/*
 * sign-in - from email and password to a session.
 *
 * Answer   ok: the session, or the organizations to choose from when the password fits users of
 *          several and none was named; or unauthorized, rate_limit_exceeded, parameter_invalid,
 *          parameter_not_found
 * Retry    makes another session each time; one whose answer was lost ends unused after 12 hours
 *
 * Whether the email is known shows neither in the words nor in the time: a password is hashed in
 * any case. Only one that belongs to users of several organizations takes longer, by a hash for
 * each.
 */
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/trace/trace.h"
#include "common/wire/json.h"
#include "services/access/attempts.h"
#include "services/access/inputs.h"
#include "services/access/session.h"

#define USERS_MOST      8 /* as many as the statement finds */
#define USER_AGENT_MOST 4096

enum column { ORGANIZATION_ID, ORGANIZATION_NAME, USER_ID, PASSWORD_HASH };

struct sign_in {
    struct str email, password, organization_id, address, user_agent;
    struct attempts attempts;
    size_t found; /* the statement in the batch */
};

static const struct field fields[] = {
    INPUT(sign_in, email, email_read, true),
    INPUT_TEXT(sign_in, password, 1, PASSWORD_MOST),
    INPUT_ID(sign_in, organization_id, false),
    INPUT(sign_in, address, address_read, true),
    INPUT_TEXT(sign_in, user_agent, 0, USER_AGENT_MOST),
};

enum status sign_in_judge(struct command *command, void *service)
{
    struct sign_in *body = ARENA_NEW(command->arena, struct sign_in);

    if (!fields_read_body(command->body, fields, 5, body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    attempts_of_email(&body->attempts, command->arena, body->email);
    attempts_of_address(&body->attempts, command->arena, body->address);
    command->state = body;
    return ST_OK;
}

void sign_in_ask(struct command *command, struct db *db, void *service)
{
    struct sign_in *body = command->state;
    const db_param params[] = {body->email, exact_id(body->organization_id)};

    attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_FIND_USERS, params, 2);
}

/* The rows whose password it is. One hash at least, whether there are rows or not. */
static size_t match(const struct sign_in *body, const struct db_rows *rows, const char *no_hash,
                    struct arena *arena, size_t fits[USERS_MOST])
{
    size_t n = 0;

    if (db_rows_count(rows) == 0)
        (void)crypto_password_matches(body->password, no_hash);
    for (size_t row = 0; row < db_rows_count(rows) && row < USERS_MOST; row++)
        if (crypto_password_matches(body->password,
                                    arena_cstr(arena, db_value(rows, row, PASSWORD_HASH))))
            fits[n++] = row;
    crypto_wipe((char *)body->password.p, body->password.n);
    return n;
}

static enum status tell_choice(struct command *command, const struct db_rows *rows,
                               const size_t *fits, size_t n)
{
    struct buf *reply = &command->reply;

    buf_add(reply, STR("{\"organizations\":["));
    for (size_t i = 0; i < n; i++) {
        buf_add(reply, i > 0 ? STR(",{") : STR("{"));
        json_add_key(reply, "id");
        json_add_string(reply, db_value(rows, fits[i], ORGANIZATION_ID));
        json_add_key(reply, "name");
        json_add_string(reply, db_value(rows, fits[i], ORGANIZATION_NAME));
        buf_char(reply, '}');
    }
    buf_add(reply, STR("]}"));
    return ST_OK;
}

static void log_failure(const struct command *command, const struct sign_in *body)
{
    char request_id[UUID_TEXT + 1];

    uuid_format(&command->caller.request_id, request_id);
    LOG(LOG_INFO, "sign-in failed", log_str("request_id", request_id),
        log_trace(command->traceparent), log_slice("client", body->address));
}

enum status sign_in_tell(struct command *command, struct db *db, void *service)
{
    const struct access *self = service;
    const struct sign_in *body = command->state;
    const struct db_rows *rows = db_result(db, body->found);
    size_t fits[USERS_MOST], n;

    if (attempts_judge(&body->attempts, command, db) != ST_OK)
        return ST_REFUSED;
    n = match(body, rows, self->no_password_hash, command->arena, fits);
    if (n == 0) {
        log_failure(command, body);
        return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL, "Email or password is wrong");
    }
    attempts_forgive(&body->attempts, command->arena, db);
    if (n > 1)
        return tell_choice(command, rows, fits, n);
    return session_open(command, db,
                        &(struct session_of){
                            .organization_id = db_value(rows, fits[0], ORGANIZATION_ID),
                            .user_id = db_value(rows, fits[0], USER_ID),
                            .email = body->email,
                            .password_hash = db_value(rows, fits[0], PASSWORD_HASH),
                            .address = body->address,
                            .user_agent = body->user_agent,
                        });
}
