#include "services/access/passwords.h"

#include <stdint.h>
#include <string.h>

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
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
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

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
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
        bool is_plain = (c >= '0' && c <= '9') || (c > 0 && strchr(" !.,-_#*?", c) != NULL);

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
