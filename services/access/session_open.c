#include "common/base/base64url.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "services/access/session.h"

_Static_assert(SESSION_SECRET_TEXT == BASE64URL_TEXT(SESSION_SECRET_BYTES), "a secret's length");

struct str session_secret_make(struct arena *arena, struct str *hash)
{
    char *text = arena_alloc(arena, SESSION_SECRET_TEXT + 1);
    char *hex = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t bytes[SESSION_SECRET_BYTES], digest[SHA256_BYTES];

    arena->wipes = true;
    crypto_random(bytes, sizeof(bytes));
    base64url_write(bytes, sizeof(bytes), text);
    crypto_sha256(str_of(text), digest);
    crypto_hex(digest, sizeof(digest), hex);
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
    i = db_add(db, SQL_CREATE_SESSION, params.at, params.n);
    st = db_run(db);
    if (st != ST_OK)
        return st;
    rows = db_result(db, i);
    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL,
                              "The password was just changed, or the user was removed");
    access_write(command, db_value(rows, 0, 1), "session", token);
    must(uuid_parse(of->organization_id, &command->caller.organization_id) &&
         uuid_parse(of->user_id, &command->caller.user_id));
    command->caller.user_email = of->email;
    command->caller.address = of->address;
    command->change_target = str_of(arena_cstr(command->arena, params.at[3]));
    return ST_OK;
}
