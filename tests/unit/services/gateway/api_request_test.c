#include "tests/unit/services/gateway/fake_front.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/familiar.h"
#include "services/gateway/key_cache.h"

#define PING         "/api/v1/ping"
#define CONVERSATION "/api/v1/conversations/0190a000-0000-7000-8000-000000000001"
#define GRANT        "{\"granted\":50,\"key_left\":50,\"organization_left\":950}"

static char bearer[sizeof("Bearer ") + TOKEN_TEXT];

static void set_up(void)
{
    memcpy(bearer, "Bearer ", 7);
    token_make(TOKEN_LIVE, bearer + 7);
    fake_open();
}

TestSuite(api_request, .init = set_up, .fini = fake_close);

static struct fake_request *confirm_key(struct fake_request *request)
{
    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), "ok", fake_record);
    return request;
}

static struct fake_request *grant_quota(struct fake_request *request)
{
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    return request;
}

/* A request whose key access has confirmed. */
static struct fake_request *get_with_key(const char *path)
{
    return confirm_key(fake_get(path, bearer));
}

/* The same, with its quota granted. */
static struct fake_request *get_with_quota(const char *path)
{
    return grant_quota(get_with_key(path));
}

/* The same for a request that writes. */
static struct fake_request *put_with_quota(const char *path)
{
    return grant_quota(confirm_key(fake_put(path, bearer)));
}

static bool says(const struct fake_request *request, const char *text)
{
    return strstr(request->body, text) != NULL;
}

static bool tells(const struct fake_request *request, const char *code)
{
    char wanted[80];

    snprintf(wanted, sizeof(wanted), "\"code\":\"%s\"", code);
    return strstr(request->body, wanted) != NULL;
}

static bool is_recorded_as(const char *status)
{
    return str_equal(fake_header(fake_call(SUBJECT_AUDIT_APPEND), HEADER_STATUS), str_of(status));
}

/* -- keys ------------------------------------------------------------------------------------ */

Test(api_request, without_a_key_is_refused_without_a_lookup)
{
    struct fake_request *request = fake_get(PING, NULL);

    cr_expect_eq(request->status, 401);
    cr_expect(tells(request, "unauthorized"));
    cr_expect(says(request, "There is no Authorization header"));
    cr_expect(str_equal(fake_response_header(request, "www-authenticate"), STR("Bearer")));
    cr_expect_eq(fake_count(NULL), 0);
}

Test(api_request, with_a_malformed_key_is_refused_without_a_lookup)
{
    bearer[20] ^= 1; /* breaks the checksum */
    cr_expect(says(fake_get(PING, bearer), "holds no well-formed API key"));
    cr_expect_eq(fake_count(NULL), 0);
}

Test(api_request, with_a_retired_kind_of_key_gets_that_message)
{
    struct fake_request *request = fake_get(PING, "Bearer svc_test_1");

    cr_expect_eq(request->status, 403);
    cr_expect(tells(request, "legacy_key_not_accepted"));
}

Test(api_request, outside_the_api_is_refused_before_its_key_is_looked_at)
{
    cr_expect_eq(fake_get("/elsewhere", bearer)->status, 404);
    cr_expect_eq(fake_count(NULL), 0);
}

Test(api_request, of_a_key_that_access_refuses_is_not_recorded)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), "unauthorized", "[]");
    cr_expect_eq(request->status, 401);
    cr_expect(says(request, "The API key is unknown, revoked or expired"));
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
}

Test(api_request, from_an_address_with_too_many_failures_is_limited)
{
    struct fake_request *request;

    for (int i = 0; i < 3; i++)
        cr_expect_eq(fake_get(PING, NULL)->status, 401);
    request = fake_get(PING, bearer);
    cr_expect_eq(request->status, 429);
    cr_expect(says(request, "from your address, or its network, failed to authenticate"));
    cr_expect_gt(fake_response_header(request, "retry-after").n, 0);
    cr_expect_eq(fake_count(NULL), 0, "an unknown key is not looked up for it");
    fake_client("198.51.100.1");
    cr_expect_eq(fake_get(PING, bearer)->status, 0, "another may ask");
}

Test(api_request, beyond_those_that_are_served_at_a_time_is_shed)
{
    struct fake_request *request;

    gateway.edge.requests = API_REQUESTS_MAX;
    request = fake_get(PING, bearer);
    cr_expect_eq(request->status, 503);
    cr_expect(tells(request, "service_unavailable"));
    cr_expect(str_equal(fake_response_header(request, "retry-after"), STR("1")));
    cr_expect_eq(fake_count(NULL), 0);
}

Test(api_request, of_a_good_key_makes_its_network_familiar)
{
    const struct fake_request *request = get_with_key(PING);

    cr_expect(familiar_holds(gateway.familiar, &request->api->http.client, clock_mono_us()));
}

/* -- the order of stages --------------------------------------------------------------------- */

Test(api_request, is_answered_once_its_entry_is_committed)
{
    struct fake_request *request = get_with_quota(PING);

    cr_expect(is_recorded_as("200"));
    cr_expect_eq(request->status, 0);
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 200);
    cr_expect_not_null(strstr(request->body, "\"organization_id\":\"" FAKE_ORGANIZATION "\""));
    cr_expect(str_equal(fake_response_header(request, "x-ratelimit-remaining"), STR("99")));
}

Test(api_request, that_fails_a_check_is_recorded_with_its_refusal)
{
    struct fake_request *request = get_with_quota("/api/v1/nothing");

    cr_expect(is_recorded_as("404"));
    cr_expect(
        str_equal(fake_header(fake_call(SUBJECT_AUDIT_APPEND), HEADER_CODE), STR("not_found")));
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 404);
}

Test(api_request, over_the_limit_is_recorded_and_gets_retry_after)
{
    struct fake_request *request = get_with_key(PING);

    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok",
               "{\"granted\":0,\"key_left\":0,\"organization_left\":900}");
    grant_quota(request); /* a refusal */
    fake_pass_ms(3000);
    cr_expect(is_recorded_as("429"));
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 429);
    cr_expect(says(request, "with this API key"));
    cr_expect(str_equal(fake_response_header(request, "retry-after"), STR("7")));
}

Test(api_request, over_the_limit_of_its_organization_gets_that_message)
{
    struct fake_request *request = get_with_key(PING);

    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok",
               "{\"granted\":0,\"key_left\":900,\"organization_left\":0}");
    grant_quota(request); /* a refusal */
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 429);
    cr_expect(says(request, "with all API keys of the organization"));
}

Test(api_request, that_created_a_conversation_has_its_location)
{
    struct fake_request *request = get_with_quota(CONVERSATION);

    fake_reply_created(fake_call(SUBJECT_CONVERSATION_GET), FAKE_CONTACT);
    cr_expect_eq(request->status, 201);
    cr_expect(str_equal(fake_response_header(request, "location"),
                        STR("/api/v1/conversations/" FAKE_CONTACT)));
}

Test(api_request, that_created_something_without_an_id_has_no_location)
{
    struct fake_request *request = get_with_quota(CONVERSATION);

    fake_reply_created(fake_call(SUBJECT_CONVERSATION_GET), "not an id");
    cr_expect_eq(request->status, 201);
    cr_expect_null(fake_response_header(request, "location").p);
}

Test(api_request, that_its_service_has_recorded_is_answered_at_once)
{
    struct fake_request *request = get_with_quota(CONVERSATION);

    fake_reply(fake_call(SUBJECT_CONVERSATION_GET), "ok", "{\"a\":1}");
    cr_expect_eq(request->status, 200);
    cr_expect_eq(request->api->key->tally.outcomes[USAGE_ALLOWED], 1);
    cr_expect_str_eq(request->body, "{\"a\":1}\n");
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
}

Test(api_request, says_in_its_command_what_its_key_may_do)
{
    (void)get_with_quota(CONVERSATION);
    cr_expect(
        str_equal(fake_header(fake_call(SUBJECT_CONVERSATION_GET), HEADER_SCOPE), STR("full")));
}

Test(api_request, says_in_its_command_that_its_key_may_only_read)
{
    (void)fake_get(CONVERSATION, bearer);
    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), "ok", fake_record_read);
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    cr_expect(
        str_equal(fake_header(fake_call(SUBJECT_CONVERSATION_GET), HEADER_SCOPE), STR("read")));
}

Test(api_request, that_its_service_could_not_record_is_recorded_before_the_answer)
{
    struct fake_request *request = get_with_quota(CONVERSATION);

    fake_reply_unrecorded(fake_call(SUBJECT_CONVERSATION_GET), "ok", "{\"a\":1}", FAKE_CONTACT);
    cr_expect_eq(request->status, 0);
    cr_expect(is_recorded_as("200"));
    cr_expect(
        str_equal(fake_header(fake_call(SUBJECT_AUDIT_APPEND), HEADER_CONTACT), STR(FAKE_CONTACT)));
    cr_expect_null(fake_header(fake_call(SUBJECT_AUDIT_APPEND), HEADER_CODE).p);
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_str_eq(request->body, "{\"a\":1}\n");
}

static void expect_when_lost(struct fake_request *request, const char *subject, int status)
{
    char recorded[8];

    snprintf(recorded, sizeof(recorded), "%d", status);
    fake_end(fake_call(subject), CALL_LOST);
    cr_expect(is_recorded_as(recorded));
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, status);
}

Test(api_request, whose_reply_was_lost_may_have_been_carried_out)
{
    expect_when_lost(put_with_quota(CONVERSATION), SUBJECT_CONVERSATION_UPDATE, 500);
}

Test(api_request, that_only_reads_has_written_nothing_when_its_reply_was_lost)
{
    expect_when_lost(get_with_quota(CONVERSATION), SUBJECT_CONVERSATION_GET, 503);
}

Test(api_request, that_cannot_be_recorded_has_failed)
{
    struct fake_request *request = get_with_quota(PING);

    fake_end(fake_call(SUBJECT_AUDIT_APPEND), CALL_NOBODY);
    cr_expect_eq(request->status, 503, "although the work was done");
    cr_expect(tells(request, "service_unavailable"));
}

Test(api_request, does_not_move_back, .signal = SIGABRT)
{
    struct fake_request *request = fake_get(PING, NULL);

    api_request_move(request->api, STAGE_COMMAND);
}

Test(api_request, does_not_skip_its_checks, .signal = SIGABRT)
{
    struct fake_request *request = fake_get(PING, bearer);

    api_request_move(request->api, STAGE_COMMAND);
}

/* -- the bus --------------------------------------------------------------------------------- */

Test(api_request, fails_at_once_without_a_bus)
{
    fake_bus = FAKE_BUS_AWAY;
    cr_expect_eq(fake_get(PING, bearer)->status, 503);
}

Test(api_request, waits_until_it_is_known_whether_a_silent_bus_is_there)
{
    struct fake_request *request;

    fake_bus = FAKE_BUS_SILENT;
    request = fake_get(PING, bearer);
    cr_expect_eq(request->status, 0);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    cr_expect_eq(fake_count(SUBJECT_ACCESS_AUTHENTICATE), 1);
}

Test(api_request, sends_its_command_when_the_bus_is_there_again)
{
    struct fake_request *request = get_with_key(CONVERSATION);

    fake_bus = FAKE_BUS_SILENT;
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    cr_expect_eq(request->status, 0);
    cr_expect_eq(fake_count(SUBJECT_CONVERSATION_GET), 0);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    fake_reply(fake_call(SUBJECT_CONVERSATION_GET), "ok", "{}");
    cr_expect_eq(request->status, 200);
    cr_expect(str_equal(fake_response_header(request, "x-ratelimit-remaining"), STR("99")),
              "it is counted once");
}

/* -- timeouts -------------------------------------------------------------------------------- */

Test(api_request, that_is_late_before_its_key_is_known_is_not_recorded)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_be_late(request);
    cr_expect_eq(request->status, 503);
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), "ok", fake_record);
    cr_expect_eq(fake_count(SUBJECT_ACCESS_QUOTA), 0, "it no longer waits for anything");
}

Test(api_request, that_is_late_for_its_quota_is_recorded_as_unavailable)
{
    struct fake_request *request = get_with_key(PING);

    fake_be_late(request);
    cr_expect(is_recorded_as("503"));
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 503);
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 1);
}

Test(api_request, that_is_late_for_its_quota_without_a_bus_has_failed)
{
    struct fake_request *request = get_with_key(PING);

    fake_bus = FAKE_BUS_AWAY;
    fake_be_late(request);
    cr_expect_eq(request->status, 503);
    fake_end(fake_call(SUBJECT_ACCESS_QUOTA), CALL_LOST);
}

Test(api_request, whose_command_is_late_may_have_been_carried_out)
{
    struct fake_request *request = put_with_quota(CONVERSATION);
    struct fake_call *call = fake_call(SUBJECT_CONVERSATION_UPDATE);

    fake_be_late(request);
    fake_reply(call, "ok", "{}");
    cr_expect(is_recorded_as("500"), "whatever its reply says");
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 500);
}

Test(api_request, whose_command_and_entry_are_late_may_have_been_carried_out)
{
    struct fake_request *request = put_with_quota(CONVERSATION);

    fake_be_late(request);
    fake_be_late(request);
    cr_expect_eq(request->status, 500);
}

Test(api_request, whose_command_was_never_sent_has_done_nothing)
{
    struct fake_request *request = get_with_key(CONVERSATION);

    fake_bus = FAKE_BUS_SILENT;
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    fake_bus = FAKE_BUS_ANSWERS;
    fake_be_late(request);
    cr_expect(is_recorded_as("503"));
    cr_expect_eq(fake_count(SUBJECT_CONVERSATION_GET), 0);
}

Test(api_request, has_the_rest_of_its_time_to_be_recorded)
{
    struct fake_request *request = get_with_quota(PING);
    struct fake_call *call = fake_call(SUBJECT_AUDIT_APPEND);

    fake_be_late(request);
    cr_expect_eq(request->status, 0);
    cr_expect_eq(request->late_us - clock_mono_us(), EDGE_REQUEST_RECORD_MS * 1000);
    fake_be_late(request);
    cr_expect_eq(request->status, 503);
    fake_reply(call, "ok", "");
    cr_expect_eq(request->status, 503, "it is answered once");
}

Test(api_request, that_is_late_while_it_is_not_known_whether_the_bus_is_there_has_failed)
{
    struct fake_request *request;

    fake_bus = FAKE_BUS_SILENT;
    request = fake_get(PING, bearer);
    fake_be_late(request);
    cr_expect_eq(request->status, 503);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    cr_expect_eq(fake_count(NULL), 0);
}

Test(api_request, is_recorded_when_the_bus_is_there_again)
{
    struct fake_request *request = get_with_key("/api/v1/nothing");

    fake_bus = FAKE_BUS_SILENT;
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    cr_expect_eq(request->status, 0);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    cr_expect(is_recorded_as("404"));
}

Test(api_request, that_cannot_be_recorded_in_time_has_failed)
{
    struct fake_request *request = get_with_key("/api/v1/nothing");

    fake_bus = FAKE_BUS_SILENT;
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    fake_be_late(request);
    cr_expect_eq(request->status, 0);
    fake_be_late(request);
    cr_expect_eq(request->status, 503);
}

/* -- clients that disconnect ----------------------------------------------------------------- */

Test(api_request, whose_client_leaves_waits_for_nothing)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_leave(request);
    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), "ok", fake_record);
    cr_expect_eq(fake_count(NULL), 1);
}

Test(api_request, whose_client_leaves_waits_for_no_quota)
{
    struct fake_request *request = get_with_key(PING);

    fake_leave(request);
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
}

Test(api_request, whose_client_leaves_waits_for_no_reply)
{
    struct fake_request *request = get_with_quota(CONVERSATION);
    struct fake_call *call = fake_call(SUBJECT_CONVERSATION_GET);

    fake_leave(request);
    fake_reply(call, "ok", "{}");
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
}

Test(api_request, whose_client_leaves_waits_for_no_entry)
{
    struct fake_request *request = get_with_quota(PING);
    struct fake_call *call = fake_call(SUBJECT_AUDIT_APPEND);

    fake_leave(request);
    fake_reply(call, "ok", "");
    cr_expect_eq(request->status, 0);
}

Test(api_request, whose_client_leaves_sends_no_command_when_the_bus_is_there_again)
{
    struct fake_request *request = get_with_key(CONVERSATION);

    fake_bus = FAKE_BUS_SILENT;
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", GRANT);
    fake_leave(request);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    cr_expect_eq(fake_count(SUBJECT_CONVERSATION_GET), 0);
}

Test(api_request, whose_client_leaves_asks_for_no_key_when_the_bus_is_there_again)
{
    struct fake_request *request;

    fake_bus = FAKE_BUS_SILENT;
    request = fake_get(PING, bearer);
    fake_leave(request);
    fake_bus = FAKE_BUS_ANSWERS;
    wait_list_resume(&gateway.parked);
    cr_expect_eq(fake_count(NULL), 0);
}
