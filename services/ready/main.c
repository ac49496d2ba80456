/*
 * ready - queries the admin listener of the process beside it, for the health check of a container.
 *
 *     ready             0 = /readyz responds 200; 1 = it responds otherwise, which is printed, or
 *                       not at all
 *     ready --version   prints the version
 *
 * Finds the listener by the settings of that process: ADMIN_ADDRESS, ADMIN_PORT; or ADMIN_ADDRESS
 * alone is the path of a Unix socket, as for `front` of docker-compose, which shares its network.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/version.h"

enum { TIMEOUT_S = 3, ANSWER_MAX = 4096 };

struct ready_config {
    const char *address;
    int64_t port;
};

static const struct setting settings[] = {
    {.name = "ADMIN_ADDRESS",
     .type = SETTING_STRING,
     .offset = offsetof(struct ready_config, address),
     .fallback = "127.0.0.1",
     .meaning = "Address of the listener for /livez, /readyz and /metrics"},
    {.name = "ADMIN_PORT",
     .type = SETTING_INT,
     .offset = offsetof(struct ready_config, port),
     .fallback = "0",
     .max = 65535,
     .meaning = "Its port"},
};

static int fail(const char *why)
{
    fprintf(stderr, "ready: %s\n", why);
    return 1;
}

/* Connects so that no step takes longer than TIMEOUT_S; -1 with errno set. The wildcard address
   connects to the loopback address. */
static int reach(int fd, const void *address, socklen_t size)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
        connect(fd, address, size) == 0)
        return fd;
    close(fd);
    return -1;
}

static int reach_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    return reach(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), &address, sizeof(address));
}

static int reach_host(const char *host, uint16_t port)
{
    struct sockaddr_storage where;
    struct address address;
    socklen_t size;

    /* A listener at :: takes IPv4 as well, and the kernel may have no IPv6, or have it switched off. */
    if (strcmp(host, "::") == 0)
        host = "0.0.0.0";
    if (port == 0 || !address_parse(str_of(host), &address)) {
        errno = EINVAL;
        return -1;
    }
    size = (socklen_t)address_to_socket(&address, port, &where);
    return reach(socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), &where, size);
}

/* Reads the response until the listener closes the connection; drops what does not fit. */
static void ask(int fd, char answer[ANSWER_MAX + 1])
{
    static const char question[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    size_t n = 0;
    ssize_t got = 1;

    if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) == sizeof(question) - 1) {
        while (got > 0 && n < ANSWER_MAX) {
            got = recv(fd, answer + n, ANSWER_MAX - n, 0);
            n += got > 0 ? (size_t)got : 0;
        }
    }
    answer[n] = '\0';
}

/* The response's body is the reason why the process is not ready. */
static int check(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");

    if (str_starts(str_of(answer), STR("HTTP/1.1 200 ")))
        return 0;
    return fail(body != NULL ? body + 4 : "no answer");
}

int main(int argc, char **argv)
{
    static char answer[ANSWER_MAX + 1];
    static struct ready_config config; /* its texts live until the process ends */
    char error[256];
    int fd;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return version_print();
    if (argc > 1)
        return fail("takes no arguments except --version");
    if (config_load(settings, ARRAY_SIZE(settings), &config, error) != ST_OK)
        return fail(error);
    fd = config.address[0] == '/' ? reach_path(config.address)
                                  : reach_host(config.address, (uint16_t)config.port);
    if (fd < 0)
        return fail(errno == EINVAL ? "ADMIN_ADDRESS and ADMIN_PORT are not a valid address"
                                    : strerrordesc_np(errno));
    ask(fd, answer);
    close(fd);
    return check(answer);
}
