/*
 * change-password - a user's own, who knows the old one.
 *
 * Answer   ok: {ended: how many other sessions that ended}; or parameter_invalid,
 *          parameter_not_found, not_found, rate_limit_exceeded
 * Retry    a second call finds the old password wrong
 */

#include "services/access/passwords.h"
#include "common/base/ascii.h"
#include "proto/subject.h"

#include <stdint.h>
#include <string.h>

#include "common/crypto/crypto.h"
#include "services/access/access_command.h"
#include "services/access/password_attempts.h"
#include "services/access/session.h"

enum {
    DISTINCT_MIN = 6, /* characters that differ from each other */
    LEFT_MIN = 12,    /* half letters: what is left when the words have gone */
    WORD_MIN = 3,     /* of an email: shorter ones are in everything */
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

/* What a character stands for: letters in lower case, and the signs that are put in their place. */
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

/* Two thirds of its steps are to the same character or to the next. */
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

/* The length of the longest part of the email that stands at `at`: between dots, and before the @.
 */
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

/* A letter counts two, a digit or a sign one. */
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

static enum status password_reply(struct command *command, struct db *db, void *service)
{
    const struct change_password *body = command->input;
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
