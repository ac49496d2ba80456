#include "common/http/edge_request.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/bus/message.h"
#include "proto/headers.h"

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

    natsMsg *nats = NULL;

    cr_assert_eq(natsMsg_Create(&nats, "v1.some.command", NULL, text, (int)strlen(text)), NATS_OK);
    if (outcome != NULL)
        cr_assert_eq(natsMsgHeader_Set(nats, header.name, header.value), NATS_OK);
    message = parcel_plain(nats)->messages;
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
