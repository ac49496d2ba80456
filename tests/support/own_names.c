#include "tests/support/own_names.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/str.h"

static char hosts_path[64];

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_in_place(const char *path, const char *name)
{
    if (mount(path, name, NULL, MS_BIND, NULL) != 0)
        cr_skip("%s cannot be replaced", name);
}

/* Bound, and never read. */
static void begin_silence(const char *address)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};

    cr_assert_eq(inet_pton(AF_INET, address, &at.sin_addr), 1);
    (void)bind(fd, (const struct sockaddr *)&at, sizeof(at)); /* another test's does as well */
}

static void own_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        fprintf(stderr, "impossible here: no file can be mounted\n"); /* for run-tests */
        cr_skip("no file can be mounted");
    }
}

void own_file(const char *path, const char *name)
{
    own_mounts();
    put_in_place(path, name);
}

void own_names(const char *hosts, const char *silent_server)
{
    char conf_path[64], conf[96];

    own_mounts();
    snprintf(hosts_path, sizeof(hosts_path), "/tmp/hosts-%d", (int)getpid());
    snprintf(conf_path, sizeof(conf_path), "/tmp/resolv-%d", (int)getpid());
    snprintf(conf, sizeof(conf), "nameserver %s\n",
             silent_server != NULL ? silent_server : "127.66.0.2");
    write_text(hosts_path, hosts);
    write_text(conf_path, conf);
    put_in_place(hosts_path, "/etc/hosts");
    put_in_place(conf_path, "/etc/resolv.conf");
    unlink(conf_path); /* the mounts keep them */
    unlink(hosts_path);
    if (silent_server != NULL)
        begin_silence(silent_server);
}

void own_names_hosts(const char *hosts)
{
    write_text("/etc/hosts", hosts);
}

int own_names_silent(const char *address, uint16_t port)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    cr_assert_eq(inet_pton(AF_INET6, address, &at.sin6_addr), 1);
    cr_assert_eq(setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
    cr_assert_eq(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(listen(listener, 8), 0);
    return listener;
}
