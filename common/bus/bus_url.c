#include "common/bus/bus_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/ascii.h"
#include "common/base/ip.h"
#include "common/base/log.h"

enum { PORT_DEFAULT = 4222 };

/* The functions that read a part, in place, return what is wrong with it; NULL: nothing. */

/* False: a % encodes nothing, or a NUL. */
static bool decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++, to++) {
        *to = *from;
        if (*from != '%')
            continue;
        if (hex_value(from[1]) < 0 || hex_value(from[2]) < 0 || memcmp(from, "%00", 3) == 0)
            return false;
        *to = (char)(hex_value(from[1]) * 16 + hex_value(from[2]));
        from += 2;
    }
    *to = '\0';
    return true;
}

/* nats.c writes both into JSON as they are. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            return false;
    return true;
}

static const char *read_user(char *text, struct bus_server *out)
{
    char *const colon = strchr(text, ':');

    if (colon != NULL) {
        *colon = '\0';
        out->password = colon + 1;
        if (strchr(colon + 1, ':') != NULL)
            return "percent-encode each : in the password, as %3A";
    }
    out->user = text;
    if (text[0] == '\0')
        return "there is no user before the password";
    if (!decode(text) || (colon != NULL && !decode(colon + 1)))
        return "percent-encode each % in the user and the password, as %25";
    if (!is_plain(text) || (colon != NULL && !is_plain(colon + 1)))
        return "the user and the password must not have \", \\ or control characters";
    return NULL;
}

/* `text` is what follows the host. */
static const char *read_port(const char *text, struct bus_server *out)
{
    uint64_t port = PORT_DEFAULT;

    if (text[0] != '\0' &&
        (text[0] != ':' || !str_to_u64(str_of(text + 1), UINT16_MAX, &port) || port == 0))
        return "the port must be from 1 to 65535 (percent-encode commas and blanks in a password, "
               "as %2C and %20)";
    out->port = (uint16_t)port;
    return NULL;
}

static const char *read_address(char *text, struct bus_server *out)
{
    char *const end = strchr(text, ']');
    struct address address;

    if (end == NULL)
        return "an IPv6 address lacks its closing bracket";
    *end = '\0';
    out->host = text;
    if (strchr(text, ':') == NULL || !address_parse(str_of(text), &address))
        return "what is in brackets must be an IPv6 address";
    return read_port(end + 1, out);
}

static const char *read_name(char *text, struct bus_server *out)
{
    char *const end = text + strcspn(text, ":");
    const char *why;

    if (end[0] != '\0' && strchr(end + 1, ':') != NULL)
        return "write an IPv6 address in brackets";
    why = read_port(end, out);
    *end = '\0';
    out->host = text;
    for (const char *p = text; *p != '\0'; p++)
        if (!ascii_is_alphanumeric(*p) && strchr("-._", *p) == NULL)
            return "the host must be a name or an address";
    return end == text ? "there is no host" : why;
}

static const char *read_server(char *text, bool *tls, struct bus_server *out)
{
    char *const colon = strstr(text, "://");
    char *start = colon != NULL ? colon + 3 : text, *end, *at;
    const char *why = NULL;

    if (colon != NULL) {
        *colon = '\0';
        *tls = *tls || strcasecmp(text, "tls") == 0;
        if (strcasecmp(text, "tls") != 0 && strcasecmp(text, "nats") != 0)
            return "the scheme must be nats:// or tls://";
    }
    end = start + strcspn(start, "/?#");
    if (strchr(end, '@') != NULL)
        return "percent-encode each / ? # in the user and the password, as %2F %3F %23";
    if (strcmp(end, "/") != 0 && end[0] != '\0')
        return "nothing may follow the port";
    *end = '\0';
    at = strchr(start, '@');
    if (at != NULL) {
        *at = '\0';
        if (colon == NULL)
            return "before the user write nats:// or tls:// (percent-encode commas and blanks in a "
                   "password, as %2C and %20)";
        if (strchr(at + 1, '@') != NULL)
            return "percent-encode each @ in the user and the password, as %40";
        why = read_user(start, out);
        start = at + 1;
    }
    if (why != NULL)
        return why;
    return start[0] == '[' ? read_address(start + 1, out) : read_name(start, out);
}

static const char *read_all(struct bus_url *url)
{
    char *rest = url->text, *text;
    const char *why;
    bool tls = false;

    while ((text = strtok_r(rest, ", \t\r\n", &rest)) != NULL) {
        if (url->n == BUS_SERVERS_MAX)
            return "there are more than 16 servers";
        why = read_server(text, &tls, &url->at[url->n++]);
        if (why != NULL)
            return why;
    }
    for (size_t i = 0; i < url->n; i++)
        url->at[i].tls = tls;
    return url->n == 0 ? "there is none" : NULL;
}

bool bus_url_read(const char *text, struct bus_url *out, char why[BUS_URL_WHY])
{
    struct bus_url url = {.text = strdup(text), .size = strlen(text)};
    const char *wrong;

    must(url.text != NULL);
    wrong = read_all(&url);
    if (wrong == NULL) {
        *out = url;
        return true;
    }
    if (url.n < 2)
        (void)snprintf(why, BUS_URL_WHY, "%s", wrong);
    else
        (void)snprintf(why, BUS_URL_WHY, "server %zu: %s", url.n, wrong);
    bus_url_release(&url);
    return false;
}

void bus_url_release(struct bus_url *url)
{
    if (url->text != NULL)
        explicit_bzero(url->text, url->size);
    free(url->text);
    *url = (struct bus_url){.text = NULL};
}
