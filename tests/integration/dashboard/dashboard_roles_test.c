/* Who may see and change data: another organization's ids find nothing, in any path or parameter,
   and each role is refused what it may not do. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/changes.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(dashboard_roles, .init = stack_share);

static struct org org, other;
static struct dashboard_session session;

static void open_session(const char *role)
{
    org_new(&org);
    dashboard_client_new_user(&session, org.id, role);
}

/* -- another organization's ids ---------------------------------------------------------------- */

/* Ids in the other organization, one of each kind. */
struct resources {
    const char *key, *endpoint, *delivery, *conversation, *contact, *member, *session;
};

static const char *id_of(json_t *object)
{
    const char *id = format("%s", json_string_value(json_object_get(object, "id")));

    json_decref(object);
    return id;
}

static const char *new_delivery(const char *endpoint)
{
    return sql_text("INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id,"
                    " event_id, event_type, cause, state, finished_at)"
                    " SELECT $1::uuid, webhook.time_of(id), id, $2::uuid, gen_random_uuid(),"
                    "  'ticket.created', 'event', 'failed', now()"
                    " FROM webhook.id_at(now()) AS id RETURNING id::text",
                    other.id, endpoint, NULL);
}

static struct resources make_resources(struct dashboard_session *owner)
{
    struct resources has = {.key = other.read_key_id, .member = owner->user_id};

    has.endpoint = id_of(convctl("webhook", "create", "--org", other.id, "--url",
                                 "https://example.com/hook", "--event", "ticket.created", NULL));
    has.delivery = new_delivery(has.endpoint);
    has.conversation = new_conversation(&other, "theirs", "them");
    has.contact = sql_text("SELECT id::text FROM conversation.contacts"
                           " WHERE organization_id = $1::uuid",
                           other.id, NULL);
    has.session = sql_text("SELECT session_id::text FROM access.sessions"
                           " WHERE organization_id = $1::uuid",
                           other.id, NULL);
    return has;
}

static void expect_nothing(const char *method, const char *path, const char *body)
{
    struct client_response *response = dashboard_client_change(&session, method, path, body);

    cr_expect(response->status == 404, "%s %s: %d %s", method, path, response->status,
              response->body);
}

Test(dashboard_roles, end_at_the_organization)
{
    struct dashboard_session owner;
    struct resources has;
    long long before, own;

    open_session("owner");
    org_new(&other);
    dashboard_client_new_user(&owner, other.id, "owner");
    has = make_resources(&owner);
    before = dashboard_client_count_changes(other.id);
    own = dashboard_client_count_changes(org.id);
    expect_nothing("POST", format("/data/keys/%s/rotate", has.key), "{\"overlap\":\"now\"}");
    expect_nothing("POST", format("/data/keys/%s/revoke", has.key), NULL);
    expect_nothing("PUT", format("/data/webhooks/%s", has.endpoint), "{\"enabled\":false}");
    expect_nothing("DELETE", format("/data/webhooks/%s", has.endpoint), NULL);
    expect_nothing("GET", format("/data/webhooks/%s/deliveries", has.endpoint), NULL);
    expect_nothing("POST", format("/data/webhooks/%s/test", has.endpoint), NULL);
    expect_nothing("POST", format("/data/webhooks/%s/resend-failed", has.endpoint),
                   "{\"since\":1}");
    expect_nothing("POST", format("/data/deliveries/%s/resend", has.delivery), NULL);
    expect_nothing("GET", format("/data/conversations/%s", has.conversation), NULL);
    expect_nothing("PUT", format("/data/conversations/%s/status", has.conversation),
                   "{\"status\":\"resolved\"}");
    expect_nothing("DELETE", format("/data/conversations/%s", has.conversation), NULL);
    expect_nothing("POST", format("/data/contacts/%s/erase", has.contact), NULL);
    expect_nothing("PUT", format("/data/members/%s", has.member), "{\"role\":\"member\"}");
    expect_nothing("DELETE", format("/data/members/%s", has.member), NULL);
    cr_expect_eq(integer_at(dashboard_client_change(&session, "DELETE",
                                                    format("/data/sessions/%s", has.session), NULL),
                            "ended"),
                 0);
    cr_assert_eq(dashboard_client_count_changes(other.id), before);
    cr_assert_eq(dashboard_client_count_changes(org.id), own,
                 "a change without effect is not recorded");
    expect_status(dashboard_client_get(&owner, "/data/session"), 200);
}

/* The list has only the `own` items of the session's organization. */
static void expect_no_more(const char *path, const char *list, size_t own)
{
    struct client_response *response = dashboard_client_get(&session, path);

    expect_status(response, 200);
    cr_expect_eq(json_array_size(list[0] != '\0' ? at(response, list) : response->json), own,
                 "%s: %s", path, response->body);
}

/* As a filter, another organization's id finds nothing; its cursors are refused. */
Test(dashboard_roles, end_at_the_organization_in_filters_and_cursors)
{
    struct dashboard_session owner;
    struct resources has;
    struct client_response *page;

    open_session("owner");
    org_new(&other);
    dashboard_client_new_user(&owner, other.id, "owner");
    has = make_resources(&owner);
    (void)new_conversation(&other, "theirs too", "them");
    expect_no_more(format("/data/conversations?contact=%s", has.contact), "conversations", 0);
    expect_no_more("/data/conversations?contact=them", "conversations", 0);
    expect_no_more(format("/data/conversations?starting_after=%s", has.conversation),
                   "conversations", 0);
    expect_no_more(format("/data/audit?conversation_id=%s", has.conversation), "data", 0);
    expect_no_more(format("/data/audit?api_key_id=%s", other.full_key_id), "data", 0);
    expect_no_more(format("/data/keys?before=%s", has.key), "", 2); /* its own */
    expect_no_more(format("/data/webhooks?before=%s", has.endpoint), "", 0);
    expect_no_more(format("/data/members?before=%s", has.member), "members", 1); /* the session's */

    page = dashboard_client_get(&owner, "/data/audit?per_page=1");
    expect_error(dashboard_client_get(&session, format("/data/audit?per_page=1&starting_after=%s",
                                                       text_at(page, "pages.next.starting_after"))),
                 400, "invalid_cursor", "starting_after");
    changes_await(owner.organization_id);
    page = dashboard_client_get(&owner, "/data/changes?per_page=1");
    expect_error(dashboard_client_get(&session, format("/data/changes?per_page=1&starting_after=%s",
                                                       text_at(page, "pages.next.starting_after"))),
                 400, "invalid_cursor", "starting_after");
}

/* Another organization's id in a header has no effect, and in a parameter or body it is refused. */
Test(dashboard_roles, cannot_be_asked_for_elsewhere)
{
    const char *headers[] = {NULL, NULL, NULL};
    struct client_response *response;

    open_session("owner");
    org_new(&other);
    headers[0] = format("Organization-Id: %s", other.id);
    headers[1] = format("User-Id: %s", other.id);
    response = dashboard_client_send(&(struct dashboard_client_request){
        .path = "/data/organization", .session = &session, .headers = headers});
    expect_text(response, "id", org.id);
    expect_status(
        dashboard_client_change(&session, "PUT", "/data/organization",
                                format("{\"plan\":\"free\",\"organization_id\":\"%s\"}", other.id)),
        400);
    expect_status(dashboard_client_change(
                      &session, "POST", "/data/webhooks",
                      format("{\"url\":\"https://example.com/\",\"events\":[\"ticket.created\"],"
                             "\"organization_id\":\"%s\"}",
                             other.id)),
                  400);
    expect_status(dashboard_client_get(&session, format("/data/keys?organization_id=%s", other.id)),
                  400);
    expect_text(dashboard_client_get(&session, "/data/organization"), "plan", "growth");
}

/* -- what each role may not do ----------------------------------------------------------------- */

struct row {
    const char *method, *path, *body;
};

static const struct row for_admins[] = {
    {"POST", "/data/keys", "{\"name\":\"k\",\"scope\":\"read\"}"},
    {"POST", "/data/keys/%s/rotate", "{}"},
    {"POST", "/data/keys/%s/revoke", NULL},
    {"PUT", "/data/policy", "{\"require_https\":true}"},
    {"POST", "/data/audit/verify", NULL},
    {"POST", "/data/webhooks", "{}"},
    {"PUT", "/data/webhooks/%s", "{\"enabled\":true}"},
    {"DELETE", "/data/webhooks/%s", NULL},
    {"POST", "/data/webhooks/%s/test", NULL},
    {"POST", "/data/webhooks/%s/resend-failed", "{\"since\":1}"},
    {"POST", "/data/deliveries/%s/resend", NULL},
    {"PUT", "/data/conversations/%s/status", "{\"status\":\"resolved\"}"},
    {"DELETE", "/data/conversations/%s", NULL},
    {"POST", "/data/contacts/%s/erase", NULL},
    {"POST", "/data/members", "{\"email\":\"a@b.example\",\"role\":\"member\"}"},
    {"PUT", "/data/members/%s", "{\"role\":\"owner\"}"},
    {"DELETE", "/data/members/%s", NULL},
};

/* `%s` becomes a valid id, so that only the role can be the reason for a refusal. */
static const char *with_id(const char *path)
{
    const char *mark = strstr(path, "%s");

    return mark == NULL ? path
                        : format("%.*s%s%s", (int)(mark - path), path, org.read_key_id, mark + 2);
}

Test(dashboard_roles, let_members_look_and_change_nothing)
{
    long long before;

    open_session("member");
    before = dashboard_client_count_changes(org.id);
    for (size_t i = 0; i < ARRAY_SIZE(for_admins); i++) {
        const struct row *row = &for_admins[i];

        expect_error(dashboard_client_change(&session, row->method, with_id(row->path), row->body),
                     403, "insufficient_role", NULL);
    }
    expect_error(
        dashboard_client_change(&session, "PUT", "/data/organization", "{\"plan\":\"free\"}"), 403,
        "insufficient_role", NULL);
    cr_assert_eq(dashboard_client_count_changes(org.id), before);
    expect_status(dashboard_client_get(&session, "/data/keys"), 200);
    expect_status(dashboard_client_get(&session, "/data/members"), 200);
    expect_status(dashboard_client_get(&session, "/data/audit"), 200);
    expect_status(dashboard_client_get(&session, "/data/changes"), 200);
}

Test(dashboard_roles, show_members_only_the_hosts_of_endpoints)
{
    struct dashboard_session admin;
    struct client_response *list;

    open_session("member");
    dashboard_client_new_user(&admin, org.id, "admin");
    json_decref(convctl("webhook", "create", "--org", org.id, "--url",
                        "https://example.com:8443/hook/hush?token=hush", "--event",
                        "conversation.created", NULL));
    list = dashboard_client_get(&session, "/data/webhooks");
    expect_status(list, 200);
    cr_assert_null(strstr(list->body, "hush"), "%s", list->body);
    cr_assert_not_null(strstr(list->body, "https://example.com:8443/"));
    list = dashboard_client_get(&admin, "/data/webhooks");
    cr_assert_not_null(strstr(list->body, "hook/hush?token=hush"));
}

Test(dashboard_roles, reserve_the_rights_of_owners)
{
    struct dashboard_session owner;

    open_session("admin");
    dashboard_client_new_user(&owner, org.id, "owner");
    expect_error(
        dashboard_client_change(&session, "PUT", "/data/organization", "{\"plan\":\"free\"}"), 403,
        "insufficient_role", NULL);
    expect_error(dashboard_client_change(&session, "PUT",
                                         format("/data/members/%s", session.user_id),
                                         "{\"role\":\"owner\"}"),
                 403, "insufficient_role", NULL);
    expect_error(dashboard_client_change(&session, "DELETE",
                                         format("/data/members/%s", owner.user_id), NULL),
                 403, "insufficient_role", NULL);
    expect_error(dashboard_client_change(&session, "POST", "/data/members",
                                         "{\"email\":\"x@y.example\",\"role\":\"owner\"}"),
                 403, "insufficient_role", NULL);
    expect_status(dashboard_client_change(&session, "POST", "/data/keys",
                                          "{\"name\":\"k\",\"scope\":\"full\"}"),
                  200);
}

/* -- the state of the services, which is the deployment's --------------------------------------- */

Test(dashboard_roles, show_the_state_of_the_services_only_to_owners)
{
    static const char *const roles[] = {"member", "admin"};
    struct client_response *response;
    const json_t *services;

    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        open_session(roles[i]);
        expect_error(dashboard_client_get(&session, "/data/services"), 403, "insufficient_role",
                     NULL);
    }
    expect_error(dashboard_client_get(NULL, "/data/services"), 401, "unauthorized", NULL);
    open_session("owner");
    response = dashboard_client_get(&session, "/data/services");
    expect_status(response, 200);
    expect_members(response->json, "as_of services");
    services = at(response, "services");
    cr_assert_eq(json_array_size(services), 5);
    for (size_t i = 0; i < json_array_size(services); i++) {
        expect_members(json_array_get(services, i), "name replicas ready lag_s");
        cr_expect_geq(integer_at(response, format("services[%zu].ready", i)), 1, "%s",
                      response->body);
    }
}

Test(dashboard_roles, do_not_show_the_services_if_operators_hide_them)
{
    struct replica dashboard;
    struct client_response *response;

    replica_start_of(&dashboard, "dashboard",
                     (const char *const[]){"DASHBOARD_SHOW_SERVICES=false", NULL});
    cr_assert_eq(setenv("DASHBOARD_URL", format("http://127.0.0.1:%d", dashboard.port), 1), 0);
    open_session("owner");
    expect_error(dashboard_client_get(&session, "/data/services"), 404, "not_found", NULL);
    response = dashboard_client_get(&session, "/data/session");
    cr_expect(json_is_false(at(response, "shows_services")));
    replica_stop(&dashboard);
}

/* The change log has who changed what, and from where, but never a secret. */
Test(dashboard_roles, are_recorded_with_every_change)
{
    struct client_response *made, *changes;

    open_session("admin");
    made = dashboard_client_change(&session, "POST", "/data/keys",
                                   "{\"name\":\"mine\",\"scope\":\"read\"}");
    expect_status(made, 200);
    changes_await(session.organization_id);
    changes = dashboard_client_get(&session, "/data/changes?per_page=1");
    expect_text(changes, "changes[0].change", "key.create");
    expect_text(changes, "changes[0].who", session.email);
    expect_text(changes, "changes[0].user_id", session.user_id);
    expect_text(changes, "changes[0].address", "127.0.0.1");
    expect_text(changes, "changes[0].target", text_at(made, "id"));
    cr_assert_null(strstr(changes->body, text_at(made, "token")));
}
