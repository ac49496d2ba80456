#include "services/webhook/socket_address.h"

#include <netinet/in.h>
#include <string.h>

bool socket_address_read(const struct sockaddr *from, struct address *out)
{
    struct address address = {.b = {[10] = 0xff, [11] = 0xff}};

    if (from->sa_family == AF_INET)
        memcpy(address.b + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
    else if (from->sa_family == AF_INET6)
        memcpy(address.b, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    else
        return false;
    *out = address;
    return true;
}
