#include "common/http/client_address.h"

#include <string.h>

#include "common/base/ascii.h"

/* Cuts the part after the last comma off *rest, and returns it. */
static struct str cut_last(struct str *rest)
{
    const char *comma = rest->n > 0 ? memrchr(rest->p, ',', rest->n) : NULL;
    struct str last = *rest;

    if (comma == NULL) {
        *rest = STR_NONE;
        return str_trim_ows(last);
    }
    rest->n = (size_t)(comma - rest->p);
    return str_trim_ows(str_skip(last, rest->n + 1));
}

static bool is_port(struct str text)
{
    uint64_t port;

    return str_to_u64(text, 65535, &port);
}

/* An address in any form that proxies write: with or without brackets and port. */
static bool parse_hop(struct str hop, struct address *out)
{
    struct str rest = hop, inside;

    if (address_parse(hop, out))
        return true;
    if (hop.n > 0 && hop.p[0] == '[') {
        rest = str_skip(rest, 1);
        inside = str_cut(&rest, ']');
        if (rest.p == NULL || memchr(inside.p, ':', inside.n) == NULL)
            return false;
        if (rest.n > 0 && (rest.p[0] != ':' || !is_port(str_skip(rest, 1))))
            return false;
        return address_parse(inside, out);
    }
    inside = str_cut(&rest, ':');
    return rest.p != NULL && is_port(rest) && address_parse(inside, out);
}

struct address client_address(const struct address *peer, const struct networks *trusted,
                              const struct str *forwarded_for, size_t n)
{
    struct address client = *peer;
    unsigned hops = 0;

    while (n-- > 0) {
        struct str rest = forwarded_for[n];

        while (rest.p != NULL) {
            if (hops++ == CLIENT_HOPS_MAX || !networks_hold(trusted, &client) ||
                !parse_hop(cut_last(&rest), &client))
                return client;
        }
    }
    return client;
}

bool client_is_https(bool own_tls, const struct address *peer, const struct networks *trusted,
                     struct str forwarded_proto)
{
    struct str rest = forwarded_proto;

    if (own_tls)
        return true;
    return rest.p != NULL && networks_hold(trusted, peer) &&
           str_equal_nocase(cut_last(&rest), STR("https"));
}
