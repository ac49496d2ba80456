#include "services/access/password_attempts.h"

#include "access_sql.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"

static void add(struct password_attempts *attempts, struct arena *arena,
                enum password_attempt_kind kind, int64_t max, const char *what)
{
    char *hex = arena_alloc(arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    must(attempts->n < ARRAY_SIZE(attempts->at));
    crypto_sha256(str_of(what), hash);
    hex_write(hash, sizeof(hash), hex);
    attempts->now_s = clock_us() / 1000000;
    attempts->at[attempts->n++] =
        (struct password_attempt){.kind = kind, .counted = str_of(hex), .max = max};
}

void password_attempts_of_email(struct password_attempts *attempts, struct arena *arena,
                                struct str email)
{
    add(attempts, arena, PASSWORD_ATTEMPT_SUBJECT, PASSWORD_ATTEMPTS_OF_EMAIL,
        arena_printf(arena, "email %.*s", STR_ARG(email)));
}

void password_attempts_of_user(struct password_attempts *attempts, struct arena *arena,
                               struct str user_id)
{
    add(attempts, arena, PASSWORD_ATTEMPT_SUBJECT, PASSWORD_ATTEMPTS_OF_EMAIL,
        arena_printf(arena, "user %.*s", STR_ARG(user_id)));
}

void password_attempts_of_place(struct password_attempts *attempts, struct arena *arena,
                                struct str email, struct str network)
{
    add(attempts, arena, PASSWORD_ATTEMPT_PLACE, PASSWORD_ATTEMPTS_OF_EMAIL,
        arena_printf(arena, "place %.*s %.*s", STR_ARG(network), STR_ARG(email)));
}

static struct address read_address(struct str text)
{
    struct address address = {{0}};

    (void)address_parse(text, &address); /* it is well-formed */
    return address;
}

static void add_network(struct password_attempts *attempts, struct arena *arena,
                        struct network network, int64_t max)
{
    char text[NETWORK_TEXT];

    network_format(&network, text);
    add(attempts, arena, PASSWORD_ATTEMPT_ADDRESS, max, arena_printf(arena, "address %s", text));
}

void password_attempts_of_address(struct password_attempts *attempts, struct arena *arena,
                                  struct str address)
{
    const struct address parsed = read_address(address);
    const struct network near = network_near(&parsed), site = network_around(&parsed, 32, 56);

    add_network(attempts, arena, near, PASSWORD_ATTEMPTS_OF_ADDRESS);
    if (!network_equal(&near, &site))
        add_network(attempts, arena, site, PASSWORD_ATTEMPTS_OF_SITE);
    add_network(attempts, arena, network_wide(&parsed), PASSWORD_ATTEMPTS_OF_NETWORK);
}

struct str password_attempts_network(struct arena *arena, struct str address)
{
    const struct address parsed = read_address(address);
    const struct network wide = network_wide(&parsed);
    char *text = arena_alloc(arena, NETWORK_TEXT);

    network_format(&wide, text);
    return str_of(text);
}

/* The parameters of both statements. */
static struct params params_of(const struct password_attempts *attempts, struct arena *arena)
{
    struct params params = {.n = 0};
    struct buf hashes;

    array_open(&hashes, arena, ARRAY_SIZE(attempts->at) * 80);
    for (size_t i = 0; i < attempts->n; i++)
        array_add_plain(&hashes, attempts->at[i].counted);
    params_add(&params, array_close(&hashes));
    params_add_int(&params, arena, attempts->now_s / 60);
    return params;
}

void password_attempts_ask(struct password_attempts *attempts, struct arena *arena, struct db *db)
{
    const struct params params = params_of(attempts, arena);

    attempts->index = db_add(db, SQL_READ_ATTEMPTS, params.at, params.n);
}

bool password_attempts_are_full(const struct password_attempts *attempts, struct db *db,
                                enum password_attempt_kind kind)
{
    for (size_t i = 0; i < attempts->n; i++)
        if (attempts->at[i].kind == kind &&
            db_value_int(db_result(db, attempts->index), i, 0) >= attempts->at[i].max)
            return true;
    return false;
}

enum status password_attempts_refuse(const struct password_attempts *attempts,
                                     struct command *command)
{
    command->retry_after_s = 60 - (unsigned)(attempts->now_s % 60);
    return command_refuse(command, OUTCOME_RATE_LIMITED, NULL,
                          "Too many attempts; try again in a minute");
}

void password_attempts_note(const struct password_attempts *attempts, struct arena *arena,
                            struct db *db)
{
    const struct params params = params_of(attempts, arena);

    db_add(db, SQL_COUNT_ATTEMPTS, params.at, params.n);
}
