#include "services/webhook/address_policy.h"

#include <ifaddrs.h>
#include <sys/socket.h>

#include "common/base/ip.h"
#include "common/base/log.h"

/* -- ranges ------------------------------------------------------------------------------------ */

/* From IANA's registry of special-purpose IPv4 addresses. Blocks that are reachable but have no
   particular owner (AS112, AMT, relay anycast) are refused as well. */
static const char *const special_v4[] = {
    "0.0.0.0/8",       /* this network */
    "10.0.0.0/8",      /* private */
    "100.64.0.0/10",   /* shared, carrier-grade NAT */
    "127.0.0.0/8",     /* loopback */
    "169.254.0.0/16",  /* link-local */
    "172.16.0.0/12",   /* private */
    "192.0.0.0/24",    /* protocol assignments */
    "192.0.2.0/24",    /* documentation */
    "192.31.196.0/24", /* AS112 */
    "192.52.193.0/24", /* AMT */
    "192.88.99.0/24",  /* 6to4 relay anycast */
    "192.168.0.0/16",  /* private */
    "192.175.48.0/24", /* AS112 */
    "198.18.0.0/15",   /* benchmarking */
    "198.51.100.0/24", /* documentation */
    "203.0.113.0/24",  /* documentation */
    "224.0.0.0/4",     /* multicast */
    "240.0.0.0/4",     /* reserved, broadcast */
};

/* Exceptions from 2000::/3, which is IPv6's global unicast. */
static const char *const special_v6[] = {
    "2001::/23",         /* protocol assignments: Teredo, benchmarking, ORCHID and others */
    "2001:db8::/32",     /* documentation */
    "2002::/16",         /* 6to4 */
    "2620:4f:8000::/48", /* AS112 */
    "3fff::/20",         /* documentation */
};

/* Link-local addresses, and the metadata services of clouds, which hand out credentials. */
static const char *const never[] = {
    "169.254.0.0/16",   "fe80::/10",         "100.100.100.200/32", "192.0.0.192/32",
    "168.63.129.16/32", "fd00:ec2::254/128", "fd00:ec2::23/128",   "fd20:ce::254/128",
};

static bool holds(const char *block, const struct address *address)
{
    struct network network;
    bool is_network = network_parse(str_of(block), &network);

    must(is_network);
    return network_holds(&network, address);
}

static bool is_in(const char *const *table, size_t n, const struct address *address)
{
    for (size_t i = 0; i < n; i++) {
        if (holds(table[i], address))
            return true;
    }
    return false;
}

bool address_is_public(const struct address *address)
{
    if (holds("0.0.0.0/0", address))
        return !is_in(special_v4, ARRAY_SIZE(special_v4), address);
    return holds("2000::/3", address) && !is_in(special_v6, ARRAY_SIZE(special_v6), address);
}

/* -- addresses inside addresses ---------------------------------------------------------------- */

static struct address v4_of(const uint8_t b[4], uint8_t flip)
{
    struct address out = {.b = {[10] = 0xff, [11] = 0xff}};

    for (int i = 0; i < 4; i++)
        out.b[12 + i] = b[i] ^ flip;
    return out;
}

static const struct carrier {
    const char *block;
    int at; /* the offset of the IPv4 address */
    uint8_t flip;
} carriers[] = {
    {"::/96", 12, 0},           /* IPv4-compatible */
    {"::ffff:0:0:0/96", 12, 0}, /* IPv4-translated */
    {"64:ff9b::/96", 12, 0},    /* NAT64 */
    {"64:ff9b:1::/48", 12, 0},  /* NAT64 of one's own */
    {"2002::/16", 2, 0},        /* 6to4 */
    {"2001::/32", 12, 0xff},    /* Teredo */
};

/* RFC 6052: the IPv4 address follows the prefix, except that the ninth byte is not used. */
static struct address translated(const struct address *address, unsigned bits)
{
    uint8_t inner[4];

    for (unsigned i = 0, at = bits / 8; i < 4; i++, at++) {
        at += at == 8;
        inner[i] = address->b[at];
    }
    return v4_of(inner, 0);
}

bool address_rules_are_sound(const struct address_rules *rules)
{
    for (size_t i = 0; i < rules->nat64.n; i++) {
        const struct network *prefix = &rules->nat64.at[i];
        const unsigned bits = prefix->bits;

        if (holds("0.0.0.0/0", &prefix->base) || bits < 32 || bits > 96 ||
            (bits > 64 && bits < 96) || bits % 8 != 0)
            return false;
    }
    return true;
}

/* -- the policy -------------------------------------------------------------------------------- */

static bool is_ip(const struct sockaddr *address)
{
    return address != NULL && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

void address_policy_refresh(struct address_policy *policy)
{
    struct ifaddrs *all;
    size_t n = 0;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one != NULL && n < ADDRESS_POLICY_OWN_MAX;
         one = one->ifa_next) {
        if (is_ip(one->ifa_addr))
            policy->own[n++] = address_of(one->ifa_addr);
    }
    freeifaddrs(all);
    policy->n_own = n;
}

static bool is_own(const struct address_policy *policy, const struct address *address)
{
    for (size_t i = 0; i < policy->n_own; i++) {
        if (address_equal(&policy->own[i], address))
            return true;
    }
    return false;
}

static bool is_refused(const struct address_rules *rules, const struct address *address)
{
    return is_in(never, ARRAY_SIZE(never), address) || networks_hold(&rules->denied, address);
}

static bool holds_refused(const struct address_rules *rules, const struct address *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(carriers); i++) {
        const struct carrier *carrier = &carriers[i];
        const struct address inner = v4_of(address->b + carrier->at, carrier->flip);

        if (holds(carrier->block, address) && is_refused(rules, &inner))
            return true;
    }
    return false;
}

static bool allows(const struct address_policy *policy, const struct address *address)
{
    if (is_refused(policy->rules, address) || holds_refused(policy->rules, address))
        return false;
    return networks_hold(&policy->rules->allowed, address) ||
           (address_is_public(address) && !is_own(policy, address));
}

bool address_policy_allows(const struct address_policy *policy, const struct address *address)
{
    const struct networks *nat64 = &policy->rules->nat64;

    for (size_t i = 0; i < nat64->n; i++) {
        const struct address inner = translated(address, nat64->at[i].bits);

        if (network_holds(&nat64->at[i], address))
            return !is_refused(policy->rules, address) && allows(policy, &inner);
    }
    return allows(policy, address);
}
