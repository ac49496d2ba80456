/* URLs of the bus: what is read can be written as a URL again, with the same meaning; a refusal is
   a short sentence. And credentials files: what is found can be written into JSON as it is. */
#include <stdio.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/bus/bus_url.h"
#include "common/bus/creds.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 1024 };

/* Every byte percent-encoded. */
static char *put_encoded(char *to, const char *text)
{
    for (; *text != '\0'; text++)
        to += sprintf(to, "%%%02x", (unsigned char)*text);
    return to;
}

static char *put_server(char *to, const struct bus_server *server)
{
    to += sprintf(to, "%s://", server->tls ? "tls" : "nats");
    if (server->user != NULL)
        to = put_encoded(to, server->user);
    if (server->password != NULL) {
        *to++ = ':';
        to = put_encoded(to, server->password);
    }
    if (server->user != NULL)
        *to++ = '@';
    return to + sprintf(to, strchr(server->host, ':') != NULL ? "[%s]:%u," : "%s:%u,", server->host,
                        server->port);
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check(const struct bus_url *url)
{
    char text[16 * TEXT_MAX], *end = text, why[BUS_URL_WHY];
    struct address address;
    struct bus_url again;

    must(url->n >= 1 && url->n <= BUS_SERVERS_MAX);
    for (size_t i = 0; i < url->n; i++) {
        must(url->at[i].port > 0 && url->at[i].host[0] != '\0');
        must(url->at[i].password == NULL || url->at[i].user != NULL);
        must(strchr(url->at[i].host, ':') == NULL ||
             address_parse(str_of(url->at[i].host), &address));
        end = put_server(end, &url->at[i]);
    }
    must(bus_url_read(text, &again, why) && again.n == url->n);
    for (size_t i = 0; i < url->n; i++)
        must(is_same(again.at[i].user, url->at[i].user) &&
             is_same(again.at[i].password, url->at[i].password) &&
             is_same(again.at[i].host, url->at[i].host) && again.at[i].port == url->at[i].port &&
             again.at[i].tls == url->at[i].tls);
    bus_url_release(&again);
}

static bool is_within(struct str part, struct str text)
{
    return part.p >= text.p && part.p + part.n <= text.p + text.n;
}

static void check_creds(struct str text)
{
    struct creds creds;

    if (creds_parse(text, &creds) != NULL)
        return;
    must(is_within(creds.jwt, text) && is_within(creds.seed, text) && creds.seed.n == 58);
    for (size_t i = 0; i < creds.jwt.n; i++)
        must(creds.jwt.p[i] > ' ' && creds.jwt.p[i] != '"' && creds.jwt.p[i] != '\\');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[TEXT_MAX + 1], why[BUS_URL_WHY] = "";
    struct bus_url url;

    if (n > TEXT_MAX)
        return 0;
    check_creds((struct str){(const char *)data, n});
    memcpy(text, data, n);
    text[n] = '\0';
    if (bus_url_read(text, &url, why)) {
        check(&url);
        bus_url_release(&url);
    } else {
        must(why[0] != '\0' && strlen(why) < BUS_URL_WHY - 1);
    }
    return 0;
}
