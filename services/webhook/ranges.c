#include "services/webhook/ranges.h"

#include <string.h>

#include "common/base/log.h"

enum { BITS_V4 = 96, BITS_ALL = 128, BITS_TEXT_MOST = 3 };

/* IPv4, from IANA's registry of special purposes; those that are reachable but belong to nobody in
   particular (AS112, AMT, relay anycast) are refused as well. */
static const struct block {
    const char *base;
    unsigned bits;
} special_v4[] = {
    {"0.0.0.0", 8},       /* this network */
    {"10.0.0.0", 8},      /* private */
    {"100.64.0.0", 10},   /* shared, carrier-grade NAT */
    {"127.0.0.0", 8},     /* loopback */
    {"169.254.0.0", 16},  /* link-local */
    {"172.16.0.0", 12},   /* private */
    {"192.0.0.0", 24},    /* protocol assignments */
    {"192.0.2.0", 24},    /* documentation */
    {"192.31.196.0", 24}, /* AS112 */
    {"192.52.193.0", 24}, /* AMT */
    {"192.88.99.0", 24},  /* 6to4 relay anycast */
    {"192.168.0.0", 16},  /* private */
    {"192.175.48.0", 24}, /* AS112 */
    {"198.18.0.0", 15},   /* benchmarking */
    {"198.51.100.0", 24}, /* documentation */
    {"203.0.113.0", 24},  /* documentation */
    {"224.0.0.0", 4},     /* multicast */
    {"240.0.0.0", 4},     /* reserved, broadcast */
};

/* IPv6: only 2000::/3 is global unicast, and of it not these. */
static const struct block special_v6[] = {
    {"2001::", 23},         /* protocol assignments: Teredo, benchmarking, ORCHID and others */
    {"2001:db8::", 32},     /* documentation */
    {"2002::", 16},         /* 6to4 */
    {"2620:4f:8000::", 48}, /* AS112 */
    {"3fff::", 20},         /* documentation */
};

/* Where clouds keep the credentials of a machine, and link-local neighbourhoods as a whole. */
static const struct block never[] = {
    {"169.254.0.0", 16},   {"fe80::", 10},         {"100.100.100.200", 32}, {"192.0.0.192", 32},
    {"168.63.129.16", 32}, {"fd00:ec2::254", 128}, {"fd00:ec2::23", 128},   {"fd20:ce::254", 128},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct block global_unicast = {"2000::", 3};

static bool is_v4(const struct address *address)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(address->b, prefix, sizeof(prefix)) == 0;
}

static bool holds(const struct address *base, unsigned bits, const struct address *address)
{
    const unsigned whole = bits / 8, rest = bits % 8;
    const uint8_t mask = (uint8_t)(0xff00u >> rest);

    return memcmp(base->b, address->b, whole) == 0 &&
           (rest == 0 || ((base->b[whole] ^ address->b[whole]) & mask) == 0);
}

static bool block_holds(const struct block *block, const struct address *address)
{
    const bool is_short = strchr(block->base, ':') == NULL;
    struct address base;

    must(address_parse(str_of(block->base), &base));
    return holds(&base, block->bits + (is_short ? BITS_V4 : 0), address);
}

static bool is_in(const struct block *table, size_t n, const struct address *address)
{
    for (size_t i = 0; i < n; i++) {
        if (block_holds(&table[i], address))
            return true;
    }
    return false;
}

bool address_is_public(const struct address *address)
{
    if (is_v4(address))
        return !is_in(special_v4, COUNT(special_v4), address);
    return block_holds(&global_unicast, address) && !is_in(special_v6, COUNT(special_v6), address);
}

/* -- addresses inside addresses -------------------------------------------------------------------
 */

static struct address v4_of(const uint8_t b[4], uint8_t flip)
{
    struct address out = {.b = {[10] = 0xff, [11] = 0xff}};

    for (int i = 0; i < 4; i++)
        out.b[12 + i] = b[i] ^ flip;
    return out;
}

static const struct carrier {
    struct block block;
    int at; /* of the IPv4 address in its bytes */
    uint8_t flip;
} carriers[] = {
    {{"::", 96}, 12, 0},           /* IPv4-compatible */
    {{"::ffff:0:0:0", 96}, 12, 0}, /* IPv4-translated */
    {{"64:ff9b::", 96}, 12, 0},    /* NAT64 */
    {{"64:ff9b:1::", 48}, 12, 0},  /* NAT64 of one's own */
    {{"2002::", 16}, 2, 0},        /* 6to4 */
    {{"2001::", 32}, 12, 0xff},    /* Teredo */
};

bool address_is_never_allowed(const struct address *address)
{
    if (is_in(never, COUNT(never), address))
        return true;
    for (size_t i = 0; i < COUNT(carriers); i++) {
        const struct carrier *carrier = &carriers[i];
        const struct address inner = v4_of(address->b + carrier->at, carrier->flip);

        if (block_holds(&carrier->block, address) && is_in(never, COUNT(never), &inner))
            return true;
    }
    return false;
}

/* -- what the operator allows
 * ---------------------------------------------------------------------- */

static bool has_bits_behind(const struct range *range)
{
    for (unsigned bit = range->bits; bit < BITS_ALL; bit++) {
        if (range->base.b[bit / 8] & (0x80u >> (bit % 8)))
            return true;
    }
    return false;
}

static bool range_parse(struct str text, struct range *out)
{
    struct str rest = text;
    const struct str base = str_cut(&rest, '/');
    unsigned before;
    uint64_t bits;

    if (!address_parse(base, &out->base))
        return false;
    before = memchr(base.p, ':', base.n) == NULL ? BITS_V4 : 0;
    bits = BITS_ALL - before;
    if (rest.p != NULL && (rest.n > BITS_TEXT_MOST || !str_to_u64(rest, bits, &bits)))
        return false;
    out->bits = before + (unsigned)bits;
    return !has_bits_behind(out);
}

bool ranges_parse(struct str text, struct ranges *out)
{
    struct ranges ranges = {0};
    struct str rest = str_trim_ows(text);

    if (rest.n == 0)
        rest = STR_NONE;
    while (rest.p != NULL) {
        const struct str one = str_trim_ows(str_cut(&rest, ','));

        if (ranges.n == RANGES_MOST || !range_parse(one, &ranges.at[ranges.n]))
            return false;
        ranges.n++;
    }
    *out = ranges;
    return true;
}

bool ranges_hold(const struct ranges *ranges, const struct address *address)
{
    for (size_t i = 0; i < ranges->n; i++) {
        if (holds(&ranges->at[i].base, ranges->at[i].bits, address))
            return true;
    }
    return false;
}
