#include "services/access/passwords.h"

#include <stdint.h>
#include <string.h>

#include "access_sql.h"
#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "proto/subject.h"
#include "services/access/access.h"

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

    attempts->index = db_add(db, SQL_READ_ATTEMPTS, &params);
}

bool password_attempts_are_full(const struct password_attempts *attempts, struct db *db,
                                enum password_attempt_kind kind)
{
    for (size_t i = 0; i < attempts->n; i++)
        if (attempts->at[i].kind == kind &&
            db_value_int(db_result(db, attempts->index), i, READ_ATTEMPTS_ATTEMPTS) >=
                attempts->at[i].max)
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

    db_add(db, SQL_COUNT_ATTEMPTS, &params);
}

enum {
    DISTINCT_MIN = 6, /* distinct characters */
    LEFT_MIN = 12,    /* the weight of what is left without the words */
    WORD_MIN = 3,     /* the length of an email's part; shorter ones occur in any text */
};

static const char *const words[] = {
    "password",     "passwort",   "motdepasse", "contrasena", "passphrase", "secret",   "geheim",
    "welcome",      "willkommen", "hello",      "letmein",    "login",      "signin",   "admin",
    "root",         "user",       "guest",      "default",    "changeme",   "change",   "test",
    "temp",         "qwerty",     "qwertz",     "azerty",     "asdf",       "zxcv",     "iloveyou",
    "love",         "monkey",     "dragon",     "football",   "baseball",   "soccer",   "superman",
    "batman",       "princess",   "sunshine",   "shadow",     "master",     "trustno",  "michael",
    "jordan",       "charlie",    "ashley",     "access",     "computer",   "internet", "service",
    "conversation", "dashboard",  "company",    "example",    "spring",     "summer",   "autumn",
    "winter",       "january",    "february",   "march",      "april",      "june",     "july",
    "august",       "september",  "october",    "november",   "december",   "monday",   "friday",
    "abc",          "xyz",
};

/* Maps a letter to lower case, and a common substitute such as @ to its letter. */
static char plain(char c)
{
    static const char from[] = "@431!05$7", to[] = "aaeiiosst";
    const char *at = c != '\0' ? strchr(from, c) : NULL;

    if (at != NULL)
        return to[at - from];
    return ascii_lower(c);
}

static bool is_run(unsigned char a, unsigned char b)
{
    static const char rows[] = "qwertyuiop asdfghjkl zxcvbnm qwertzuiop 1234567890";
    const char pair[] = {(char)a, (char)b, '\0'}, back[] = {(char)b, (char)a, '\0'};

    return a == b || a + 1 == b || b + 1 == a || strstr(rows, pair) != NULL ||
           strstr(rows, back) != NULL;
}

/* At least two thirds of its steps lead to the same character or to a neighbouring one. */
static bool is_mostly_runs(struct str text)
{
    size_t n = 0;

    for (size_t i = 1; i < text.n; i++)
        n += is_run((unsigned char)text.p[i - 1], (unsigned char)text.p[i]);
    return 3 * n >= 2 * (text.n - 1);
}

static size_t count_distinct(struct str text)
{
    bool seen[256] = {false};
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        n += !seen[(unsigned char)text.p[i]];
        seen[(unsigned char)text.p[i]] = true;
    }
    return n;
}

static bool stands_at(struct str text, size_t at, struct str word)
{
    if (at + word.n > text.n)
        return false;
    for (size_t i = 0; i < word.n; i++)
        if (plain(text.p[at + i]) != plain(word.p[i]))
            return false;
    return true;
}

/* The length of the longest part of the email that is at `at`; any of .@-_+ separates parts. */
static size_t part_at(struct str text, size_t at, struct str email)
{
    size_t longest = 0, begin = 0;

    for (size_t i = 0; i <= email.n; i++) {
        struct str part = {email.p + begin, i - begin};

        if (i < email.n && strchr(".@-_+", email.p[i]) == NULL)
            continue;
        if (part.n >= WORD_MIN && part.n > longest && stands_at(text, at, part))
            longest = part.n;
        begin = i + 1;
    }
    return longest;
}

static size_t word_at(struct str text, size_t at, struct str email)
{
    size_t longest = email.n > 0 ? part_at(text, at, email) : 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct str word = str_of(words[i]);

        if (word.n > longest && stands_at(text, at, word))
            longest = word.n;
    }
    return longest;
}

/* Digits and common signs count 1, all other characters 2. */
static size_t weigh_what_is_left(struct str text, struct str email)
{
    size_t weight = 0, at = 0;

    while (at < text.n) {
        size_t n = word_at(text, at, email);
        char c = text.p[at];
        bool is_plain = ascii_is_digit(c) || (c > 0 && strchr(" !.,-_#*?", c) != NULL);

        if (n == 0)
            weight += is_plain ? 1 : 2;
        at += n > 0 ? n : 1;
    }
    return weight;
}

bool password_is_easy(struct str password, struct str email)
{
    return count_distinct(password) < DISTINCT_MIN || is_mostly_runs(password) ||
           weigh_what_is_left(password, email) < LEFT_MIN;
}

/* -- the command ------------------------------------------------------------------------------- */

/*
 * change-password - changes a user's password, given the old one.
 *
 * Answer   ok: {ended: how many other sessions were ended}; or parameter_invalid,
 *          parameter_not_found, not_found, rate_limit_exceeded
 * Retry    a second call finds the old password wrong
 */

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
    FIELDS_END,
};

static enum status password_parse(struct command *command, void *service)
{
    struct change_password *body = command->input;
    const struct operator_query *query = access_for_organization(command, SQL_READ_PASSWORD);

    body->organization_id = query->params.at[0];
    body->user_id = input_exact_id(body->user_id);
    password_attempts_of_user(&body->attempts, command->arena, body->user_id);
    command->change_target = body->user_id;
    return ST_OK;
}

static void password_query(struct command *command, struct db *db, void *service)
{
    struct change_password *body = command->input;

    password_attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_READ_PASSWORD, PARAMS(body->organization_id, body->user_id));
}

/* The other sessions are ended after the change, by a statement of their own: opening a session
   locks the user, so this statement sees all sessions that were opened with the old password. */
static enum status change(struct command *command, struct db *db,
                          const struct change_password *body, struct str old_hash)
{
    char hash[CRYPTO_PASSWORD_TEXT];
    size_t changed, ended;
    enum status st;

    crypto_password_hash(body->new_password, hash);
    changed = db_add(db, SQL_CHANGE_PASSWORD,
                     PARAMS(body->organization_id, body->user_id, str_of(hash), old_hash));
    ended = db_add(db, SQL_END_SESSIONS, PARAMS(body->organization_id, body->user_id, body->keep));
    st = db_run(db);
    if (st != ST_OK)
        return st;
    if (db_rows_count(db_result(db, changed)) == 0)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password",
                              "has just been changed");
    buf_add(&command->reply,
            db_value(db_result(db, ended), 0, END_SESSIONS_OPERATOR + OPERATOR_REPLY));
    return ST_OK;
}

static enum status password_reply(struct command *command, struct db *db, void *service)
{
    const struct change_password *body = command->input;
    const struct db_rows *rows = db_result(db, body->found);
    const char *hash;

    if (password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_SUBJECT))
        return password_attempts_refuse(&body->attempts, command);
    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is no such user");
    if (password_is_easy(body->new_password, db_value(rows, 0, READ_PASSWORD_EMAIL)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "new_password", PASSWORD_EASY);
    hash = arena_cstr(command->arena, db_value(rows, 0, READ_PASSWORD_PASSWORD_HASH));
    if (crypto_password_matches(body->password, hash))
        return change(command, db, body, str_of(hash));
    password_attempts_note(&body->attempts, command->arena, db);
    return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", "is incorrect");
}

const struct command_handler access_password = {
    .subject = SUBJECT_SESSION_CHANGE_PASSWORD,
    .change = CHANGE_PASSWORD_CHANGE,
    .writes = true,
    .needs_organization = true,
    .has_secrets = true,
    .fields = fields,
    .input_size = sizeof(struct change_password),
    .parse = password_parse,
    .query = password_query,
    .reply = password_reply,
};
