#include "common/http/bound_socket.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/port.h"

/* Instead of libc's: as on a kernel without IPv6, if so. */
static bool has_no_ipv6;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int socket(int family, int type, int protocol)
{
    if (has_no_ipv6 && family == AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

static bool reaches(const char *address, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is;

    cr_assert_eq(inet_pton(AF_INET, address, &to.sin_addr), 1);
    is = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return is;
}

static void expect_all_of_ipv4(void)
{
    const uint16_t port = port_free();
    const int fd = bound_socket("::", port, false);

    cr_assert_geq(fd, 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_expect(reaches("127.0.0.1", port) && reaches("127.0.0.2", port));
    close(fd);
}

Test(bound_socket, takes_connections_of_ipv4_at_all_addresses)
{
    expect_all_of_ipv4();
}

Test(bound_socket, needs_no_ipv6_for_all_addresses)
{
    has_no_ipv6 = true;
    expect_all_of_ipv4();
    cr_expect_eq(bound_socket("::1", port_free(), false), -1);
    cr_expect_eq(errno, EAFNOSUPPORT);
}

Test(bound_socket, says_why_it_cannot_be)
{
    const uint16_t port = port_free();
    const int fd = bound_socket("127.0.0.1", port, false);

    cr_assert_geq(fd, 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_expect_eq(bound_socket("127.0.0.1", port, false), -1);
    cr_expect_eq(errno, EADDRINUSE);
    cr_expect_eq(bound_socket("localhost", port, false), -1, "a name is no address");
    cr_expect_eq(errno, EINVAL);
    close(fd);
}
