#include "services/access/attempts.h"

#include "access_sql.h"
#include "common/base/address.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"

static void add(struct attempts *attempts, struct arena *arena, const char *kind, struct str what,
                int64_t most)
{
    char *hex = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    must(attempts->n < sizeof(attempts->at) / sizeof(attempts->at[0]));
    crypto_sha256(str_of(arena_printf(arena, "%s %.*s", kind, STR_ARG(what))), hash);
    crypto_hex(hash, sizeof(hash), hex);
    attempts->now_s = clock_us() / 1000000;
    attempts->at[attempts->n++] = (struct attempt){.counted = str_of(hex), .most = most};
}

void attempts_of_email(struct attempts *attempts, struct arena *arena, struct str email)
{
    add(attempts, arena, "email", email, ATTEMPTS_OF_EMAIL);
}

void attempts_of_user(struct attempts *attempts, struct arena *arena, struct str user_id)
{
    add(attempts, arena, "user", user_id, ATTEMPTS_OF_EMAIL);
}

void attempts_of_address(struct attempts *attempts, struct arena *arena, struct str address)
{
    static const uint8_t v4[12] = {[10] = 0xff, 0xff};
    struct address parsed = {{0}};
    char counted[2 * sizeof(parsed.b) + 1];
    bool is_v4;

    (void)address_parse(address, &parsed); /* it is well-formed */
    is_v4 = crypto_equal(parsed.b, v4, sizeof(v4));
    crypto_hex(parsed.b, is_v4 ? sizeof(parsed.b) : sizeof(parsed.b) / 2, counted);
    add(attempts, arena, "address", str_of(counted), ATTEMPTS_OF_ADDRESS);
}

/* The statement's first two parameters. */
static struct params params_of(const struct attempts *attempts, size_t i, struct arena *arena)
{
    struct params params = {.n = 0};

    params_add(&params, attempts->at[i].counted);
    params_add_int(&params, arena, attempts->now_s / 60);
    return params;
}

void attempts_ask(struct attempts *attempts, struct arena *arena, struct db *db)
{
    for (size_t i = 0; i < attempts->n; i++) {
        const struct params params = params_of(attempts, i, arena);

        attempts->at[i].index = db_add(db, SQL_COUNT_ATTEMPT, params.at, params.n);
    }
}

enum status attempts_judge(const struct attempts *attempts, struct command *command, struct db *db)
{
    for (size_t i = 0; i < attempts->n; i++) {
        const struct attempt *attempt = &attempts->at[i];

        if (db_value_int(db_result(db, attempt->index), 0, 0) <= attempt->most)
            continue;
        command->retry_after_s = 60 - (unsigned)(attempts->now_s % 60);
        return command_refuse(command, OUTCOME_RATE_LIMITED, NULL,
                              "There were too many attempts; try again in a minute");
    }
    return ST_OK;
}

void attempts_forgive(const struct attempts *attempts, struct arena *arena, struct db *db)
{
    for (size_t i = 0; i < attempts->n; i++) {
        const struct params params = params_of(attempts, i, arena);

        db_add(db, SQL_FORGIVE_ATTEMPT, params.at, params.n);
    }
}
