#include "services/dashboard/cookie.h"

#include <stdio.h>

/* As long as a session lives at the most; it may end earlier. */
#define LIFETIME_S (7 * 24 * 60 * 60)

static const char *name_of(bool is_https)
{
    return is_https ? "__Host-session" : "session";
}

bool cookie_is_token(struct str text)
{
    if (text.n != COOKIE_TOKEN_TEXT)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '-' || c == '_'))
            return false;
    }
    return true;
}

struct str cookie_token(const struct str *headers, size_t n, bool is_https)
{
    struct str name = str_of(name_of(is_https)), token = STR_NONE;
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++) {
        struct str rest = headers[i];

        while (rest.p != NULL) {
            struct str value = str_trim_ows(str_cut(&rest, ';'));

            if (!str_equal(str_cut(&value, '='), name) || value.p == NULL)
                continue;
            token = value;
            n_found++;
        }
    }
    return n_found == 1 && cookie_is_token(token) ? token : STR_NONE;
}

void cookie_write(struct str token, bool is_https, char out[COOKIE_TEXT])
{
    snprintf(out, COOKIE_TEXT, "%s=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
             name_of(is_https), (int)token.n, token.p != NULL ? token.p : "",
             token.p != NULL ? LIFETIME_S : 0, is_https ? "; Secure" : "");
}
