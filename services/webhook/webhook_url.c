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

static const char not_canonical[] =
    "must spell an address of its host canonically, like 203.0.113.7 or [2001:db8::7]";

/* NULL: none. */
static const char *label_fault(struct str label, bool is_last)
{
    if (label.n == 0)
        return is_last ? "must not end its host with a full stop"
                       : "has a host with two full stops in a row, or one at its beginning";
    if (label.n > LABEL_MAX)
        return "has a host name with a part of more than 63 characters";
    if (memchr(label.p, '_', label.n) != NULL)
        return "has a character that host names do not allow: _";
    if (memchr(label.p, '%', label.n) != NULL)
        return "has a character that host names do not allow: %";
    if (label.p[0] == '-' || label.p[label.n - 1] == '-')
        return "has a host name with a part that begins or ends with a hyphen";
    for (size_t i = 0; i < label.n; i++)
        if (!ascii_is_alphanumeric(label.p[i]) && label.p[i] != '-')
            return "has a host name with something other than letters, digits, hyphens and full "
                   "stops";
    return NULL;
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
    const char *fault;
    size_t labels = 0;

    if (name.n == 0)
        return "has no host";
    if (name.n > WEBHOOK_URL_NAME_MAX)
        return "has a host name that is too long";
    while (rest.p != NULL) {
        label = str_cut(&rest, '.');
        labels++;
        fault = label_fault(label, labels > 1 && rest.p == NULL);
        if (fault != NULL)
            return fault;
    }
    if (is_numeric(label))
        return read_literal(name, out) ? NULL : not_canonical;
    if (labels < 2)
        return "needs a host name with a domain, like hooks.example.com";
    return is_inner(name) ? "has a host name that is internal to a network; it needs one of the "
                            "public DNS"
                          : NULL;
}

/* Brackets must contain an IPv6 address, so there must be a colon. A mapped IPv4 address is
   refused: its canonical spelling has none. */
static const char *read_host(struct str host, bool in_brackets, struct webhook_url *out)
{
    out->host = host;
    if (!in_brackets)
        return read_name(host, out);
    if (memchr(host.p, ':', host.n) == NULL || !read_literal(host, out))
        return not_canonical;
    return NULL;
}

static const char wrong_port[] =
    "must have no port, or one from 443, 8443 and 1024 to 65535, without zeros before it";

static const char *read_port(struct str text, struct webhook_url *out)
{
    uint64_t port = PORT_HTTPS;

    if (text.p != NULL && (text.n == 0 || text.n > PORT_DIGITS_MAX || text.p[0] == '0' ||
                           !str_to_u64(text, UINT16_MAX, &port)))
        return wrong_port;
    if (port != PORT_HTTPS && port != PORT_HTTPS_OTHER && port < PORT_MIN)
        return wrong_port;
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
            return not_canonical;
        /* After the bracket: nothing, or a colon and the port. */
        if (rest.n > 0 && rest.p[0] != ':')
            return not_canonical;
        rest = rest.n > 0 ? str_skip(rest, 1) : STR_NONE;
    } else {
        host = str_cut(&rest, ':');
    }
    wrong = read_host(host, in_brackets, out);
    return wrong != NULL ? wrong : read_port(rest, out);
}

static const char *text_fault(struct str url, size_t host_at)
{
    for (size_t i = host_at; i < url.n && url.p[i] != '/' && url.p[i] != '?'; i++)
        if ((unsigned char)url.p[i] > 0x7f)
            return "has a host that is not in ASCII: write it as xn--...";
    if (memchr(url.p, '#', url.n) != NULL)
        return "must not have a fragment";
    return "has a character that URLs do not allow: write it as % and two hexadecimal digits";
}

const char *webhook_url_read(struct str url, struct webhook_url *out)
{
    const struct str scheme = STR("https://");
    struct webhook_url parsed_url = {0};
    struct str authority;
    const char *wrong;

    if (url.n > WEBHOOK_URL_MAX)
        return "must be at most 2048 characters long";
    if (url.n < scheme.n || !str_equal_nocase((struct str){url.p, scheme.n}, scheme))
        return "must begin with https://";
    if (!is_url_text(url))
        return text_fault(url, scheme.n);
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
