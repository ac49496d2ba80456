#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "common/trace/trace.h"
#include "proto/subject.h"
#include "services/access/access.h"
#include "services/access/passwords.h"
#include "services/access/session.h"

/*
 * sign-in - opens a session, given email and password.
 *
 * Answer   ok: the session, or the organizations to choose from if the password fits users of
 *          several and none was named; or unauthorized, rate_limit_exceeded, parameter_invalid,
 *          parameter_not_found
 * Retry    opens another session each time; if the reply is lost, it ends unused after 12 hours
 *
 * Neither the message nor the time reveals whether the email is known: a password is hashed in any
 * case. Only an email of users in several organizations takes longer, by a hash for each.
 *
 * After too many wrong attempts for an email, sign-in is refused, except from networks where its
 * user has signed in before: each of these has ten attempts of its own, whatever strangers do
 * elsewhere.
 */

#define USERS_MAX      5 /* as many as the statement finds */
#define USER_AGENT_MAX 4096

struct sign_in {
    struct str email, password, organization_id, address, user_agent;
    struct str network; /* of the address */
    struct password_attempts attempts;
    size_t found; /* the statement in the batch */
};

static const struct field fields[] = {
    INPUT(sign_in, email, input_email, true),
    INPUT_TEXT(sign_in, password, 1, PASSWORD_MAX),
    INPUT_ID(sign_in, organization_id, false),
    INPUT(sign_in, address, input_address, true),
    INPUT_TEXT(sign_in, user_agent, 0, USER_AGENT_MAX),
    FIELDS_END,
};

static enum status sign_in_parse(struct command *command, void *service)
{
    struct sign_in *body = command->input;

    body->network = password_attempts_network(command->arena, body->address);
    password_attempts_of_email(&body->attempts, command->arena, body->email);
    password_attempts_of_place(&body->attempts, command->arena, body->email, body->network);
    password_attempts_of_address(&body->attempts, command->arena, body->address);
    return ST_OK;
}

static void sign_in_query(struct command *command, struct db *db, void *service)
{
    struct sign_in *body = command->input;

    password_attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_FIND_USERS,
                         PARAMS(body->email, input_exact_id(body->organization_id), body->network));
}

/* How many of the users found may be tried. Those with sign-ins from this network come first. */
static size_t count_open(const struct sign_in *body, struct db *db)
{
    const struct db_rows *rows = db_result(db, body->found);
    size_t n = 0;

    if (password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_ADDRESS) ||
        password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_PLACE))
        return 0;
    while (n < db_rows_count(rows) && n < USERS_MAX &&
           (db_value_bool(rows, n, FIND_USERS_IS_KNOWN) ||
            !password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_SUBJECT)))
        n++;
    return n;
}

/* Whether a limit has been reached. An email that is not known has the same limits. */
static bool is_full(const struct sign_in *body, struct db *db)
{
    return password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_ADDRESS) ||
           password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_PLACE) ||
           password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_SUBJECT);
}

/* Finds those of the first `n_open` rows that have this password. Hashes once even without rows. */
static size_t match(const struct sign_in *body, const struct db_rows *rows, size_t n_open,
                    const char *no_hash, struct arena *arena, size_t fits[USERS_MAX])
{
    size_t n = 0;

    if (n_open == 0)
        (void)crypto_password_matches(body->password, no_hash);
    for (size_t row = 0; row < n_open; row++) {
        watchdog_kick(); /* each takes long */
        if (crypto_password_matches(
                body->password, arena_cstr(arena, db_value(rows, row, FIND_USERS_PASSWORD_HASH))))
            fits[n++] = row;
    }
    return n;
}

static enum status reply_choice(struct command *command, const struct db_rows *rows,
                                const size_t *fits, size_t n)
{
    struct buf *reply = &command->reply;

    buf_add(reply, STR("{\"organizations\":["));
    for (size_t i = 0; i < n; i++) {
        buf_add(reply, i > 0 ? STR(",{") : STR("{"));
        json_add_key(reply, "id");
        json_add_string(reply, db_value(rows, fits[i], FIND_USERS_ORGANIZATION_ID));
        json_add_key(reply, "name");
        json_add_string(reply, db_value(rows, fits[i], FIND_USERS_ORGANIZATION_NAME));
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

/* Replaces a hash of a lower cost with one of the current cost. */
static void raise_cost(struct command *command, struct db *db, const struct session_of *of,
                       struct str password)
{
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);

    crypto_password_hash(password, hash);
    db_add(db, SQL_CHANGE_PASSWORD,
           PARAMS(of->organization_id, of->user_id, str_of(hash), of->password_hash));
}

static enum status open_for(struct command *command, struct db *db, const struct sign_in *body,
                            size_t row)
{
    const struct db_rows *rows = db_result(db, body->found);
    const struct session_of of = {
        .organization_id = db_value(rows, row, FIND_USERS_ORGANIZATION_ID),
        .user_id = db_value(rows, row, FIND_USERS_USER_ID),
        .email = body->email,
        .password_hash = db_value(rows, row, FIND_USERS_PASSWORD_HASH),
        .address = body->address,
        .network = body->network,
        .user_agent = body->user_agent,
    };
    enum status st = session_open(command, db, &of);

    if (st == ST_OK && crypto_password_is_dated(arena_cstr(command->arena, of.password_hash)))
        raise_cost(command, db, &of, body->password);
    return st;
}

static enum status sign_in_reply(struct command *command, struct db *db, void *service)
{
    const struct access *self = service;
    const struct sign_in *body = command->input;
    const struct db_rows *rows = db_result(db, body->found);
    size_t fits[USERS_MAX], n, n_open = count_open(body, db);

    if (n_open == 0 && is_full(body, db))
        return password_attempts_refuse(&body->attempts, command);
    n = match(body, rows, n_open, self->no_password_hash, command->arena, fits);
    if (n == 0) {
        log_failure(command, body);
        password_attempts_note(&body->attempts, command->arena, db);
        return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL, "Email or password is wrong");
    }
    return n > 1 ? reply_choice(command, rows, fits, n) : open_for(command, db, body, fits[0]);
}

const struct command_handler access_sign_in = {
    .subject = SUBJECT_SESSION_SIGN_IN,
    .change = CHANGE_SESSION_SIGN_IN,
    .writes = true,
    .has_secrets = true,
    .fields = fields,
    .input_size = sizeof(struct sign_in),
    .parse = sign_in_parse,
    .query = sign_in_query,
    .reply = sign_in_reply,
};
