#include "services/webhook/address_policy.h"

#include <ifaddrs.h>
#include <sys/socket.h>

#include "services/webhook/address_ranges.h"

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

bool address_policy_allows(const struct address_policy *policy, const struct address *address)
{
    if (address_is_never_allowed(address))
        return false;
    if (networks_hold(policy->allowed, address))
        return true;
    return address_is_public(address) && !is_own(policy, address);
}
