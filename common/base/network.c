#include "common/base/network.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { ADDRESS_BITS = 128, ADDRESS_BITS_V4 = 32, PREFIX_TEXT_MOST = 3 };

/* 10.0.0.1/8 may mean one of two things. */
static bool has_bits_behind(const struct network *network)
{
    for (unsigned bit = network->bits; bit < ADDRESS_BITS; bit++) {
        if (network->base.b[bit / 8] & (0x80U >> bit % 8))
            return true;
    }
    return false;
}

bool network_parse(struct str text, struct network *out)
{
    struct str rest = text;
    struct str base = str_cut(&rest, '/');
    struct network network;
    uint64_t bits;
    unsigned width;

    if (!address_parse(base, &network.base))
        return false;
    width = memchr(base.p, ':', base.n) == NULL ? ADDRESS_BITS_V4 : ADDRESS_BITS;
    bits = width;
    if (rest.p != NULL && (rest.n > PREFIX_TEXT_MOST || !str_to_u64(rest, width, &bits)))
        return false;
    network.bits = ADDRESS_BITS - width + (unsigned)bits;
    if (has_bits_behind(&network))
        return false;
    *out = network;
    return true;
}

bool network_holds(const struct network *network, const struct address *address)
{
    unsigned whole = network->bits / 8, odd = network->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> odd);

    if (memcmp(network->base.b, address->b, whole) != 0)
        return false;
    return odd == 0 || ((network->base.b[whole] ^ address->b[whole]) & mask) == 0;
}

bool networks_parse(struct str text, struct networks *out)
{
    struct networks networks = {0};
    struct str rest = str_trim_ows(text);

    if (rest.n == 0)
        rest = STR_NONE;
    while (rest.p != NULL) {
        if (networks.n == NETWORKS_MOST ||
            !network_parse(str_trim_ows(str_cut(&rest, ',')), &networks.at[networks.n]))
            return false;
        networks.n++;
    }
    *out = networks;
    return true;
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
