#include "common/base/network.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool network_parse(struct str text, struct network *out)
{
    struct str rest = text;
    struct str base = str_cut(&rest, '/');
    struct network network;
    uint64_t bits;
    unsigned width;

    if (!address_parse(base, &network.base))
        return false;
    width = memchr(base.p, ':', base.n) == NULL ? 32 : 128;
    bits = width;
    if (rest.p != NULL && !str_to_u64(rest, width, &bits))
        return false;
    network.bits = 128 - width + (unsigned)bits;
    *out = network;
    return true;
}

bool networks_parse(struct str text, struct networks *out)
{
    struct networks networks = {0};
    struct str rest = text;

    while (rest.p != NULL && str_trim_ows(rest).n > 0) {
        if (networks.n == NETWORKS_MOST ||
            !network_parse(str_trim_ows(str_cut(&rest, ',')), &networks.at[networks.n]))
            return false;
        networks.n++;
    }
    *out = networks;
    return true;
}

static bool network_holds(const struct network *network, const struct address *address)
{
    unsigned whole = network->bits / 8, odd = network->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> odd);

    if (memcmp(network->base.b, address->b, whole) != 0)
        return false;
    return odd == 0 || ((network->base.b[whole] ^ address->b[whole]) & mask) == 0;
}

bool networks_hold(const struct networks *networks, const struct address *address)
{
    for (size_t i = 0; i < networks->n; i++)
        if (network_holds(&networks->at[i], address))
            return true;
    return false;
}

struct address address_of(const struct sockaddr *from)
{
    struct address address = {{0}};

    if (from->sa_family == AF_INET) {
        address.b[10] = address.b[11] = 0xff;
        memcpy(address.b + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        memcpy(address.b, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    }
    return address;
}
