/* convctl's answers, the rule against an empty IP allowlist, and two operators at the same time. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "proto/subject.h"
#include "tests/support/never_free.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(operators, .init = stack_share);

enum { ROUNDS = 50 };

static void expect_whole_list(const json_t *list, size_t n)
{
    cr_assert_eq(json_array_size(list), n);
    for (size_t i = 1; i < n; i++)
        cr_assert_lt(strcmp(json_string_value(json_object_get(json_array_get(list, i), "id")),
                            json_string_value(json_object_get(json_array_get(list, i - 1), "id"))),
                     0, "each once, newest first");
}

Test(operators, list_all_keys_however_many_there_are)
{
    enum { MANY = 2300 };
    struct org org;

    org_new(&org);
    cr_assert_eq(sql_integer("WITH made AS (INSERT INTO access.api_keys (organization_id,"
                             " api_key_id, token_hash, name, scope, prefix, last_four) SELECT"
                             " $1::uuid, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea),"
                             " n::text, 'read', 'svc_read_', 'last' FROM generate_series(1,"
                             " $2::int) AS n RETURNING 1) SELECT count(*) FROM made",
                             org.id, format("%d", MANY - 2), NULL),
                 MANY - 2);
    expect_whole_list(never_free(convctl("key", "list", "--org", org.id, NULL)), MANY);
}

/* What convctl prints on a terminal; `script` provides one. */
static const char *on_terminal(const char *command)
{
    static char text[64 * 1024];
    FILE *from = popen(format("script -qec \"'%s/convctl' %s\" /dev/null </dev/null",
                              stack_setting("BIN_DIR"), command),
                       "r");
    size_t n;

    cr_assert_not_null(from);
    n = fread(text, 1, sizeof(text) - 1, from);
    text[n] = '\0';
    cr_assert_eq(pclose(from), 0, "%s: %s", command, text);
    return text;
}

/* One JSON member on each line; the terminal ends lines with \r\n. */
Test(operators, read_answers_line_by_line_on_a_terminal)
{
    struct org org;
    const char *text;

    org_new(&org);
    text = on_terminal(format("org get %s", org.id));
    cr_expect_not_null(strstr(text, format("{\r\n  \"id\": \"%s\",\r\n  \"", org.id)), "%s", text);
    text = on_terminal(format("key list --org %s", org.id));
    cr_expect_not_null(strstr(text, "[\r\n  {\r\n    \"id\": \""), "%s", text);
    cr_expect_not_null(strstr(text, "\r\n  }\r\n]\r\n"), "%s", text);
}

static json_int_t count_of(const char *plan)
{
    json_t *response = plan != NULL ? never_free(convctl("org", "count", "--plan", plan, NULL))
                                    : never_free(convctl("org", "count", NULL));

    cr_assert(json_is_integer(json_object_get(response, "count")));
    return json_integer_value(json_object_get(response, "count"));
}

/* Other tests make organizations meanwhile; none removes one. */
Test(operators, count_organizations_all_of_them_or_those_on_a_plan)
{
    const json_int_t all = count_of(NULL), enterprise = count_of("enterprise");
    struct org org;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--plan", "enterprise", NULL));
    cr_expect_gt(count_of(NULL), all);
    cr_expect_gt(count_of("enterprise"), enterprise);
    cr_expect_geq(count_of(NULL), count_of("enterprise"));
}

Test(operators, cannot_leave_an_empty_list_on_even_in_the_database_itself)
{
    static const char *const statements[] = {
        "UPDATE access.organizations SET ip_allowlist_enabled = true WHERE organization_id = '%s'",
        "UPDATE access.organizations SET ip_allowlist_enabled = true, ip_allowlist = '{}'"
        " WHERE organization_id = '%s'",
    };
    static const char *const roles[] = {NULL, "conv_access"};
    static const char check_violation[] = "23514";
    struct org org;

    org_new(&org);
    for (size_t r = 0; r < 2; r++)
        for (size_t s = 0; s < 2; s++) {
            char text[256];
            const char *hole = strstr(statements[s], "%s");

            snprintf(text, sizeof(text), "%.*s%s%s", (int)(hole - statements[s]), statements[s],
                     org.id, hole + 2);
            cr_expect_str_eq(sql_state_as(roles[r], text), check_violation, "%s", text);
        }
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1",
                        "--ip-allowlist-enabled", "true", NULL));
    cr_expect_str_eq(
        sql_state_as("conv_access", format("UPDATE access.organizations SET ip_allowlist = '{}'"
                                           " WHERE organization_id = '%s'",
                                           org.id)),
        check_violation);
    cr_expect_str_eq(
        sql_state_as("conv_access", format("UPDATE access.organizations SET ip_allowlist_enabled ="
                                           " NULL WHERE organization_id = '%s'",
                                           org.id)),
        "23502");
}

Test(operators, can_undo_their_settings)
{
    struct org org;
    char code[64];

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "7", NULL));
    cr_expect(json_is_null(json_object_get(
        never_free(convctl("org", "set", org.id, "--rate-limit", "default", NULL)), "rate_limit")));
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1",
                        "--ip-allowlist-enabled", "true", NULL));
    cr_expect_eq(convctl_fails(code, "policy", "set", "--org", org.id, "--no-ip", NULL), 1);
    cr_expect_str_eq(code, "parameter_invalid", "not while the list is on");
    cr_expect_eq(json_array_size(
                     json_object_get(never_free(convctl("policy", "set", "--org", org.id, "--no-ip",
                                                        "--ip-allowlist-enabled", "false", NULL)),
                                     "ip_allowlist")),
                 0);
}

Test(operators, see_members_as_an_array_like_any_list)
{
    struct org org;

    org_new(&org);
    json_decref(
        convctl("user", "create", "--org", org.id, "--email", "a@b.c", "--role", "owner", NULL));
    cr_expect_eq(json_array_size(never_free(convctl("member", "list", "--org", org.id, NULL))), 1);
}

Test(operators, list_all_members_however_many_there_are)
{
    enum { MANY = 2300 };
    struct org org;

    org_new(&org);
    /* The longest emails, so that the size of a message limits the page. */
    cr_assert_eq(sql_integer("WITH made AS (INSERT INTO access.users (organization_id, user_id,"
                             " email, role, password_hash) SELECT $1::uuid, gen_random_uuid(),"
                             " n::text || repeat(chr(128512), 240) || '@b.c', 'member', 'x' FROM"
                             " generate_series(1, $2::int) AS n RETURNING 1)"
                             " SELECT count(*) FROM made",
                             org.id, format("%d", MANY), NULL),
                 MANY);
    expect_whole_list(never_free(convctl("member", "list", "--org", org.id, NULL)), MANY);
}

static const char *new_user(const struct org *org, const char *email, const char *role)
{
    return json_string_value(
        json_object_get(never_free(convctl("user", "create", "--org", org->id, "--email", email,
                                           "--role", role, NULL)),
                        "id"));
}

Test(operators, give_members_another_role_and_remove_them)
{
    struct org org;
    const char *owner, *other;
    char code[64];

    org_new(&org);
    owner = new_user(&org, "owner@b.c", "owner");
    other = new_user(&org, "other@b.c", "member");
    cr_expect_str_eq(
        json_string_value(json_object_get(
            never_free(convctl("member", "set", "--org", org.id, other, "--role", "admin", NULL)),
            "role")),
        "admin");
    cr_expect_eq(
        convctl_fails(code, "member", "set", "--org", org.id, owner, "--role", "member", NULL), 1);
    cr_expect_str_eq(code, "last_owner");
    json_decref(convctl("member", "remove", "--org", org.id, other, NULL));
    cr_expect_eq(convctl_fails(code, "member", "remove", "--org", org.id, owner, NULL), 1);
    cr_expect_str_eq(code, "last_owner");
    cr_expect_eq(json_array_size(never_free(convctl("member", "list", "--org", org.id, NULL))), 1);
}

/* -- an unknown organization ------------------------------------------------------------------- */

static int64_t rows_of(const char *organization)
{
    return sql_integer(
        "SELECT (SELECT count(*) FROM audit.minimums WHERE organization_id = $1::uuid)"
        " + (SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid)"
        " + (SELECT count(*) FROM webhook.endpoints WHERE organization_id = $1::uuid)"
        " + (SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid)"
        " + (SELECT count(*) FROM conversation.conversations"
        "     WHERE organization_id = $1::uuid)",
        organization, NULL);
}

Test(operators, get_not_found_for_an_unknown_organization_and_write_nothing)
{
    static const char nobody[] = "01890a5d-ac96-774b-bcce-b302099a8057";
    static const char *const calls[][6] = {
        {"audit", "verify"},
        {"audit", "export"},
        {"audit", "changes"},
        {"audit", "retain", "--months", "9"},
        {"conversation", "open", "--channel", "widget"},
        {"webhook", "create", "--url", "https://hooks.example.com/a", "--event", "ai.handoff"},
        {"webhook", "list"},
        {"event", "publish", "--type", "ticket.created", "--data",
         "{\"id\":\"t-1\",\"status\":\"open\"}"},
    };
    char code[64];

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        const char *const *call = calls[i];

        cr_expect_eq(convctl_fails(code, call[0], call[1], "--org", nobody, call[2], call[3],
                                   call[4], call[5], NULL),
                     1, "%s %s", call[0], call[1]);
        cr_expect_str_eq(code, "not_found", "%s %s", call[0], call[1]);
    }
    cr_expect_eq(rows_of(nobody), 0);
}

/* -- at the same time -------------------------------------------------------------------------- */

struct operator
{
    struct service_client *client;
    const struct org *org;
    const char *body;
    pthread_barrier_t *both;
    enum outcome outcome;
};

/* Sets the policy as convctl does. */
static enum outcome set_policy(const struct operator* operator)
{
    return service_client_call(operator->client, SUBJECT_ACCESS_POLICY_SET, operator->org->id,
                               "%s", operator->body)
        .outcome;
}

static void *set_with_the_other(void *closure)
{
    struct operator* operator= closure;

    pthread_barrier_wait(operator->both);
    operator->outcome = set_policy(operator);
    return NULL;
}

static void open_operators(struct operator operators[2], const struct org *org)
{
    for (int i = 0; i < 2; i++)
        operators[i] = (struct operator){.client = service_client_open(), .org = org};
}

static void set_together(struct operator operators[2], const char *first, const char *second)
{
    pthread_barrier_t both;
    pthread_t threads[2];

    operators[0].body = first;
    operators[1].body = second;
    cr_assert_eq(pthread_barrier_init(&both, NULL, 2), 0);
    for (int i = 0; i < 2; i++) {
        operators[i].both = &both;
        cr_assert_eq(pthread_create(&threads[i], NULL, set_with_the_other, &operators[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&both);
}

Test(operators, one_turning_the_list_on_and_one_emptying_it_do_not_both_succeed)
{
    struct operator operators[2];
    struct org org;
    int turned_on = 0;

    org_new(&org);
    open_operators(operators, &org);
    for (int i = 0; i < ROUNDS; i++) {
        operators[0].body = "{\"ip_allowlist_enabled\":false,\"ip_allowlist\":[\"192.0.2.1\"]}";
        cr_assert_eq(set_policy(&operators[0]), OUTCOME_OK);
        set_together(operators, "{\"ip_allowlist_enabled\":true}", "{\"ip_allowlist\":[]}");
        cr_assert_neq(operators[0].outcome, operators[1].outcome, "both or none");
        for (int j = 0; j < 2; j++)
            cr_assert(operators[j].outcome == OUTCOME_OK ||
                      operators[j].outcome == OUTCOME_PARAMETER_INVALID);
        cr_assert_eq(sql_integer("SELECT count(*) FROM access.organizations WHERE organization_id ="
                                 " $1::uuid AND ip_allowlist_enabled = (cardinality(ip_allowlist) ="
                                 " 1)",
                                 org.id, NULL),
                     1, "the changes were mixed");
        turned_on += operators[0].outcome == OUTCOME_OK;
    }
    fprintf(stderr, "the list was turned on %d times of %d\n", turned_on, ROUNDS);
    for (int i = 0; i < 2; i++)
        service_client_close(operators[i].client);
}

Test(operators, concurrent_changes_are_never_mixed)
{
    static const char first[] = "{\"require_https\":true,\"ip_allowlist_enabled\":true,"
                                "\"ip_allowlist\":[\"192.0.2.1\",\"192.0.2.2\"]}";
    static const char second[] = "{\"require_https\":false,\"ip_allowlist_enabled\":false,"
                                 "\"ip_allowlist\":[\"2001:db8::1\"]}";
    struct operator operators[2];
    struct org org;

    org_new(&org);
    open_operators(operators, &org);
    for (int i = 0; i < ROUNDS; i++) {
        const char *policy;

        set_together(operators, first, second);
        cr_assert(operators[0].outcome == OUTCOME_OK && operators[1].outcome == OUTCOME_OK);
        policy = sql_text("SELECT concat_ws(' ', require_https, ip_allowlist_enabled, ip_allowlist)"
                          " FROM access.organizations WHERE organization_id = $1::uuid",
                          org.id, NULL);
        cr_assert(strcmp(policy, "t t {192.0.2.1,192.0.2.2}") == 0 ||
                      strcmp(policy, "f f {2001:db8::1}") == 0,
                  "%s", policy);
    }
    for (int i = 0; i < 2; i++)
        service_client_close(operators[i].client);
}
