/* Which servers the bus trusts, and which clients the server trusts: real servers, valid and
   invalid certificates. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/bus/bus.h"
#include "tests/support/nats_server.h"

enum { REFUSED_FOR_MS = 800, UP_WITHIN_MS = 30000, TURN_MS = 10 };

static char folder[] = "/tmp/bus-tls-XXXXXX";
static struct nats_server server;

static const char *file(const char *name)
{
    static char paths[8][64];
    static int n;
    char *path = paths[n++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void make_certificates(void)
{
    char command[128];

    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof(command), "tests/support/make-certificates %s", folder);
    cr_assert_eq(system(command), 0);
}

static void remove_certificates(void)
{
    char command[64];

    nats_server_stop(&server);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(bus_tls, .init = make_certificates, .fini = remove_certificates);

/* The server shows `certificate` to clients, and requires one of them that our authority signed. */
static void serve(const char *certificate)
{
    char config[1024];

    snprintf(config, sizeof(config),
             "tls {cert_file: \"%s\", key_file: \"%s\", ca_file: \"%s\", verify: true}",
             file(certificate), file("server.key"), file("authority.pem"));
    nats_server_prepare(&server, config);
    nats_server_start(&server);
}

static struct bus_settings good(void)
{
    return (struct bus_settings){.ca_file = file("authority.pem"),
                                 .cert_file = file("good.pem"),
                                 .key_file = file("server.key")};
}

static struct bus *connect_to(const char *host, const struct bus_settings *tls)
{
    static char url[64];
    struct bus *bus;

    snprintf(url, sizeof(url), "nats://%s:%u", host, server.port);
    bus = bus_connect(&(struct bus_options){.url = url, .name = "test", .settings = tls});
    cr_assert_not_null(bus);
    return bus;
}

static bool comes_up(struct bus *bus, int within_ms)
{
    int64_t until_us = clock_mono_us() + within_ms * INT64_C(1000);

    while (!bus_is_up(bus) && clock_mono_us() < until_us)
        bus_wait(bus, TURN_MS);
    return bus_is_up(bus);
}

static void expect_up(const char *host, const struct bus_settings *tls)
{
    struct bus *bus = connect_to(host, tls);
    struct bus_mailbox *mailbox = bus_serve(bus, "v1.thing.*", "thing");
    int64_t until_us;

    cr_expect(comes_up(bus, UP_WITHIN_MS));
    cr_expect_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR("body")), ST_OK);
    until_us = clock_mono_us() + UP_WITHIN_MS * INT64_C(1000);
    while (bus_waiting(mailbox) == 0 && clock_mono_us() < until_us)
        bus_wait(bus, TURN_MS);
    cr_expect_eq(bus_waiting(mailbox), 1);
    bus_message_free(bus_take(mailbox));
    bus_free(bus);
}

static void expect_refused(const char *why, const char *host, const struct bus_settings *tls)
{
    struct bus *bus = connect_to(host, tls);

    cr_expect_not(comes_up(bus, REFUSED_FOR_MS), "%s", why);
    bus_free(bus);
}

Test(bus_tls, connects_to_a_server_certified_by_our_authority)
{
    struct bus_settings tls = good();

    serve("good.pem");
    expect_up("127.0.0.1", &tls);
    tls.tls_host = "bus.receiver.example.net";
    expect_up("127.0.0.1", &tls);
}

Test(bus_tls, refuses_a_server_without_a_trusted_certificate)
{
    struct bus_settings tls = good();

    serve("good.pem");
    tls.ca_file = file("unknown.pem");
    expect_refused("another authority", "127.0.0.1", &tls);
    tls.ca_file = "";
    expect_refused("the machine's authorities", "127.0.0.1", &tls);
    expect_refused("nothing given at all", "127.0.0.1", NULL);
}

Test(bus_tls, refuses_a_server_of_another_name)
{
    struct bus_settings tls = good();

    serve("good.pem");
    expect_refused("the URL's host", "localhost", &tls);
    tls.tls_host = "other.example.net";
    expect_refused("a separate host", "127.0.0.1", &tls);
}

Test(bus_tls, refuses_a_server_whose_certificate_has_expired)
{
    struct bus_settings tls = good();

    serve("expired.pem");
    expect_refused("expired", "127.0.0.1", &tls);
}

Test(bus_tls, is_refused_without_a_required_certificate)
{
    struct bus_settings tls = good();

    serve("good.pem");
    tls.cert_file = file("stranger.pem");
    expect_refused("by an authority unknown to the server", "127.0.0.1", &tls);
    tls.cert_file = tls.key_file = NULL;
    expect_refused("no certificate", "127.0.0.1", &tls);
}

Test(bus_tls, never_falls_back_to_plain_text)
{
    struct bus_settings tls = good();

    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
    expect_refused("the server speaks no TLS", "127.0.0.1", &tls);
}

static void expect_unusable(struct bus_settings tls, const char *reason)
{
    const struct bus_options options = {
        .url = "nats://127.0.0.1:1", .name = "test", .settings = &tls};
    char why[BUS_WHY] = "";

    cr_expect_null(bus_connect(&options));
    cr_expect_not(bus_can_use(&options, why));
    cr_expect_not_null(strstr(why, reason), "%s", why);
}

Test(bus_tls, says_which_file_cannot_be_used)
{
    const char *good = file("good.pem"), *key = file("server.key"), *none = "/nonexistent.pem";

    expect_unusable((struct bus_settings){.cert_file = good}, "NATS_KEY_FILE is missing");
    expect_unusable((struct bus_settings){.key_file = key}, "NATS_CERT_FILE is missing");
    expect_unusable((struct bus_settings){.ca_file = none},
                    "NATS_CA_FILE cannot be read: No such file");
    expect_unusable((struct bus_settings){.ca_file = key}, "NATS_CA_FILE cannot be used: ");
    expect_unusable((struct bus_settings){.cert_file = none, .key_file = key},
                    "NATS_CERT_FILE cannot be read");
    expect_unusable((struct bus_settings){.cert_file = good, .key_file = good},
                    "NATS_CERT_FILE cannot be used");
}
