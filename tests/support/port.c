#include "tests/support/port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"

uint16_t port_free(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&address, n) == 0);
    must(getsockname(fd, (struct sockaddr *)&address, &n) == 0);
    close(fd);
    return ntohs(address.sin_port);
}
