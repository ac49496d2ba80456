#include "common/base/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/log.h"

/* -- addresses --------------------------------------------------------------------------------- */

/* Of an IPv4 address in 16 bytes. */
static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const struct address *address)
{
    return memcmp(address->b, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

bool address_parse(struct str text, struct address *out)
{
    struct address address;
    char copy[ADDRESS_TEXT];

    /* inet_pton() needs a C string, and is strict about everything else. */
    if (text.p == NULL || text.n >= sizeof(copy) || memchr(text.p, '\0', text.n) != NULL)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';

    if (inet_pton(AF_INET6, copy, address.b) == 1) {
        *out = address;
        return true;
    }
    memcpy(address.b, mapped_prefix, sizeof(mapped_prefix));
    if (inet_pton(AF_INET, copy, address.b + sizeof(mapped_prefix)) != 1)
        return false;
    *out = address;
    return true;
}

void address_format(const struct address *address, char text[ADDRESS_TEXT])
{
    const char *done;

    if (is_v4(address))
        done = inet_ntop(AF_INET, address->b + sizeof(mapped_prefix), text, ADDRESS_TEXT);
    else
        done = inet_ntop(AF_INET6, address->b, text, ADDRESS_TEXT);
    must(done != NULL);
}

bool address_equal(const struct address *a, const struct address *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

struct address address_of(const struct sockaddr *from)
{
    struct address address = {{0}};

    if (from->sa_family == AF_INET) {
        memcpy(address.b, mapped_prefix, sizeof(mapped_prefix));
        memcpy(address.b + sizeof(mapped_prefix),
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        memcpy(address.b, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    }
    return address;
}

size_t address_to_socket(const struct address *address, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)out;

    memset(out, 0, sizeof(*out));
    if (is_v4(address)) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, address->b + sizeof(mapped_prefix), sizeof(v4->sin_addr));
        return sizeof(*v4);
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    memcpy(&v6->sin6_addr, address->b, sizeof(v6->sin6_addr));
    return sizeof(*v6);
}

/* -- networks ---------------------------------------------------------------------------------- */

enum { ADDRESS_BITS = 128, ADDRESS_BITS_V4 = 32, PREFIX_TEXT_MAX = 3 };

/* 10.0.0.1/8 is ambiguous: an address or a network. */
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
    if (rest.p != NULL && (rest.n > PREFIX_TEXT_MAX || !str_to_u64(rest, width, &bits)))
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

struct network network_around(const struct address *address, unsigned bits_v4, unsigned bits_v6)
{
    struct network network = {.bits = is_v4(address) ? ADDRESS_BITS - ADDRESS_BITS_V4 + bits_v4
                                                     : bits_v6};
    unsigned whole = network.bits / 8, odd = network.bits % 8;

    memcpy(network.base.b, address->b, whole);
    if (odd > 0)
        network.base.b[whole] = (uint8_t)(address->b[whole] & (0xff00U >> odd));
    return network;
}

void network_format(const struct network *network, char text[NETWORK_TEXT])
{
    unsigned before = is_v4(&network->base) ? ADDRESS_BITS - ADDRESS_BITS_V4 : 0;

    address_format(&network->base, text);
    snprintf(text + strlen(text), NETWORK_TEXT - strlen(text), "/%u", network->bits - before);
}

bool network_equal(const struct network *a, const struct network *b)
{
    return a->bits == b->bits && address_equal(&a->base, &b->base);
}

struct network network_near(const struct address *address)
{
    return network_around(address, 32, 64);
}

struct network network_wide(const struct address *address)
{
    return network_around(address, 24, 48);
}

void network_key(const struct network *network, uint8_t key[16])
{
    memcpy(key, network->base.b, 16);
    key[9] = (uint8_t)network->bits; /* zero in all of them */
}

/* -- lists of networks ------------------------------------------------------------------------- */

bool networks_parse(struct str text, struct networks *out, struct str *wrong)
{
    struct networks networks = {0};
    struct str rest = str_trim_ows(text);

    if (rest.n == 0)
        rest = STR_NONE;
    while (rest.p != NULL) {
        struct str part = str_trim_ows(str_cut(&rest, ','));

        if (networks.n == NETWORKS_MAX || !network_parse(part, &networks.at[networks.n])) {
            part.n = part.n < NETWORKS_WRONG_MAX ? part.n : NETWORKS_WRONG_MAX;
            if (wrong != NULL)
                *wrong = part;
            return false;
        }
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
