/* Every change by an operator or a dashboard user is recorded in the transaction that makes it. */
#include <criterion/criterion.h>

#include "proto/subject.h"
#include "tests/support/changes.h"
#include "tests/support/never_free.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(changes, .init = service_connection_open, .fini = service_connection_close);

#define USER "01890a5d-ac96-774b-bcce-b302099a8057" /* some_user */

static int64_t recorded(const struct org *org, const char *condition)
{
    return changes_count(org->id, condition);
}

Test(changes, of_an_operator_are_on_record)
{
    struct org org;
    const char *conversation;
    json_t *endpoint;

    org_new(&org);
    conversation = new_conversation(&org, "c-1", "k-1");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
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
                                " AND detail::text = '{\"require_https\":true}'"),
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

/* Runs every command that sets something. A second call changes nothing. */
static void set_all(const struct org *org, const char *const ids[4])
{
    json_decref(convctl("audit", "retain", "--org", org->id, "--months", "6", NULL));
    json_decref(convctl("key", "revoke", "--org", org->id, org->read_key_id, NULL));
    json_decref(convctl("conversation", "set-status", "--org", org->id, ids[0], "waiting", NULL));
    json_decref(convctl("contact", "erase", "--org", org->id, ids[1], NULL));
    json_decref(convctl("org", "set", org->id, "--plan", "growth", "--rate-limit", "100", NULL));
    json_decref(convctl("policy", "set", "--org", org->id, "--require-https", "true", "--ip",
                        "192.0.2.1", "--ip", "192.0.2.2", "--ip-allowlist-enabled", "true", NULL));
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_MEMBER_SET,
                                        org->id,
                                        format("{\"id\":\"%s\",\"role\":\"admin\"}", ids[2]))
                     .outcome,
                 OUTCOME_OK);
    cr_expect_eq(service_client_call_as(service_connection, &some_user,
                                        SUBJECT_WEBHOOK_ENDPOINT_SET, org->id,
                                        format("{\"id\":\"%s\",\"enabled\":false}", ids[3]))
                     .outcome,
                 OUTCOME_OK);
}

static const char *id_of(json_t *object)
{
    return json_string_value(json_object_get(never_free(object), "id"));
}

Test(changes, that_change_nothing_leave_nothing)
{
    struct org org;
    const char *conversation, *ids[4];
    char code[64];
    int64_t before;

    org_new(&org);
    conversation = new_conversation(&org, "c-1", "k-1");
    ids[0] = conversation;
    ids[1] = text_at(read_conversation(&org, conversation), "contact.id");
    ids[2] = id_of(convctl("user", "create", "--org", org.id, "--email", "a@example.com", "--role",
                           "member", NULL));
    ids[3] = id_of(convctl("webhook", "create", "--org", org.id, "--url",
                           "https://hooks.example.com/", "--event", "ai.handoff", NULL));
    before = recorded(&org, "true");
    json_decref(convctl("webhook", "resend-failed", "--org", org.id, ids[3], "--since", "0", NULL));
    set_all(&org, ids);
    cr_expect_eq(recorded(&org, "true"), before + 8);
    set_all(&org, ids);
    json_decref(convctl("audit", "retain", "--org", org.id, "--months", "1", NULL));
    json_decref(convctl("org", "set", org.id, "--plan", "growth", NULL));
    json_decref(convctl("policy", "set", "--org", org.id, "--ip-allowlist-enabled", "true", NULL));
    cr_expect_eq(convctl_fails(code, "policy", "set", "--org", org.id, NULL), 2);
    cr_expect_eq(convctl_fails(code, "org", "set", org.id, NULL), 2);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_POLICY_SET,
                                        org.id, "{\"confirmed\":true}")
                     .outcome,
                 OUTCOME_PARAMETER_NOT_FOUND);
    cr_expect_eq(
        service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_ORG_SET, org.id, "{}")
            .outcome,
        OUTCOME_PARAMETER_NOT_FOUND);
    cr_expect_eq(recorded(&org, "true"), before + 8);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "default", NULL));
    json_decref(convctl("org", "set", org.id, "--rate-limit", "default", NULL));
    cr_expect_eq(recorded(&org, "true"), before + 9);
}

/* -- with somebody's name ---------------------------------------------------------------------- */

Test(changes, of_a_user_in_the_dashboard_carry_the_name)
{
    struct org org;

    org_new(&org);
    cr_assert_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_KEY_CREATE,
                                        org.id, "{\"name\":\"n\",\"scope\":\"full\"}")
                     .outcome,
                 OUTCOME_OK);
    cr_expect_eq(recorded(&org, "change = 'key.create' AND who = 'ada@example.com'"
                                " AND user_id = '" USER "' AND address = '192.0.2.7'"),
                 1);
}

Test(changes, that_are_refused_leave_nothing)
{
    struct org org;

    org_new(&org);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_KEY_REVOKE,
                                        org.id, "{\"id\":\"" USER "\"}")
                     .outcome,
                 OUTCOME_NOT_FOUND);
    cr_expect_eq(recorded(&org, "who <> 'operator'"), 0);
}

/* Makes two tables refuse rows of the organization, or take them again: the log, and the outbox
   from which access fills it. */
static void refuse_records(const struct org *org, bool on)
{
    static const char *const tables[] = {"audit.changes", "access.outbox"};
    const char *name = format("refuse_%.8s", org->id + 24);

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        const char *state = sql_state_as(
            NULL, on ? format("ALTER TABLE %s ADD CONSTRAINT %s CHECK (organization_id <> '%s')"
                              " NOT VALID",
                              tables[i], name, org->id)
                     : format("ALTER TABLE %s DROP CONSTRAINT %s", tables[i], name));

        cr_assert_str_eq(state, "00000");
    }
}

Test(changes, that_cannot_be_recorded_are_not_made)
{
    struct org org;
    const char *conversation;
    int64_t keys;

    org_new(&org);
    conversation = new_conversation(&org, "c-1", "k-1");
    keys = sql_integer("SELECT count(*) FROM access.api_keys WHERE organization_id = $1::uuid",
                       org.id, NULL);
    changes_await(org.id);
    refuse_records(&org, true);
    cr_expect_eq(service_client_call_as(
                     service_connection, &some_user, SUBJECT_CONVERSATION_SET_STATUS, org.id,
                     format("{\"id\":\"%s\",\"status\":\"waiting\"}", conversation))
                     .outcome,
                 OUTCOME_SERVER_ERROR);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_KEY_CREATE,
                                        org.id, "{\"name\":\"n\",\"scope\":\"full\"}")
                     .outcome,
                 OUTCOME_SERVER_ERROR);
    refuse_records(&org, false);
    expect_text(read_conversation(&org, conversation), "status", "active");
    cr_expect_eq(
        sql_integer("SELECT count(*) FROM access.api_keys WHERE organization_id = $1::uuid", org.id,
                    NULL),
        keys);
}

Test(changes, are_not_made_for_a_malformed_user)
{
    static const struct signed_in_user wrong[] = {
        {"ada", "ada@example.com", "192.0.2.7"},
        {USER, "\xff\xfe", "192.0.2.7"},
        {USER, "ada@example.com", "nowhere"},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        cr_expect_eq(service_client_call_as(service_connection, &wrong[i],
                                            SUBJECT_ACCESS_POLICY_SET, org.id,
                                            "{\"require_https\":true}")
                         .outcome,
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

/* -- read back --------------------------------------------------------------------------------- */

Test(changes, are_listed_page_by_page_newest_first)
{
    static const char *const names[] = {"key.revoke", "policy.set", "key.create", "key.create",
                                        "organization.create"};
    json_t *page = NULL;
    struct org org;
    size_t n = 0;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    json_decref(convctl("key", "revoke", "--org", org.id, org.read_key_id, NULL));
    changes_await(org.id);
    do {
        const char *cursor = json_string_value(json_at(page, "pages.next.starting_after"));
        json_t *next = cursor == NULL
                           ? convctl("audit", "changes", "--org", org.id, "--per-page", "2", NULL)
                           : convctl("audit", "changes", "--org", org.id, "--per-page", "2",
                                     "--starting-after", cursor, NULL);
        const json_t *change;
        size_t i;

        page = never_free(next);
        json_array_foreach(json_object_get(page, "changes"), i, change)
        {
            cr_assert_lt(n, 5);
            cr_expect_str_eq(text_of(change, "change"), names[n++]);
            cr_expect_str_eq(text_of(change, "who"), "operator");
            expect_members(change, "id created_at who user_id change target detail address");
            expect_uuid(text_of(change, "id"));
        }
    } while (json_object_get(json_object_get(page, "pages"), "next") != NULL);
    cr_expect_eq(n, 5);
}

/* The number of the organization's changes on the first page with that filter. */
static size_t count_selected(const struct org *org, const char *filter, bool *has_next)
{
    const json_t *page = service_client_get_as(service_connection, &some_user,
                                               SUBJECT_AUDIT_CHANGES, org->id, filter);

    *has_next = json_at(page, "pages.next") != NULL;
    return json_array_size(json_object_get(page, "changes"));
}

Test(changes, are_selected_by_kind_and_user)
{
    static const struct {
        const char *filter;
        size_t n;
        bool has_next;
    } rows[] = {
        {"{\"change\":\"key\"}", 3, false},
        {"{\"change\":\"key\",\"per_page\":3}", 3, false},
        {"{\"change\":\"key\",\"per_page\":2}", 2, true},
        {"{\"change\":\"key.create\"}", 2, false},
        {"{\"change\":\"key.create\",\"per_page\":1}", 1, true},
        {"{\"change\":\"ke\"}", 0, false},
        {"{\"change\":\"KEY\"}", 0, false},
        {"{\"who\":\"Operator\"}", 4, false},
        {"{\"who\":\"ADA@example.com\"}", 1, false},
        {"{\"who\":\"ada@example.com\",\"change\":\"key\"}", 0, false},
        {"{\"who\":\"nobody@example.com\"}", 0, false},
        {"{}", 5, false},
        {"{\"per_page\":5}", 5, false},
        {"{\"per_page\":4}", 4, true},
    };
    struct org org;

    org_new(&org); /* three changes: the organization and two keys */
    json_decref(convctl("key", "revoke", "--org", org.id, org.read_key_id, NULL));
    cr_assert_eq(service_client_call_as(service_connection, &some_user, SUBJECT_ACCESS_POLICY_SET,
                                        org.id, "{\"require_https\":true}")
                     .outcome,
                 OUTCOME_OK);
    changes_await(org.id);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool has_next;

        cr_expect_eq(count_selected(&org, rows[i].filter, &has_next), rows[i].n, "%s",
                     rows[i].filter);
        cr_expect_eq(has_next, rows[i].has_next, "%s", rows[i].filter);
    }
    cr_expect_eq(json_array_size(json_object_get(
                     never_free(convctl("audit", "changes", "--org", org.id, "--who", "operator",
                                        "--change", "key.revoke", NULL)),
                     "changes")),
                 1);
}

enum { NEWER = 2500 }; /* a page scans 1,000 */

/* None is missed, however many other changes lie in between. */
Test(changes, that_are_selected_seldom_are_found_page_by_page)
{
    const char *filter = "{\"change\":\"organization\"}";
    struct org org;
    size_t found = 0;
    int pages = 0;

    org_new(&org);
    changes_await(org.id);
    cr_assert_eq(sql_integer(format("WITH made AS (INSERT INTO audit.changes (organization_id, id,"
                                    " who, change, detail) SELECT $1::uuid, ('ff000000-0000-7000-"
                                    "8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'operator',"
                                    " 'session.sign-in', '{}' FROM generate_series(1, %d) AS n"
                                    " RETURNING 1) SELECT count(*) FROM made",
                                    NEWER),
                             org.id, NULL),
                 NEWER);
    while (filter != NULL) {
        const json_t *page = service_client_get_as(service_connection, &some_user,
                                                   SUBJECT_AUDIT_CHANGES, org.id, filter);
        const char *cursor = json_string_value(json_at(page, "pages.next.starting_after"));

        found += json_array_size(json_object_get(page, "changes"));
        filter = cursor == NULL
                     ? NULL
                     : format("{\"change\":\"organization\",\"starting_after\":\"%s\"}", cursor);
        cr_assert_lt(++pages, 10);
    }
    cr_expect_eq(found, 1);
    cr_expect_eq(pages, 3);
}

Test(changes, have_cursors_bound_to_their_query)
{
    struct org org;
    const json_t *page;
    const char *cursor;

    org_new(&org);
    changes_await(org.id);
    page = service_client_get_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES, org.id,
                                 "{\"per_page\":1,\"change\":\"key\"}");
    cursor = text_of(json_at(page, "pages.next"), "starting_after");
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES,
                                        org.id,
                                        format("{\"per_page\":1,\"who\":\"key\","
                                               "\"starting_after\":\"%s\"}",
                                               cursor))
                     .outcome,
                 OUTCOME_INVALID_CURSOR);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES,
                                        org.id, "{\"who\":\"\"}")
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
}

Test(changes, of_one_organization_are_not_shown_to_another)
{
    struct org org, other;
    struct service_reply theirs;
    json_t *page;

    org_new(&org);
    org_new(&other);
    changes_await(org.id);
    page = service_client_get_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES, org.id,
                                 "{\"per_page\":1}");
    theirs = service_client_call_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES, other.id,
                                    format("{\"per_page\":1,\"starting_after\":\"%s\"}",
                                           text_of(json_at(page, "pages.next"), "starting_after")));
    cr_expect_eq(theirs.outcome, OUTCOME_INVALID_CURSOR);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_AUDIT_CHANGES,
                                        org.id, "{\"per_page\":101}")
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
}

Test(changes, and_entries_of_the_api_are_read_without_leaving_any)
{
    struct org org;
    struct client_response *ping;
    json_t *page;

    org_new(&org);
    ping = api_get(org.full_key, "/ping");
    expect_recorded(&org, ping, "ping");
    for (int i = 0; i < 2; i++) {
        page = service_client_get_as(service_connection, &some_user, SUBJECT_AUDIT_ENTRIES, org.id,
                                     "{\"per_page\":10}");
        cr_expect_str_eq(text_of(page, "type"), "audit_log.list");
        cr_expect_eq(json_array_size(json_object_get(page, "audit_logs")),
                     (size_t)sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id"
                                         " = $1::uuid",
                                         org.id, NULL));
    }
    page = service_client_get_as(service_connection, &some_user, SUBJECT_AUDIT_ENTRIES, org.id,
                                 "{\"operation\":\"audit.list\"}");
    cr_expect_eq(json_array_size(json_object_get(page, "audit_logs")),
                 (size_t)sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id"
                                     " = $1::uuid AND operation = 'audit.list'",
                                     org.id, NULL));
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_AUDIT_ENTRIES,
                                        org.id, "{\"order\":\"asc\"}")
                     .outcome,
                 OUTCOME_PARAMETER_INVALID);
}

/* A member of the detail of the one acceptance by that email. */
static const char *accepted(const struct dashboard_user *owner, const char *email,
                            const char *member)
{
    changes_await(owner->org.id);
    return sql_text("SELECT detail->>$3 FROM audit.changes WHERE organization_id = $1::uuid"
                    " AND change = 'invitation.accept' AND who = $2",
                    owner->org.id, email, member, NULL);
}

/* The inviting user has the link, and could accept in the colleague's name: an acceptance from the
   inviter's address gets a warning. */
Test(changes, name_the_inviter_and_mark_an_acceptance_from_the_inviters_address)
{
    const char *const address[] = {dashboard_user_address(), dashboard_user_address()};
    const char *email[2];
    struct dashboard_user owner;
    struct signed_in_user inviter;
    json_t *list;

    dashboard_user_new(service_connection, &owner, "owner");
    inviter = (struct signed_in_user){owner.id, owner.email, address[0]};
    for (int i = 0; i < 2; i++) {
        json_t *body;

        email[i] = format("bob%d-%s@example.org", i, owner.org.id);
        body = service_client_get_as(
            service_connection, &inviter, SUBJECT_ACCESS_MEMBER_INVITE, owner.org.id,
            format("{\"email\":\"%s\",\"role\":\"member\",\"by_role\":\"owner\"}", email[i]));
        cr_assert_eq(service_client_call(service_connection, SUBJECT_SESSION_ACCEPT_INVITATION,
                                         NULL,
                                         "{\"token\":\"%s\",\"password\":\"" USER_PASSWORD
                                         "\",\"address\":\"%s\",\"user_agent\":\"\"}",
                                         reply_text(body, "invitation"), address[i])
                         .outcome,
                     OUTCOME_OK);
        cr_assert_str_eq(accepted(&owner, email[i], "invited_by"), owner.email);
    }
    cr_assert_not_null(accepted(&owner, email[0], "warning"));
    cr_assert_null(accepted(&owner, email[1], "warning"));
    list =
        service_client_get(service_connection, SUBJECT_ACCESS_MEMBER_LIST, owner.org.id, "%s", "");
    list = json_array_get(json_object_get(list, "members"), 0);
    cr_assert_str_eq(reply_text(list, "invited_by"), owner.email);
}
