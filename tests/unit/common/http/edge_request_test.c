#include "common/http/edge_request.h"

#include <criterion/criterion.h>
#include <string.h>

#include "proto/headers.h"

/* -- the send budget ------------------------------------------------------------------------- */

#define MAX (4 * SEND_BUDGET_SMALLEST)

static struct send_budget send_budget;
static struct send_budget_entry answers[5];

static void start(void)
{
    send_budget_init(&send_budget, MAX);
}

TestSuite(send_budget, .init = start);

Test(send_budget, gives_up_none_within_the_budget)
{
    for (int i = 0; i < 4; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    cr_expect_null(send_budget_excess(&send_budget));
}

Test(send_budget, drops_the_client_that_has_waited_longest)
{
    for (int i = 0; i < 5; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[0]);
    cr_expect_null(send_budget_excess(&send_budget));
    send_budget_remove(&send_budget, &answers[0]);
    cr_expect_eq(send_budget.n, MAX);
}

Test(send_budget, gives_up_as_many_as_a_large_one_needs)
{
    for (int i = 0; i < 4; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    send_budget_remove(&send_budget, &answers[1]);
    send_budget_add(&send_budget, &answers[4], 3 * SEND_BUDGET_SMALLEST);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[0]);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[2]);
    cr_expect_null(send_budget_excess(&send_budget));
}

Test(send_budget, does_not_count_bytes_that_a_socket_takes_at_once)
{
    for (int i = 0; i < 5; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST - 1);
    send_budget_remove(&send_budget, &answers[0]);
    cr_expect_eq(send_budget.n, 0);
    cr_expect_null(send_budget_excess(&send_budget));
}

/* -- the client's address -------------------------------------------------------------------- */

static struct networks trusted;

static struct address at(const char *text)
{
    struct address address = {{0}};

    cr_assert(address_parse(str_of(text), &address), "%s", text);
    return address;
}

static void trust_private(void)
{
    cr_assert(networks_parse(STR("10.0.0.0/8, 192.168.1.1 ,fd00::/8"), &trusted, NULL));
}

static void expect(const char *peer, const char *forwarded_for, const char *client)
{
    struct address from = at(peer), found, wanted = at(client);
    struct str line = str_of(forwarded_for);
    char text[ADDRESS_TEXT];

    found = client_address(&from, &trusted, &line, 1);
    address_format(&found, text);
    cr_expect(address_equal(&found, &wanted), "%s behind %s is %s", peer, forwarded_for, text);
}

TestSuite(client, .init = trust_private);

Test(client, is_the_peer_when_that_is_not_trusted)
{
    expect("1.2.3.4", "5.6.7.8", "1.2.3.4");
    expect("192.168.1.2", "5.6.7.8", "192.168.1.2");
}

Test(client, is_whom_the_last_trusted_hop_saw)
{
    expect("10.0.0.1", "5.6.7.8", "5.6.7.8");
    expect("10.0.0.1", "6.6.6.6, 5.6.7.8", "5.6.7.8");
    expect("10.0.0.1", "6.6.6.6, 5.6.7.8, 10.9.9.9", "5.6.7.8");
    expect("10.0.0.1", "10.1.1.1,10.2.2.2", "10.1.1.1");
    expect("fd00::1", "2001:db8::7", "2001:db8::7");
    expect("::ffff:10.0.0.1", "5.6.7.8", "5.6.7.8");
}

Test(client, may_come_with_brackets_and_port)
{
    expect("10.0.0.1", "5.6.7.8:1234", "5.6.7.8");
    expect("10.0.0.1", "[2001:db8::7]:443", "2001:db8::7");
    expect("10.0.0.1", "[2001:db8::7]", "2001:db8::7");
    expect("10.0.0.1", "  5.6.7.8\t", "5.6.7.8");
}

Test(client, is_the_trusted_hop_if_that_sends_no_valid_address)
{
    static const char *const garbage[] = {
        "",
        "unknown",
        "5.6.7.8:99999",
        "5.6.7.8:",
        "[2001:db8::7",
        "[5.6.7.8]",
        "[::1]x",
        "5.6.7",
        "5.6.7.8/32",
        "fe80::1%eth0",
        "01.2.3.4",
        "6.6.6.6, bogus",
        "6.6.6.6,",
        "2001:db8::7:8:9:a:b:c:d",
    };

    for (size_t i = 0; i < ARRAY_SIZE(garbage); i++)
        expect("10.0.0.1", garbage[i], "10.0.0.1");
}

Test(client, is_sought_from_the_last_line_to_the_first)
{
    const struct str lines[] = {STR("6.6.6.6, 5.6.7.8"), STR("10.3.3.3"), STR("10.2.2.2")};
    struct address peer = at("10.0.0.1"), wanted = at("5.6.7.8");
    struct address found = client_address(&peer, &trusted, lines, 3);

    cr_expect(address_equal(&found, &wanted));
}

Test(client, is_not_sought_for_ever)
{
    char line[4000] = "5.6.7.8";
    struct str all;
    struct address peer = at("10.0.0.1"), wanted = at("10.2.2.2"), found;

    for (int i = 0; i < CLIENT_HOPS_MAX; i++)
        strcat(line, ", 10.2.2.2");
    all = str_of(line);
    found = client_address(&peer, &trusted, &all, 1);
    cr_expect(address_equal(&found, &wanted));
}

Test(client, came_by_https_when_we_or_a_trusted_proxy_say_so)
{
    struct address proxy = at("10.0.0.1"), stranger = at("1.2.3.4");

    cr_expect(client_is_https(true, &stranger, &trusted, STR_NONE));
    cr_expect(client_is_https(false, &proxy, &trusted, STR("https")));
    cr_expect(client_is_https(false, &proxy, &trusted, STR("http, HTTPS ")));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR("https, http")));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR_NONE));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR("")));
    cr_expect_not(client_is_https(false, &stranger, &trusted, STR("https")));
}

/* -- the outcome of a call ------------------------------------------------------------------- */

static struct bus *bus; /* messages need nats.c, which the first bus opens */
static struct bus_message *message;
static struct str body;

static void set_up(void)
{
    bus = bus_connect(&(struct bus_options){.url = "nats://127.0.0.1:1", .name = "test"});
    cr_assert_not_null(bus);
}

static void tear_down(void)
{
    bus_message_free(message);
    bus_free(bus);
}

TestSuite(call_outcome, .init = set_up, .fini = tear_down);

/* The outcome of a call whose reply has this header and body; NULL: no header. */
static enum outcome of_reply(const char *outcome, const char *text)
{
    const struct bus_header header = {HEADER_OUTCOME, outcome};

    message = bus_message_new("v1.some.command", &header, outcome != NULL ? 1 : 0, str_of(text));
    cr_assert_not_null(message);
    return call_outcome(CALL_REPLIED, message, true, &body);
}

Test(call_outcome, is_that_of_the_service)
{
    cr_expect_eq(of_reply("created", "{}"), OUTCOME_CREATED);
    cr_expect(str_equal(body, STR("{}")));
}

Test(call_outcome, has_the_errors_of_a_refusal)
{
    cr_expect_eq(of_reply("not_found", "[1]"), OUTCOME_NOT_FOUND);
    cr_expect(str_equal(body, STR("[1]")));
}

Test(call_outcome, of_a_refusal_without_words_stands)
{
    cr_expect_eq(of_reply("not_found", ""), OUTCOME_NOT_FOUND);
    cr_expect_eq(body.n, 0);
}

Test(call_outcome, of_a_success_without_its_resource_is_uncertain)
{
    cr_expect_eq(of_reply("ok", ""), OUTCOME_UNCERTAIN);
}

Test(call_outcome, of_a_reply_without_one_is_uncertain)
{
    cr_expect_eq(of_reply(NULL, "{}"), OUTCOME_UNCERTAIN);
    cr_expect_null(body.p);
}

Test(call_outcome, that_is_unknown_is_uncertain)
{
    cr_expect_eq(of_reply("splendid", "{}"), OUTCOME_UNCERTAIN);
    cr_expect_null(body.p);
}

Test(call_outcome, of_a_service_that_does_not_know_the_command_is_unavailable)
{
    cr_expect_eq(of_reply("unknown_command", "[1]"), OUTCOME_UNAVAILABLE);
    cr_expect_null(body.p, "the words are our own");
}

Test(call_outcome, without_a_reply_says_whether_it_may_have_been_done)
{
    cr_expect_eq(call_outcome(CALL_NOBODY, NULL, true, &body), OUTCOME_UNAVAILABLE);
    cr_expect_eq(call_outcome(CALL_LATE, NULL, true, &body), OUTCOME_UNCERTAIN);
    cr_expect_eq(call_outcome(CALL_LOST, NULL, true, &body), OUTCOME_UNCERTAIN);
    cr_expect_eq(call_outcome(CALL_LOST, NULL, false, &body), OUTCOME_UNAVAILABLE);
    cr_expect_null(body.p);
}
