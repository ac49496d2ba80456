/* Claims that wait in the process for attempts to the same endpoint to end. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/crypto/crypto.h"
#include "services/webhook/attempts.h"
#include "services/webhook/queue.h"
#include "services/webhook/sender_metrics.h"
#include "services/webhook/webhook.h"
#include "tests/support/port.h"
#include "tests/support/receiver.h"

#define ORG      "01920000-0000-7000-8000-000000000001"
#define ENDPOINT "01920000-0000-7000-8000-00000000000a"
#define OTHER    "01920000-0000-7000-8000-00000000000b"

#define FOREVER_US (INT64_C(3600) * 1000 * 1000)

enum { SLOTS = 16, WAIT_TIMEOUT_US = 50 * 1000, TURN_MS = 10, ENDED_US = 20 * 1000 * 1000 };

static struct sender_metrics metrics;
static struct webhook webhook;
static struct attempts *attempts;
static int listener;
static char url[64];

/* Connections wait for a response, because nobody accepts them. */
static void listen_only(void)
{
    uint16_t port;

    listener = port_bound(&port);
    cr_assert_eq(listen(listener, SLOTS), 0);
    snprintf(url, sizeof(url), "https://127.0.0.1:%u/", port);
}

static void open_attempts_trusting(int64_t wait_timeout_us, const char *ca_file)
{
    attempts = attempts_new(&(struct attempts_options){.ca_file = ca_file,
                                                       .slots = SLOTS,
                                                       .wait_timeout_us = wait_timeout_us,
                                                       .webhook = &webhook,
                                                       .metrics = &metrics});
    cr_assert_not_null(attempts);
}

static void open_attempts(int64_t wait_timeout_us)
{
    open_attempts_trusting(wait_timeout_us, NULL);
}

static void start(void)
{
    crypto_open();
    cr_assert(networks_parse(STR("127.0.0.0/8"), &webhook.rules.allowed, NULL));
    sender_metrics_init(&metrics);
    listen_only();
}

static void stop(void)
{
    attempts_free(attempts);
    close(listener);
}

TestSuite(attempts, .init = start, .fini = stop);

static void take(const char *endpoint, const char *fence)
{
    attempts_take(attempts, &(struct delivery_claim){.organization_id = STR(ORG),
                                                     .endpoint_id = str_of(endpoint),
                                                     .id = STR(OTHER),
                                                     .fence = str_of(fence),
                                                     .event_id = STR("01"),
                                                     .event_type = STR("ticket.created"),
                                                     .data = STR("{}"),
                                                     .url = str_of(url)});
}

static void advance(int ms)
{
    struct pollfd none[1];

    attempts_wait(attempts, none, 0, ms);
}

/* Six for one endpoint, of which two wait, and one for another. */
static void take_seven(void)
{
    static const char *const fences[] = {"1", "2", "3", "4", "5", "6"};

    for (size_t i = 0; i < ARRAY_SIZE(fences); i++)
        take(ENDPOINT, fences[i]);
    take(OTHER, "7");
    advance(0);
}

/* The fences are in the order of the slots, of which the last is taken first. */
static void expect(int64_t in_flight, size_t vacant, size_t given_back, const char *fences)
{
    cr_expect_eq(metric_read(metrics.in_flight), in_flight);
    cr_expect_eq(attempts_vacant(attempts), vacant);
    cr_expect_eq(attempts_given_back(attempts), given_back);
    cr_expect(str_equal(attempts_fences(attempts), str_of(fences)));
}

Test(attempts, a_fifth_claim_for_an_endpoint_waits)
{
    open_attempts(FOREVER_US);
    take_seven();
    expect(5, SLOTS - 7, 0, "{7,6,5,4,3,2,1}");
}

Test(attempts, all_that_wait_are_given_back_when_asked)
{
    open_attempts(FOREVER_US);
    take_seven();
    attempts_give_back(attempts);
    expect(5, SLOTS - 5, 2, "{7,4,3,2,1}");
    attempts_forget_given_back(attempts, 1);
    cr_expect_eq(attempts_given_back(attempts), 1);
    take(OTHER, "8");
    expect(6, SLOTS - 6, 1, "{7,8,4,3,2,1}");
}

Test(attempts, what_has_waited_for_too_long_is_given_back)
{
    int64_t began_us;

    open_attempts(WAIT_TIMEOUT_US);
    began_us = clock_mono_us();
    take_seven();
    while (attempts_given_back(attempts) == 0 && clock_mono_us() - began_us < 100 * WAIT_TIMEOUT_US)
        advance(TURN_MS);
    cr_expect_geq(clock_mono_us() - began_us, WAIT_TIMEOUT_US);
    expect(5, SLOTS - 5, 2, "{7,4,3,2,1}");
}

static void await_ended(size_t n)
{
    const int64_t until_us = clock_mono_us() + ENDED_US;
    size_t n_ended = 0;

    while (n_ended < n && clock_mono_us() < until_us) {
        advance(TURN_MS);
        (void)attempts_ended(attempts, &n_ended);
    }
    cr_assert_eq(n_ended, n);
}

/* Closes the connections of the attempts, in the order in which they were made, until one ends. */
Test(attempts, a_failure_gives_back_what_waits_for_its_endpoint)
{
    size_t n_ended;

    open_attempts(FOREVER_US);
    take_seven();
    close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    await_ended(1);
    cr_expect(str_equal(attempts_ended(attempts, &n_ended)[0]->endpoint_id, STR(ENDPOINT)));
    expect(4, SLOTS - 5, 2, "{7,4,3,2}");
    attempts_forget_ended(attempts, 1);
    expect(4, SLOTS - 4, 2, "{7,4,3,2}");
}

Test(attempts, a_success_begins_what_waits_for_its_endpoint)
{
    char folder[] = "/tmp/attempts-XXXXXX", text[128];
    struct receiver *receiver;

    cr_assert_not_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "tests/support/make-certificates %s", folder);
    cr_assert_eq(system(text), 0);
    cr_assert_eq(setenv("WEBHOOK_CERTIFICATES", folder, 1), 0);
    receiver = receiver_start("good");
    snprintf(url, sizeof(url), "%s", receiver_url(receiver, "/ok"));
    snprintf(text, sizeof(text), "%s/authority.pem", folder);
    open_attempts_trusting(FOREVER_US, text);
    take_seven();
    await_ended(7);
    expect(0, SLOTS - 7, 0, "{}");
    cr_expect_leq(receiver_most_at_once(receiver), 5);
    for (size_t i = 0, n; i < 7; i++)
        cr_expect_eq(attempts_ended(attempts, &n)[i]->failure, FAILURE_NONE);
    snprintf(text, sizeof(text), "rm -r %s", folder);
    cr_assert_eq(system(text), 0);
}
