#include "services/webhook/guard.h"

#include <ifaddrs.h>
#include <sys/socket.h>

#include "services/webhook/ranges.h"

static bool is_ip(const struct sockaddr *address)
{
    return address != NULL && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

void guard_look_around(struct guard *guard)
{
    struct ifaddrs *all;
    size_t n = 0;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one != NULL && n < GUARD_OWN_MOST; one = one->ifa_next) {
        if (is_ip(one->ifa_addr))
            guard->own[n++] = address_of(one->ifa_addr);
    }
    freeifaddrs(all);
    guard->n_own = n;
}

static bool is_own(const struct guard *guard, const struct address *address)
{
    for (size_t i = 0; i < guard->n_own; i++) {
        if (address_equal(&guard->own[i], address))
            return true;
    }
    return false;
}

bool guard_allows(const struct guard *guard, const struct address *address)
{
    if (address_is_never_allowed(address))
        return false;
    if (networks_hold(guard->allowed, address))
        return true;
    return address_is_public(address) && !is_own(guard, address);
}
