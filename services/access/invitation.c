/*
 * accept-invitation - who was invited chooses a password and is signed in.
 *
 * Answer   as sign-in; unauthorized when the invitation is not good, or not any more
 * Retry    a second call finds the invitation used: sign in then
 */
#include "common/crypto/crypto.h"
#include "services/access/attempts.h"
#include "services/access/inputs.h"
#include "services/access/session.h"

#define USER_AGENT_MOST 4096

enum column { ORGANIZATION_ID, USER_ID, EMAIL };

struct invitation {
    struct str token, password, address, user_agent;
    struct str token_hash; /* in hex */
    struct attempts attempts;
    size_t found;
};

static const struct field fields[] = {
    INPUT_TEXT(invitation, token, 1, 255),
    INPUT_TEXT(invitation, password, PASSWORD_LEAST, PASSWORD_MOST),
    INPUT(invitation, address, address_read, true),
    INPUT_TEXT(invitation, user_agent, 0, USER_AGENT_MOST),
};

enum status invitation_judge(struct command *command, void *service)
{
    struct invitation *body = ARENA_NEW(command->arena, struct invitation);
    char *hex = arena_alloc(command->arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    if (!fields_read_body(command->body, fields, 4, body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    crypto_sha256(body->token, hash);
    crypto_hex(hash, sizeof(hash), hex);
    body->token_hash = str_of(hex);
    attempts_of_address(&body->attempts, command->arena, body->address);
    command->state = body;
    return ST_OK;
}

void invitation_ask(struct command *command, struct db *db, void *service)
{
    struct invitation *body = command->state;

    attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_FIND_INVITATION, &body->token_hash, 1);
}

static enum status refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL,
                          "The invitation is used, over or replaced by another");
}

static enum status accept(struct command *command, struct db *db, const struct invitation *body)
{
    const struct db_rows *rows = db_result(db, body->found);
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);
    db_param params[4];
    enum status st;
    size_t accepted;

    if (db_rows_count(rows) == 0)
        return refuse(command);
    crypto_password_hash(body->password, hash);
    params[0] = db_value(rows, 0, ORGANIZATION_ID);
    params[1] = db_value(rows, 0, USER_ID);
    params[2] = body->token_hash;
    params[3] = str_of(hash);
    accepted = db_add(db, SQL_ACCEPT_INVITATION, params, 4);
    attempts_forgive(&body->attempts, command->arena, db);
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
                            .user_agent = body->user_agent,
                        });
}

enum status invitation_tell(struct command *command, struct db *db, void *service)
{
    const struct invitation *body = command->state;
    enum status st = attempts_judge(&body->attempts, command, db);

    if (st == ST_OK)
        st = accept(command, db, body);
    crypto_wipe((char *)body->password.p, body->password.n);
    return st;
}
