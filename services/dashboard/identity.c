#include "services/dashboard/identity.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/base/uuid.h"

/* -- the cookie ------------------------------------------------------------------------------ */

/* The longest that a session lives; it may end earlier. */
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

        if (!(ascii_is_alphanumeric(c) || c == '-' || c == '_'))
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

/* -- where a request comes from -------------------------------------------------------------- */

bool origin_is_own(struct str origin, bool is_https, struct str host)
{
    struct str scheme = is_https ? STR("https://") : STR("http://");

    return host.n > 0 && str_starts(origin, scheme) &&
           str_equal_nocase(str_skip(origin, scheme.n), host);
}

bool origin_is_foreign(struct str fetch_site)
{
    return fetch_site.p != NULL && !str_equal(fetch_site, STR("same-origin")) &&
           !str_equal(fetch_site, STR("none"));
}

void dashboard_csrf_token(struct str token, char out[2 * SHA256_BYTES + 1])
{
    char text[4 + COOKIE_TOKEN_TEXT] = {'c', 's', 'r', 'f'};
    uint8_t digest[SHA256_BYTES];

    must(token.n == COOKIE_TOKEN_TEXT);
    memcpy(text + 4, token.p, COOKIE_TOKEN_TEXT);
    crypto_sha256((struct str){text, sizeof(text)}, digest);
    hex_write(digest, sizeof(digest), out);
    crypto_wipe(text, sizeof(text));
}

/* -- the signed-in user ---------------------------------------------------------------------- */

static const char *const role_names[] = {"member", "admin", "owner"};

/* NULL: absent, or with control characters, which cannot be sent in a bus header. */
static const char *text_of(const json_t *object, const char *name)
{
    struct str text = json_text(json_object_get(object, name));

    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return NULL;
    return text.n > 0 ? text.p : NULL;
}

static const char *id_of(const json_t *object)
{
    struct str text = json_text(json_object_get(object, "id"));
    struct uuid id;

    return uuid_parse(text, &id) ? text.p : NULL;
}

static bool read_role(struct identity *identity)
{
    for (size_t i = 0; i < ARRAY_SIZE(role_names); i++)
        if (identity->role_name != NULL && strcmp(identity->role_name, role_names[i]) == 0) {
            identity->role = (enum role)i;
            return true;
        }
    return false;
}

bool identity_read(struct str answer, struct identity *out)
{
    struct identity identity = {0};
    const json_t *user;

    if (!json_read(answer, &identity.answer, NULL))
        return false;
    user = json_object_get(identity.answer, "user");
    identity.user_id = id_of(user);
    identity.email = text_of(user, "email");
    identity.role_name = text_of(user, "role");
    identity.organization_id = id_of(json_object_get(identity.answer, "organization"));
    if (read_role(&identity) && identity.user_id != NULL && identity.email != NULL &&
        identity.organization_id != NULL &&
        cell_read(json_member_text(identity.answer, "cell"), identity.cell)) {
        *out = identity;
        return true;
    }
    json_free(identity.answer);
    return false;
}

void identity_release(struct identity *identity)
{
    json_free(identity->answer);
    *identity = (struct identity){0};
}
