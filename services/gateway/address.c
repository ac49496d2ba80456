#include "services/gateway/address.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool address_parse(struct str text, struct address *out)
{
    char copy[ADDRESS_TEXT];
    struct address address;

    if (text.n == 0 || text.n >= sizeof(copy) || memchr(text.p, '\0', text.n) != NULL)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (inet_pton(AF_INET, copy, address.b + 12) == 1)
        memcpy(address.b, mapped_prefix, sizeof(mapped_prefix));
    else if (inet_pton(AF_INET6, copy, address.b) != 1)
        return false;
    *out = address;
    return true;
}

struct address address_of(const struct sockaddr *from)
{
    struct address address = {{0}};

    if (from->sa_family == AF_INET) {
        memcpy(address.b, mapped_prefix, sizeof(mapped_prefix));
        memcpy(address.b + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        memcpy(address.b, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    }
    return address;
}

void address_format(const struct address *address, char text[ADDRESS_TEXT])
{
    bool mapped = memcmp(address->b, mapped_prefix, sizeof(mapped_prefix)) == 0;

    text[0] = '\0';
    (void)inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? address->b + 12 : address->b, text,
                    ADDRESS_TEXT);
}

bool address_equal(const struct address *a, const struct address *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

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
