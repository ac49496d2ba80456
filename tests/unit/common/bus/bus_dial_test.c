/* Where a connection leads, and with what: credentials, authorities and certificates that are
   renewed, names with several addresses or none, servers that cannot be used. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/watchdog.h"
#include "tests/unit/common/bus/bus_fixture.h"

static void set_up(void)
{
    open_folder();
    keep_log();
}

static void tear_down(void)
{
    free_clients();
    stop_server();
    remove_folder();
}

TestSuite(bus_dial, .init = set_up, .fini = tear_down);

static void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "we");

    cr_assert_not_null(to);
    fputs(text, to);
    cr_assert_eq(fclose(to), 0);
}

/* cat FROM... >TO, all in the folder. */
static void copy(const char *from, const char *to)
{
    char command[256];

    snprintf(command, sizeof(command), "cd %s && cat %s >%s", folder, from, to);
    cr_assert_eq(system(command), 0);
}

static struct bus *open_with(const char *url, const struct bus_settings *tls)
{
    clients[0] = bus_connect(&(struct bus_options){.url = url, .name = "test", .settings = tls});
    cr_assert_not_null(clients[0]);
    return clients[0];
}

static void restart_with(const char *config)
{
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(clients[0])));
    nats_server_configure(&server, config);
    nats_server_start(&server);
}

/* -- what is renewed ------------------------------------------------------------------------- */

static const char *tls_config(const char *certificate, const char *authority)
{
    static char config[512];

    snprintf(config, sizeof(config),
             "tls {cert_file: \"%s\", key_file: \"%s\", ca_file: \"%s\", verify: true}",
             file(certificate), file("server.key"), file(authority));
    return config;
}

static struct bus_settings begin_with_tls(void)
{
    char command[128];

    snprintf(command, sizeof(command), "tests/support/make-certificates %s", folder);
    cr_assert_eq(system(command), 0);
    copy("authority.pem", "ca.pem");
    copy("good.pem", "client.pem");
    nats_server_prepare(&server, tls_config("good.pem", "authority.pem"));
    nats_server_start(&server);
    return (struct bus_settings){
        .ca_file = file("ca.pem"), .cert_file = file("client.pem"), .key_file = file("server.key")};
}

Test(bus_dial, trusts_an_authority_that_was_added_meanwhile)
{
    const struct bus_settings tls = begin_with_tls();
    struct bus *bus = open_with(server.url, &tls);

    cr_assert(EVENTUALLY(bus_is_up(bus)));
    restart_with(tls_config("stranger.pem", "authority.pem"));
    cr_assert(EVENTUALLY(n_logged("unable to get local issuer certificate") == 1));
    copy("authority.pem unknown.pem", "ca.pem");
    cr_assert(EVENTUALLY(bus_is_up(bus)));
}

Test(bus_dial, shows_the_certificate_that_it_has_now)
{
    const struct bus_settings tls = begin_with_tls();
    struct bus *bus = open_with(server.url, &tls);

    cr_assert(EVENTUALLY(bus_is_up(bus)));
    restart_with(tls_config("good.pem", "unknown.pem"));
    cr_assert_not(WITHIN(500, bus_is_up(bus)));
    copy("stranger.pem", "client.pem");
    cr_assert(EVENTUALLY(bus_is_up(bus)));
}

Test(bus_dial, survives_a_file_that_is_missing_for_a_while)
{
    const struct bus_settings tls = begin_with_tls();
    struct bus *bus = open_with(server.url, &tls);

    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(unlink(tls.ca_file), 0);
    restart_with(tls_config("good.pem", "authority.pem"));
    cr_assert(EVENTUALLY(n_logged("NATS_CA_FILE cannot be read: No such file or directory") == 1));
    cr_assert_not(WITHIN(1500, bus_is_up(bus)));
    cr_assert_eq(n_logged("NATS_CA_FILE"), 1, "the same cause again only after 10 s");
    copy("authority.pem", "ca.pem");
    cr_assert(EVENTUALLY(bus_is_up(bus)));
}

static const char *url_of(const char *credentials)
{
    static char url[128];

    snprintf(url, sizeof(url), "nats://%s@127.0.0.1:%u\n", credentials, server.port);
    return url;
}

Test(bus_dial, reads_a_password_that_was_changed_meanwhile)
{
    static const char *url;
    static const struct setting setting = {.name = "URL", .type = SETTING_STRING};
    char error[256];
    struct bus *bus;

    nats_server_prepare(&server, "authorization {user: a, password: first}");
    nats_server_start(&server);
    write_file(file("url"), url_of("a:first"));
    cr_assert_eq(setenv("URL_FILE", file("url"), 1), 0);
    cr_assert_eq(config_load(&setting, 1, &url, error), ST_OK);
    bus = open_with(url, NULL);
    cr_assert(EVENTUALLY(bus_is_up(bus)));

    restart_with("authorization {user: a, password: second}");
    cr_assert(EVENTUALLY(bus_trouble(bus) == BUS_DENIED));
    cr_assert(EVENTUALLY(n_logged("the user or the password is refused") == 1));
    write_file(file("url"), url_of("a:sec%ond"));
    cr_assert(EVENTUALLY(n_logged("NATS_URL: percent-encode each %") == 1));
    write_file(file("url"), url_of("a:second"));
    cr_assert(EVENTUALLY(bus_trouble(bus) == BUS_UP));
    cr_assert_eq(n_logged("sec"), 0);
}

Test(bus_dial, decodes_user_and_password)
{
    nats_server_prepare(&server, "authorization {users: [{user: \"c,d\", "
                                 "password: \"p@ss:w/rd%1, x\"}]}");
    nats_server_start(&server);
    (void)open_with(url_of("c%2Cd:p%40ss%3Aw%2Frd%251%2C%20x"), NULL);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
}

Test(bus_dial, takes_a_user_without_a_password_for_a_token)
{
    nats_server_prepare(&server, "authorization {token: \"to/ken\"}");
    nats_server_start(&server);
    (void)open_with(url_of("to%2Fken"), NULL);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
}

/* -- where it leads -------------------------------------------------------------------------- */

/* A mount that only this process sees. */
static void hide(const char *path, const char *with)
{
    cr_assert_eq(mount(with, path, NULL, MS_BIND, NULL), 0, "%s", path);
}

/* This process' /etc/hosts and name servers are files of its own: nobody answers questions. */
static void use_own_hosts(void)
{
    write_file(file("hosts"), "");
    write_file(file("resolv.conf"), "nameserver 127.0.0.9\noptions timeout:1\n");
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        cr_skip_test("no mounts of its own are permitted here");
    cr_assert_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    hide("/etc/hosts", file("hosts"));
    hide("/etc/resolv.conf", file("resolv.conf"));
}

/* The kernel accepts connections there, but nobody answers. */
static int listen_silently(const char *at)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(server.port)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(inet_pton(AF_INET, at, &address.sin_addr), 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 64), 0);
    return fd;
}

static const char *url_to(const char *host)
{
    static char url[128];

    snprintf(url, sizeof(url), "nats://%s:%u", host, server.port);
    return url;
}

Test(bus_dial, tries_all_addresses_of_a_name)
{
    int silent[2];
    struct bus *bus;

    use_own_hosts();
    start_server();
    silent[0] = listen_silently("127.0.0.7");
    silent[1] = listen_silently("127.0.0.8");
    /* Nobody listens at the third one. */
    write_file(file("hosts"), "127.0.0.7 bus.test\n127.0.0.8 bus.test\n127.0.0.9 bus.test\n"
                              "::1 bus.test\n127.0.0.1 bus.test\n");
    bus = open_with(url_to("bus.test"), NULL);
    cr_assert(WITHIN(5000, bus_is_up(bus)));
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(bus)));
    cr_assert_not(WITHIN(3000, bus_is_up(bus)));
    nats_server_start(&server);
    cr_assert(WITHIN(2500, bus_is_up(bus)), "the good address comes before further silent ones");
    close(silent[0]);
    close(silent[1]);
}

Test(bus_dial, connects_once_the_name_exists)
{
    struct bus *bus;

    use_own_hosts();
    start_server();
    bus = open_with(url_to("bus.test"), NULL);
    cr_assert(EVENTUALLY(n_logged("bus.test: the name has no address") == 1));
    write_file(file("hosts"), "127.0.0.1 bus.test\n");
    cr_assert(WITHIN(1500, bus_is_up(bus)));
}

/* A name server that reads questions and answers none. */
static int begin_silence(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(53)};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(inet_pton(AF_INET, "127.0.0.9", &address.sin_addr), 1);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        cr_skip_test("port 53 is not permitted here");
    return fd;
}

Test(bus_dial, is_not_delayed_by_a_name_that_nobody_answers_for)
{
    static char url[160];
    int silent;

    use_own_hosts();
    start_server();
    silent = begin_silence();
    snprintf(url, sizeof(url), "nats://slow.test,%s", server.url);
    (void)open_with(url, NULL);
    cr_assert(WITHIN(1000, bus_is_up(clients[0])));
    close(silent);
}

/* -- servers that cannot be used --------------------------------------------------------------- */

Test(bus_dial, uses_no_server_that_takes_too_small_messages)
{
    struct bus *bus;

    nats_server_prepare(&server, "max_payload: 1MB");
    nats_server_start(&server);
    bus = open_with(server.url, NULL);
    cr_assert(EVENTUALLY(bus_trouble(bus) == BUS_SMALL));
    cr_assert_str_eq(bus_trouble_text(BUS_SMALL), "max_payload of the bus is below 8MB");
    cr_assert(EVENTUALLY(n_logged("max_payload of the bus is 1048576, must be at least 8388608 "
                                  "(max_payload: 8MB)") == 1));
    cr_assert_not(bus_is_up(bus));
    nats_server_configure(&server, "max_payload: 8MB");
    nats_server_reload(&server);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
}

Test(bus_dial, says_that_the_server_requires_tls)
{
    (void)begin_with_tls();
    (void)open_with(server.url, NULL);
    cr_assert(EVENTUALLY(n_logged("the server requires TLS: write tls:// in NATS_URL") == 1));
    cr_assert_eq(n_logged("certificate verify failed"), 0);
}

static bool is_overdue(void)
{
    char reason[128];

    return watchdog_overdue(WATCHDOG_READY_US, reason) == 1 && strstr(reason, "bus dialer") != NULL;
}

Test(bus_dial, is_given_up_by_the_watchdog_when_a_tls_handshake_hangs)
{
    static const char info[] = "INFO {\"server_id\":\"A\",\"max_payload\":8388608,"
                               "\"tls_required\":true}\r\n";
    int listener, fd;

    nats_server_prepare(&server, NULL);
    listener = listen_silently("127.0.0.1");
    (void)open_with(url_to("127.0.0.1"), &(struct bus_settings){.tls_host = "bus.test"});
    fd = accept(listener, NULL, NULL);
    cr_assert_eq(send(fd, info, strlen(info), MSG_NOSIGNAL), (ssize_t)strlen(info));
    cr_assert(EVENTUALLY(is_overdue()));
    close(listener);
    close(fd);
    cr_assert(EVENTUALLY(!is_overdue()), "the next attempt is refused");
}

Test(bus_dial, says_what_happens_at_each_address)
{
    struct bus *bus;

    nats_server_prepare(&server, NULL);
    bus = open_with(server.url, NULL);
    cr_assert(EVENTUALLY(n_logged(": connection refused") == 1));
    cr_assert_eq(bus_trouble(bus), BUS_UNREACHABLE);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(n_logged("bus connection lost; reconnecting") == 1));
}

/* A server that takes a connection, answers its first ping, and closes it. Ends when `arg`, which
   listens, is shut down. */
static void *close_each(void *arg)
{
    static const char info[] = "INFO {\"server_id\":\"A\",\"max_payload\":8388608}\r\n";
    static const char pong[] = "PONG\r\n";
    char read_ahead[4096];

    for (int fd; (fd = accept(*(int *)arg, NULL, NULL)) >= 0; close(fd)) {
        size_t n = 0;
        ssize_t got;

        cr_assert_eq(send(fd, info, strlen(info), MSG_NOSIGNAL), (ssize_t)strlen(info));
        do {
            got = recv(fd, read_ahead + n, sizeof(read_ahead) - 1 - n, 0);
            n += got > 0 ? (size_t)got : 0;
            read_ahead[n] = '\0';
        } while (got > 0 && strstr(read_ahead, "PING\r\n") == NULL);
        (void)send(fd, pong, strlen(pong), MSG_NOSIGNAL);
    }
    return NULL;
}

Test(bus_dial, waits_before_it_returns_to_a_server_that_closes_each_connection)
{
    enum { TIMES = 6, PAUSE_US = 100 * 1000 };
    pthread_t closes;
    int64_t began_us;
    int fd;

    nats_server_prepare(&server, NULL);
    fd = listen_silently("127.0.0.1");
    cr_assert_eq(pthread_create(&closes, NULL, close_each, &fd), 0);
    began_us = clock_mono_us();
    open_with(server.url, NULL);
    cr_assert(EVENTUALLY(n_logged("bus connection lost") >= TIMES));
    cr_expect_geq(clock_mono_us() - began_us, (TIMES - 1) * PAUSE_US);
    free_clients();
    shutdown(fd, SHUT_RDWR);
    pthread_join(closes, NULL);
    close(fd);
}
