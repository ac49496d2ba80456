#include "common/http/bound_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/str.h"

static int open_at(const struct sockaddr_storage *where, socklen_t n, bool is_shared)
{
    const int on = 1, off = 0, shared = is_shared;
    int fd = socket(where->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof(shared)) == 0 &&
        (where->ss_family != AF_INET6 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
        bind(fd, (const struct sockaddr *)where, n) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

int bound_socket(const char *address, uint16_t port, bool is_shared)
{
    struct sockaddr_storage where;
    struct address at;
    int fd;

    if (!address_parse(str_of(address), &at)) {
        errno = EINVAL;
        return -1;
    }
    fd = open_at(&where, (socklen_t)address_to_socket(&at, port, &where), is_shared);
    if (fd >= 0 || errno != EAFNOSUPPORT || strcmp(address, "::") != 0)
        return fd;
    LOG(LOG_INFO, "the kernel has no IPv6: 0.0.0.0 stands for ::", log_int("port", port));
    return bound_socket("0.0.0.0", port, is_shared);
}
