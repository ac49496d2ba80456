/* Every change of an operator or of somebody in the dashboard is on record, with its work. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"
#include "tests/support/api.h"
#include "tests/support/sql.h"

TestSuite(changes, .init = api_open, .timeout = 120);

#define USER "01890a5d-ac96-774b-bcce-b302099a8057"

static int64_t recorded(const struct org *org, const char *condition)
{
    return sql_integer(format("SELECT count(*) FROM audit.changes WHERE organization_id = '%s'"
                              " AND %s",
                              org->id, condition),
                       NULL);
}

Test(changes, of_an_operator_are_on_record)
{
    struct org org;
    const char *conversation;
    json_t *endpoint;

    org_new(&org);
    conversation = new_conversation(&org, "c-1", "k-1");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", NULL));
    json_decref(
        convctl("key", "rotate", "--org", org.id, org.read_key_id, "--overlap", "1h", NULL));
    json_decref(convctl("key", "revoke", "--org", org.id, org.read_key_id, NULL));
    json_decref(
        convctl("conversation", "set-status", "--org", org.id, conversation, "waiting", NULL));
    json_decref(convctl("audit", "retain", "--org", org.id, "--months", "4", NULL));
    endpoint = convctl("webhook", "create", "--org", org.id, "--url",
                       "https://hooks.example.com/secret?token=abc", "--event", "ai.handoff", NULL);
    json_decref(endpoint);

    cr_expect_eq(recorded(&org, "change = 'organization.create' AND who = 'operator'"
                                " AND user_id IS NULL AND address IS NULL"),
                 1);
    cr_expect_eq(recorded(&org, "change = 'key.create' AND detail->>'scope' = 'read'"), 1);
    cr_expect_eq(recorded(&org, format("change = 'key.rotate' AND target = '%s'"
                                       " AND detail->>'overlap' = '1h'"
                                       " AND detail->>'successor' <> target",
                                       org.read_key_id)),
                 1);
    cr_expect_eq(recorded(&org, format("change = 'key.revoke' AND target = '%s'", org.read_key_id)),
                 1);
    cr_expect_eq(recorded(&org, "change = 'policy.set' AND target IS NULL"
                                " AND detail::text = '{\"require_https\":false}'"),
                 1);
    cr_expect_eq(recorded(&org, format("change = 'conversation.set-status' AND target = '%s' AND"
                                       " detail::text ="
                                       " '{\"was\":\"active\",\"status\":\"waiting\"}'",
                                       conversation)),
                 1);
    cr_expect_eq(recorded(&org, "change = 'audit.retain' AND detail->>'months' = '4'"), 1);
    cr_expect_eq(recorded(&org, "change = 'endpoint.create'"
                                " AND detail->>'host' = 'hooks.example.com'"),
                 1);
    cr_expect_eq(recorded(&org, "detail::text ~ 'svc_live|svc_read|whsec|token|secret'"), 0);
}

/* -- with somebody's name ---------------------------------------------------------------------- */

struct asked {
    const char *user, *email, *address;
};

static enum outcome ask(const struct org *org, const char *subject, const char *body,
                        const struct asked *by)
{
    struct bus *bus =
        bus_connect(&(struct bus_options){.url = stack_setting("NATS_URL"), .name = "changes"});
    struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},   {HEADER_ORGANIZATION, org->id}, {HEADER_USER, by->user},
        {HEADER_USER_EMAIL, by->email}, {HEADER_CLIENT, by->address},
    };
    struct bus_message *reply = NULL;
    enum outcome outcome = OUTCOME_UNCERTAIN;

    uuid_format(&id, id_text);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(bus_call(bus, subject, headers, 5, str_of(body), 10000, &reply), ST_OK);
    cr_assert(outcome_of(bus_message_header(reply, HEADER_OUTCOME), &outcome));
    bus_message_free(reply);
    bus_free(bus);
    return outcome;
}

Test(changes, of_somebody_in_the_dashboard_carry_the_name)
{
    const struct asked ada = {USER, "ada@example.com", "192.0.2.7"};
    struct org org;

    org_new(&org);
    cr_assert_eq(ask(&org, SUBJECT_ACCESS_KEY_CREATE, "{\"name\":\"n\",\"scope\":\"full\"}", &ada),
                 OUTCOME_OK);
    cr_expect_eq(recorded(&org, "change = 'key.create' AND who = 'ada@example.com'"
                                " AND user_id = '" USER "' AND address = '192.0.2.7'"),
                 1);
}

Test(changes, that_are_refused_leave_nothing)
{
    const struct asked ada = {USER, "ada@example.com", "192.0.2.7"};
    struct org org;

    org_new(&org);
    cr_expect_eq(ask(&org, SUBJECT_ACCESS_KEY_REVOKE, "{\"id\":\"" USER "\"}", &ada),
                 OUTCOME_NOT_FOUND);
    cr_expect_eq(recorded(&org, "who <> 'operator'"), 0);
}

Test(changes, are_not_made_for_somebody_malformed)
{
    static const struct asked wrong[] = {
        {"ada", "ada@example.com", "192.0.2.7"},
        {USER, "\xff\xfe", "192.0.2.7"},
        {USER, "ada@example.com", "nowhere"},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_eq(ask(&org, SUBJECT_ACCESS_POLICY_SET, "{\"require_https\":true}", &wrong[i]),
                     OUTCOME_UNKNOWN_COMMAND, "%zu", i);
    cr_expect_eq(recorded(&org, "change = 'policy.set'"), 0);
}

Test(changes, are_not_made_by_requests_to_the_api)
{
    struct org org;
    int64_t before;
    const char *conversation;

    org_new(&org);
    before = recorded(&org, "true");
    conversation = new_conversation(&org, "c-1", "k-1");
    expect_status(update_conversation(&org, conversation, "{\"custom_attributes\":{\"a\":1}}"),
                  200);
    json_decref(convctl("conversation", "open", "--org", org.id, "--channel", "email", NULL));
    cr_expect_eq(recorded(&org, "true"), before);
}
