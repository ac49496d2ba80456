#include "services/webhook/webhook_url.h"

#include <string.h>

#include "common/base/ascii.h"

enum { PORT_DIGITS_MAX = 5, PORT_HTTPS = 443, PORT_HTTPS_OTHER = 8443, PORT_MIN = 1024 };

#define LABEL_MAX 63

/* Names that have a meaning only inside a network. */
static const struct str inner_names[] = {
    STR("localhost"),   STR("local"),    STR("internal"), STR("home.arpa"), STR("lan"),  STR("svc"),
    STR("localdomain"), STR("intranet"), STR("private"),  STR("corp"),      STR("home"),
};

/* The characters that RFC 3986 allows in a URL, except '#'. */
static bool is_url_text(struct str text)
{
    static const char others[] = "-._~:/?[]@!$&'()*+,;=%";

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (!ascii_is_alphanumeric(c) && (c == '\0' || strchr(others, c) == NULL))
            return false;
    }
    return true;
}

static bool is_label(struct str label)
{
    if (label.n == 0 || label.n > LABEL_MAX || label.p[0] == '-' || label.p[label.n - 1] == '-')
        return false;
    for (size_t i = 0; i < label.n; i++) {
        if (!ascii_is_alphanumeric(label.p[i]) && label.p[i] != '-')
            return false;
    }
    return true;
}

/* Whether some parser could read it as a decimal, octal or hexadecimal number. */
static bool is_numeric(struct str label)
{
    size_t i = 0;

    if (label.n >= 2 && label.p[0] == '0' && ascii_lower(label.p[1]) == 'x')
        return true;
    while (i < label.n && ascii_is_digit(label.p[i]))
        i++;
    return i == label.n;
}

static bool ends_in(struct str name, struct str inner)
{
    const struct str end = str_skip(name, name.n > inner.n ? name.n - inner.n : 0);

    return str_equal_nocase(end, inner) &&
           (name.n == inner.n || name.p[name.n - inner.n - 1] == '.');
}

static bool is_inner(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(inner_names); i++) {
        if (ends_in(name, inner_names[i]))
            return true;
    }
    return false;
}

/* Accepts only the canonical spelling of an address. */
static bool read_literal(struct str text, struct webhook_url *out)
{
    char canonical[ADDRESS_TEXT];

    if (!address_parse(text, &out->address))
        return false;
    address_format(&out->address, canonical);
    out->is_literal = true;
    return str_equal(str_of(canonical), text);
}

static const char *read_name(struct str name, struct webhook_url *out)
{
    struct str rest = name, label = STR_NONE;
    size_t labels = 0;

    if (name.n > WEBHOOK_URL_NAME_MAX)
        return "has a host name that is too long";
    while (rest.p != NULL) {
        label = str_cut(&rest, '.');
        labels++;
        if (!is_label(label))
            return "has a host that is neither a DNS name nor an address";
    }
    if (is_numeric(label))
        return read_literal(name, out) ? NULL : "has a host that is not a canonical address";
    if (labels < 2)
        return "needs a host name with a domain";
    return is_inner(name) ? "has a host name that is internal to a network" : NULL;
}

/* Brackets must contain an IPv6 address, so there must be a colon. A mapped IPv4 address is
   refused: its canonical spelling has none. */
static const char *read_host(struct str host, bool in_brackets, struct webhook_url *out)
{
    out->host = host;
    if (!in_brackets)
        return read_name(host, out);
    if (memchr(host.p, ':', host.n) == NULL || !read_literal(host, out))
        return "has a host that is not a canonical address";
    return NULL;
}

static const char *read_port(struct str text, struct webhook_url *out)
{
    uint64_t port = PORT_HTTPS;

    if (text.p != NULL && (text.n == 0 || text.n > PORT_DIGITS_MAX || text.p[0] == '0' ||
                           !str_to_u64(text, UINT16_MAX, &port)))
        return "has a port that is not a number";
    if (port != PORT_HTTPS && port != PORT_HTTPS_OTHER && port < PORT_MIN)
        return "has a port other than 443, 8443 or 1024 to 65535";
    out->port = (uint16_t)port;
    return NULL;
}

static const char *read_authority(struct str authority, struct webhook_url *out)
{
    struct str rest = authority, host;
    const bool in_brackets = authority.n > 0 && authority.p[0] == '[';
    const char *wrong;

    if (authority.n == 0)
        return "has no host";
    if (memchr(authority.p, '@', authority.n) != NULL)
        return "must not contain a user name or password";
    if (in_brackets) {
        rest = str_skip(rest, 1);
        host = str_cut(&rest, ']');
        if (rest.p == NULL)
            return "has a host that is not a canonical address";
        /* After the bracket: nothing, or a colon and the port. */
        if (rest.n > 0 && rest.p[0] != ':')
            return "has a host that is not a canonical address";
        rest = rest.n > 0 ? str_skip(rest, 1) : STR_NONE;
    } else {
        host = str_cut(&rest, ':');
    }
    wrong = read_host(host, in_brackets, out);
    return wrong != NULL ? wrong : read_port(rest, out);
}

const char *webhook_url_read(struct str url, struct webhook_url *out)
{
    const struct str scheme = STR("https://");
    struct webhook_url parsed_url = {0};
    struct str authority;
    const char *wrong;

    if (url.n > WEBHOOK_URL_MAX)
        return "must be at most 2048 characters long";
    if (!str_starts(url, scheme))
        return "must begin with https://";
    if (!is_url_text(url))
        return memchr(url.p, '#', url.n) != NULL
                   ? "must not have a fragment"
                   : "contains characters that are not allowed in a URL";
    authority = str_skip(url, scheme.n);
    for (size_t i = 0; i < authority.n; i++) {
        if (authority.p[i] == '/' || authority.p[i] == '?')
            authority.n = i;
    }
    wrong = read_authority(authority, &parsed_url);
    if (wrong == NULL)
        *out = parsed_url;
    return wrong;
}
