#include "tests/support/port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"

int port_bound(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd >= 0 && bind(fd, (struct sockaddr *)&address, n) == 0);
    must(getsockname(fd, (struct sockaddr *)&address, &n) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

uint16_t port_free(void)
{
    uint16_t port;

    close(port_bound(&port));
    return port;
}
