/* Receivers with several addresses, and CA certificates that are renewed, through whole attempts. */
#include "services/webhook/connect.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "services/webhook/attempts.h"
#include "services/webhook/queue.h"
#include "services/webhook/sender_metrics.h"
#include "services/webhook/webhook.h"
#include "tests/support/api_client.h"
#include "tests/support/measure.h"
#include "tests/support/nameserver.h"
#include "tests/support/own_names.h"
#include "tests/support/port.h"
#include "tests/support/receiver.h"

#define ID "01920000-0000-7000-8000-000000000001"

enum { SLOTS = 4, FOREVER_US = 1000 * 1000 * 1000, TURN_MS = 1000, ENDED_US = 20 * 1000 * 1000 };

static struct sender_metrics metrics;
static struct webhook webhook;
static struct attempts *attempts;
static struct receiver *receiver;
static char folder[] = "/tmp/connect-XXXXXX", ca_file[64];

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

/* By renaming, as configuration is renewed. */
static void use_ca(const char *name)
{
    run(format("cd %s && cp %s new && mv new ca.pem", folder, name));
}

static void start(void)
{
    const uint16_t port = port_free();
    char servers[64];

    crypto_open();
    cr_assert(networks_parse(STR("127.0.0.0/8,::1"), &webhook.rules.allowed, NULL));
    sender_metrics_init(&metrics);
    cr_assert_not_null(mkdtemp(folder));
    run(format("tests/support/make-certificates %s", folder));
    cr_assert_eq(setenv("WEBHOOK_CERTIFICATES", folder, 1), 0);
    receiver = receiver_start("good");
    nameserver_start_at(port);
    use_ca("authority.pem");
    snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", folder);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", port);
    attempts = attempts_new(&(struct attempts_options){.ca_file = ca_file,
                                                       .dns_servers = servers,
                                                       .slots = SLOTS,
                                                       .wait_timeout_us = FOREVER_US,
                                                       .webhook = &webhook,
                                                       .metrics = &metrics});
    cr_assert_not_null(attempts);
}

static void stop(void)
{
    attempts_free(attempts);
    run(format("rm -r %s", folder));
}

TestSuite(connect, .init = start, .fini = stop);

static void begin(const char *label, int port, const char *path)
{
    char url[256];

    snprintf(url, sizeof(url), "https://%s.receiver.example.net:%d%s", label, port, path);
    attempts_take(attempts, &(struct delivery_claim){.organization_id = STR(ID),
                                                     .endpoint_id = STR(ID),
                                                     .id = STR(ID),
                                                     .fence = STR("1"),
                                                     .event_id = STR("01"),
                                                     .event_type = STR("ticket.created"),
                                                     .data = STR("{}"),
                                                     .url = str_of(url)});
}

/* What became of an attempt; valid until the next one. */
static const struct attempt *send_to(const char *label, int port, const char *path)
{
    const int64_t until_us = clock_mono_us() + ENDED_US;
    size_t n = 0;

    attempts_ended(attempts, &n);
    attempts_forget_ended(attempts, n);
    begin(label, port, path);
    for (n = 0; n == 0 && clock_mono_us() < until_us; (void)attempts_ended(attempts, &n))
        attempts_wait(attempts, (struct pollfd[1]){{0}}, 0, TURN_MS);
    cr_assert_eq(n, 1, "%s", label);
    return attempts_ended(attempts, &n)[0];
}

static const struct attempt *send_by(const char *label)
{
    return send_to(label, receiver_port(receiver), "/ok");
}

static void expect_end(const struct attempt *attempt, enum failure failure, const char *address)
{
    char text[ADDRESS_TEXT];

    cr_assert_eq(attempt->failure, failure, "%s", failure_name(attempt->failure));
    cr_assert(attempt->has_address);
    address_format(&attempt->address, text);
    cr_expect_str_eq(text, address);
}

static void silence(const char *address)
{
    port_silent(address, (uint16_t)receiver_port(receiver));
}

/* -- addresses --------------------------------------------------------------------------------- */

Test(connect, the_next_address_is_tried_when_one_refuses)
{
    const struct attempt *attempt = send_by("a-127-0-0-9--a-127-0-0-1");

    expect_end(attempt, FAILURE_NONE, "127.0.0.1");
    cr_expect_lt(attempt->connect_us, limit_scaled(CONNECT_DELAY_MS * 1000));
    cr_expect_eq(receiver_count(receiver, "/"), 1);
}

Test(connect, the_next_address_is_tried_while_one_is_silent)
{
    const struct attempt *attempt;

    silence("127.0.0.8");
    attempt = send_by("a-127-0-0-8--a-127-0-0-1");
    expect_end(attempt, FAILURE_NONE, "127.0.0.1");
    cr_expect_geq(attempt->connect_us, CONNECT_DELAY_MS * 1000);
    cr_expect_lt(attempt->connect_us, limit_scaled(2000 * 1000));
    cr_expect_geq(attempt->total_us, attempt->dns_us + attempt->connect_us + attempt->tls_us);
}

Test(connect, an_ipv4_address_is_tried_when_the_ipv6_address_is_dead)
{
    expect_end(send_by("aaaa-00000000000000000000000000000001--a-127-0-0-1"), FAILURE_NONE,
               "127.0.0.1");
}

Test(connect, the_last_of_32_addresses_is_reached_and_no_further_one)
{
    expect_end(send_by("a-127-0-1-1-31--a-127-0-0-1--a-127-0-2-1"), FAILURE_NONE, "127.0.0.1");
    expect_end(send_by("a-127-0-1-1-32--a-127-0-0-1"), FAILURE_CONNECT, "127.0.1.32");
}

Test(connect, the_last_of_32_addresses_is_reached_although_the_others_are_silent)
{
    for (int i = 1; i <= 31; i++)
        silence(format("127.0.1.%d", i));
    expect_end(send_by("a-127-0-1-1-31--a-127-0-0-1"), FAILURE_NONE, "127.0.0.1");
}

Test(connect, a_failed_handshake_leads_to_the_next_address)
{
    const int fd = port_bound_at("127.0.0.7", (uint16_t)receiver_port(receiver));

    cr_assert_eq(listen(fd, 1), 0); /* never accepts: the handshake makes no progress */
    expect_end(send_by("a-127-0-0-7--a-127-0-0-1"), FAILURE_NONE, "127.0.0.1");
}

Test(connect, a_request_that_was_sent_is_sent_to_no_other_address)
{
    expect_end(send_to("a-127-0-0-1--a-127-0-0-9", receiver_port(receiver), "/cut"), FAILURE_CLOSED,
               "127.0.0.1");
    cr_expect_eq(receiver_count(receiver, "/"), 1);
}

Test(connect, one_forbidden_address_fails_the_attempt)
{
    const struct attempt *attempt = send_by("a-127-0-0-1--a-10-0-0-1");

    cr_expect_eq(attempt->failure, FAILURE_BLOCKED);
    cr_expect_not(attempt->has_address);
    cr_expect_eq(receiver_connections(receiver), 0);
}

/* -- stops and protocols ----------------------------------------------------------------------- */

/* The sockets of this process that wait for an answer to their SYN. */
static int n_connecting(void)
{
    int n = 0;

    for (int fd = 3; fd < 256; fd++) {
        struct tcp_info info;
        socklen_t size = sizeof(info);

        n += getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
             info.tcpi_state == TCP_SYN_SENT;
    }
    return n;
}

Test(connect, is_ended_when_its_owner_stops)
{
    const int64_t until_us = clock_mono_us() + ENDED_US;

    silence("127.0.0.7");
    silence("127.0.0.8");
    begin("a-127-0-0-7--a-127-0-0-8", receiver_port(receiver), "/ok");
    while (n_connecting() < 2 && clock_mono_us() < until_us)
        attempts_wait(attempts, (struct pollfd[1]){{0}}, 0, TURN_MS);
    cr_assert_eq(n_connecting(), 2);
    attempts_free(attempts);
    attempts = NULL;
    cr_expect_eq(n_connecting(), 0);
}

Test(connect, a_receiver_may_speak_http2_alone)
{
    FILE *program = popen(format("node tests/support/programs/http2_receiver.mjs %s/good.pem"
                                 " %s/server.key",
                                 folder, folder),
                          "r");
    char line[256] = "";

    cr_assert(program != NULL && fgets(line, sizeof(line), program) != NULL);
    expect_end(send_to("a-127-0-0-1", atoi(line), "/two"), FAILURE_NONE, "127.0.0.1");
    cr_assert_not_null(fgets(line, sizeof(line), program));
    cr_expect_eq(strncmp(line, "2.0 /two {", 10), 0, "%s", line);
    cr_expect_eq(pclose(program), 0);
}

/* -- name servers ------------------------------------------------------------------------------ */

Test(connect, an_unanswered_question_for_one_family_delays_little)
{
    static const char *const labels[] = {
        "silent-aaaa--a-127-0-0-1",
        "servfail-aaaa--a-127-0-0-1",
    };

    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        const struct attempt *attempt = send_by(labels[i]);

        expect_end(attempt, FAILURE_NONE, "127.0.0.1");
        cr_expect_lt(attempt->dns_us, limit_scaled(500 * 1000), "%s", labels[i]);
    }
}

/* -- CA certificates --------------------------------------------------------------------------- */

static void await_failure(enum failure failure)
{
    const int64_t until_us = clock_mono_us() + ENDED_US;

    while (send_by("a-127-0-0-1")->failure != failure)
        cr_assert_lt(clock_mono_us(), until_us, "no attempt ended as %s", failure_name(failure));
}

Test(connect, a_renewed_ca_file_is_in_force_at_the_next_connections)
{
    await_failure(FAILURE_NONE);
    await_failure(FAILURE_NONE); /* resumes a session */
    use_ca("unknown.pem");
    await_failure(FAILURE_TLS);
    use_ca("authority.pem");
    await_failure(FAILURE_NONE);
}

static void expect_logged(const char *text)
{
    run(format("grep -q '%s' %s/log", text, folder));
}

/* The attempts to a name that was not sent to before resume no session. */
Test(connect, a_broken_ca_file_changes_nothing)
{
    const int64_t until_us = clock_mono_us() + ENDED_US;
    const int log = open(format("%s/log", folder), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

    cr_assert(log >= 0 && dup2(log, STDERR_FILENO) == STDERR_FILENO);
    log_open("webhook", NULL, NULL, LOG_INFO);
    run(format("cd %s && head -c 200 authority.pem >half.pem", folder));
    await_failure(FAILURE_NONE);
    use_ca("half.pem");
    while (system(format("grep -q 'stay in force' %s/log", folder)) != 0) {
        cr_assert_lt(clock_mono_us(), until_us);
        cr_expect_eq(send_by("a-127-0-0-1")->failure, FAILURE_NONE);
    }
    expect_logged("WEBHOOK_CA_FILE cannot be read.*\"reason\":");
    cr_expect_eq(send_by("cname--a-127-0-0-1")->failure, FAILURE_NONE);
    use_ca("unknown.pem");
    await_failure(FAILURE_TLS);
    expect_logged("CA certificates were read again");
}

Test(connect, an_authority_that_the_system_adds_is_trusted)
{
    const char *const system_file = "/etc/ssl/certs/ca-certificates.crt";

    run(format("cp %s %s/system.pem", system_file, folder));
    own_file(format("%s/system.pem", folder), system_file);
    use_ca("unknown.pem");
    await_failure(FAILURE_TLS);
    run(format("cat %s/authority.pem >>%s/system.pem", folder, folder));
    await_failure(FAILURE_NONE);
}
