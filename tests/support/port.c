#include "tests/support/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"

/* Between the ports that deploy/local/stack chooses from and the kernel's ephemeral ports. */
enum { FIRST_PORT = 29000, N_PORTS = 3700 };

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

/* One file for all test runs on this machine, from any tree. The first process creates it; the
   kernel does not let other users open it with O_CREAT. */
static int open_numbers(void)
{
    static const char path[] = "/tmp/conversations-test-ports";
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0)
            (void)fchmod(fd, 0666); /* regardless of the umask; fails for all but its owner */
        else
            fd = open(path, O_RDWR | O_CLOEXEC); /* another user has just made it */
    }
    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    return fd;
}

/* A number that no test has been given yet. */
static unsigned next_number(void)
{
    char text[16] = "";
    int fd = open_numbers();
    unsigned number;

    must(pread(fd, text, sizeof(text) - 1, 0) >= 0);
    number = (unsigned)strtoul(text, NULL, 10);
    snprintf(text, sizeof(text), "%u\n", number + 1);
    must(ftruncate(fd, 0) == 0 && pwrite(fd, text, strlen(text), 0) > 0);
    close(fd); /* and releases the lock */
    return number;
}

static bool is_free(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound;

    must(fd >= 0);
    is_bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return is_bound;
}

uint16_t port_free(void)
{
    uint16_t port;

    do
        port = (uint16_t)(FIRST_PORT + next_number() % N_PORTS);
    while (!is_free(port));
    return port;
}

static struct sockaddr_in at(const char *address, uint16_t port)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port)};

    must(inet_pton(AF_INET, address, &where.sin_addr) == 1);
    return where;
}

int port_bound_at(const char *address, uint16_t port)
{
    const struct sockaddr_in where = at(address, port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(bind(fd, (const struct sockaddr *)&where, sizeof(where)) == 0);
    return fd;
}

/* The kernel drops what comes while the queue is full. */
void port_silent(const char *address, uint16_t port)
{
    const struct sockaddr_in where = at(address, port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(listen(port_bound_at(address, port), 0) == 0);
    must(connect(fd, (const struct sockaddr *)&where, sizeof(where)) == 0);
}
