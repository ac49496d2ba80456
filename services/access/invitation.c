/*
 * accept-invitation - who was invited chooses a password and is signed in.
 *
 * Answer   as sign-in; unauthorized when the invitation is not good, or not any more
 * Retry    a second call finds the invitation used: sign in then
 */
#include "common/base/address.h"
#include "common/crypto/crypto.h"
#include "services/access/inputs.h"
#include "services/access/password_attempts.h"
#include "services/access/session.h"

#define USER_AGENT_MAX 4096

enum { ORGANIZATION_ID, USER_ID, EMAIL, INVITED_BY, INVITED_FROM };

struct invitation {
    struct str token, password, address, user_agent;
    struct str token_hash; /* in hex */
    struct password_attempts attempts;
    size_t found;
};

static const struct field fields[] = {
    INPUT_TEXT(invitation, token, 1, 255),
    INPUT_TEXT(invitation, password, PASSWORD_MIN, PASSWORD_MAX),
    INPUT(invitation, address, input_address, true),
    INPUT_TEXT(invitation, user_agent, 0, USER_AGENT_MAX),
};

enum status access_invitation_parse(struct command *command, void *service)
{
    struct invitation *body = ARENA_NEW(command->arena, struct invitation);
    char *hex = arena_alloc(command->arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    command->arena->wipes = true;
    if (!fields_read_body(command->body, fields, 4, body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    crypto_sha256(body->token, hash);
    crypto_hex(hash, sizeof(hash), hex);
    body->token_hash = str_of(hex);
    password_attempts_of_address(&body->attempts, command->arena, body->address);
    command->state = body;
    return ST_OK;
}

void access_invitation_query(struct command *command, struct db *db, void *service)
{
    struct invitation *body = command->state;

    password_attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_FIND_INVITATION, &body->token_hash, 1);
}

static enum status refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL,
                          "The invitation was used, has expired or was replaced");
}

/* However they are written. */
static bool is_same_address(struct str a, struct str b)
{
    struct address first, second;

    return address_parse(a, &first) && address_parse(b, &second) && address_equal(&first, &second);
}

/* The inviting user has seen the link, and could accept it under another name: the audit log says
   who invited, and when it is the same address that accepts. */
static void note_inviter(struct command *command, const struct invitation *body,
                         const struct db_rows *rows)
{
    command_note(command, "invited_by", db_value(rows, 0, INVITED_BY));
    if (is_same_address(db_value(rows, 0, INVITED_FROM), body->address))
        command_note(command, "warning", STR("accepted at the address of who invited"));
}

static enum status accept(struct command *command, struct db *db, const struct invitation *body)
{
    const struct db_rows *rows = db_result(db, body->found);
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);
    db_param params[4];
    enum status st;
    size_t accepted;

    if (db_rows_count(rows) == 0) {
        password_attempts_note(&body->attempts, command->arena, db);
        return refuse(command);
    }
    if (password_is_easy(body->password, db_value(rows, 0, EMAIL)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", PASSWORD_EASY);
    note_inviter(command, body, rows);
    crypto_password_hash(body->password, hash);
    params[0] = db_value(rows, 0, ORGANIZATION_ID);
    params[1] = db_value(rows, 0, USER_ID);
    params[2] = body->token_hash;
    params[3] = str_of(hash);
    accepted = db_add(db, SQL_ACCEPT_INVITATION, params, 4);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    if (db_rows_count(db_result(db, accepted)) == 0)
        return refuse(command);
    return session_open(command, db,
                        &(struct session_of){
                            .organization_id = params[0],
                            .user_id = params[1],
                            .email = db_value(rows, 0, EMAIL),
                            .password_hash = params[3],
                            .address = body->address,
                            .network = password_attempts_network(command->arena, body->address),
                            .user_agent = body->user_agent,
                        });
}

enum status access_invitation_reply(struct command *command, struct db *db, void *service)
{
    const struct invitation *body = command->state;
    enum status st = password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_ADDRESS)
                         ? password_attempts_refuse(&body->attempts, command)
                         : accept(command, db, body);

    crypto_wipe((char *)body->password.p, body->password.n);
    return st;
}
