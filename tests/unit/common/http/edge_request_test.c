#include "common/http/edge_request.h"

#include <criterion/criterion.h>

#include "proto/headers.h"

static struct bus *bus; /* messages need the library, which the first bus opens */
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

/* What is made of a reply with that outcome and body; NULL: without the header. */
static enum outcome of_reply(const char *outcome, const char *text)
{
    const struct bus_header header = {HEADER_OUTCOME, outcome};

    message = bus_message_new("v1.some.command", &header, outcome != NULL ? 1 : 0, str_of(text));
    cr_assert_not_null(message);
    return call_outcome(CALL_REPLIED, message, &body);
}

Test(call_outcome, is_what_the_service_says)
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

Test(call_outcome, that_nobody_knows_is_uncertain)
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
    cr_expect_eq(call_outcome(CALL_NOBODY, NULL, &body), OUTCOME_UNAVAILABLE);
    cr_expect_eq(call_outcome(CALL_LATE, NULL, &body), OUTCOME_UNCERTAIN);
    cr_expect_eq(call_outcome(CALL_LOST, NULL, &body), OUTCOME_UNCERTAIN);
    cr_expect_null(body.p);
}
