/* What is answered while the database is down, and while only the audit log cannot be written.
 * TEST_LONG=1: the database is down for longer than gateways remember known keys. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

/* The supervisor's lock file holds its pid. A stopped supervisor restarts nothing. */
#define SUPERVISOR "../lock"

enum {
    REMEMBERED_S = 60, /* how long gateways remember a known key without the database */
    SLACK_S = 3,
    OUTAGE_S = 2,
    LONG_OUTAGE_S = REMEMBERED_S + 2 * SLACK_S,
    ENDS_S = 4, /* the lifetime of a key that ends during the outage */
    ROUNDS = 10,
    REFUSED_WITHIN_US = 1500000, /* well before a command's deadline */
    TIMEOUT_MS = 30000,
};

/* -- without the database ------------------------------------------------------------------------
 */

static void bring_back(void)
{
    stack_signal(SUPERVISOR, SIGCONT);
}

/* However a test ends, the next one finds everything running. */
static void restore(void)
{
    bring_back();
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS), "the stack did not come back");
}

TestSuite(database, .init = stack_have_alone);

static bool is_unavailable(void *closure)
{
    return api_get(closure, "/ping")->status == 503;
}

static bool is_served(void *closure)
{
    return api_get(closure, "/ping")->status == 200;
}

static bool is_refused(void *closure)
{
    return api_get(closure, "/ping")->status == 401;
}

static bool is_denied(void *closure)
{
    return api_get(closure, "/ping")->status == 403;
}

/* After the notice of a change, a gateway relies on no key that it knew before. Returns when the
   gateway has received all notices so far and has looked up these keys again. */
static void let_notices_arrive(const struct org *org, const char *const *keys, size_t n)
{
    static const char *const values[] = {"true", "false"};

    for (size_t i = 0; i < 2; i++) {
        json_decref(convctl("policy", "set", "--org", org->id, "--require-https", values[i], NULL));
        for (size_t k = 0; k < n; k++)
            cr_assert(stack_wait(i == 0 ? is_denied : is_served, (char *)keys[k], TIMEOUT_MS));
    }
}

static void take_away(const struct org *org)
{
    stack_signal(SUPERVISOR, SIGSTOP);
    stack_signal("postgres", SIGQUIT);
    cr_assert(stack_wait(is_unavailable, (char *)org->full_key, TIMEOUT_MS));
}

static int refused, refused_late;

/* Every answer to a recognised key has the headers of the rate limit, and no other answer has. */
static void expect_unavailable(const struct client_response *response, bool recognised)
{
    expect_error(response, 503, "service_unavailable", "*");
    cr_assert_eq(http_header(response, "X-RateLimit-Limit") != NULL, recognised, "%s",
                 response->about);
    refused++;
    refused_late += response->took_us > REFUSED_WITHIN_US;
}

static void expect_outage(const struct org *org, const char *id, int number)
{
    char unknown[TOKEN_TEXT + 1];

    expect_unavailable(api_get(org->full_key, "/ping"), true);
    expect_unavailable(read_conversation(org, id), true);
    expect_unavailable(update_conversation(org, id, "{\"custom_attributes\":{\"lost\":1}}"), true);
    expect_unavailable(api_create(org->full_key,
                                  "{\"external_id\":\"lost-%d\",\"from\":{\"external_id\":\"c\"}}",
                                  number),
                       true);
    expect_unavailable(api_get(org->read_key, "/audit"), true);
    /* A denial cannot be recorded either. */
    expect_unavailable(api_create(org->read_key, "{}"), true);
    expect_unavailable(api_get(org->read_key, "/nothing"), true);
    /* An unknown key may be valid: made a moment ago. */
    token_make(TOKEN_LIVE, unknown);
    expect_unavailable(api_get(unknown, "/ping"), false);
    /* Keys that need no lookup are refused as usual. */
    expect_error(api_get("svc_live_malformed", "/ping"), 401, "unauthorized", "*");
    expect_error(api_get("svc_test_x", "/ping"), 403, "legacy_key_not_accepted", "*");
}

static int outage_s(void)
{
    return long_form_or(LONG_OUTAGE_S, OUTAGE_S);
}

/* The part of the outage in which known keys are remembered. */
static int64_t remembered_us(void)
{
    const int max_s = REMEMBERED_S - SLACK_S;

    return (outage_s() < max_s ? outage_s() : max_s) * 1000000LL;
}

/* A key that ends before the outage does; *ends_s is when. Returns when the gateway knows this key
   and the other two, which may take a busy machine more than one attempt. */
static char *key_that_ends(const struct org *org, int64_t *ends_s)
{
    for (int tries = 0; tries < 10; tries++) {
        json_t *key = convctl("key", "create", "--org", org->id, "--name", "short", "--scope",
                              "read", "--expires-in", format("%d", ENDS_S), NULL);
        char *token = format("%s", json_string_value(json_object_get(key, "token")));

        *ends_s = json_integer_value(json_object_get(key, "expires_at"));
        json_decref(key);
        let_notices_arrive(org, (const char *const[]){org->full_key, org->read_key}, 2);
        if (api_get(token, "/ping")->status == 200)
            return token;
    }
    cr_assert_fail("a key ends before it can be used");
    return NULL;
}

struct kept {
    const struct org *org;
    const char *id;
};

static bool is_read(void *closure)
{
    const struct kept *kept = closure;

    return read_conversation(kept->org, kept->id)->status == 200;
}

Test(database, that_is_down_causes_503_and_cached_keys_stay_valid, .fini = restore)
{
    struct org org;
    const char *id;
    char *short_lived, unknown[TOKEN_TEXT + 1];
    int64_t since_us, ends_s;
    int n = 0;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    short_lived = key_that_ends(&org, &ends_s);
    since_us = clock_mono_us();
    take_away(&org);
    while (n < ROUNDS || clock_mono_us() - since_us < remembered_us() ||
           clock_us() / 1000000 <= ends_s) {
        expect_outage(&org, id, n++);
        poll(NULL, 0, 100);
    }
    cr_assert_leq(refused_late, refused / 10, "%d of %d waited", refused_late, refused);
    expect_error(api_get(short_lived, "/ping"), 401, "unauthorized", "*");
    if (outage_s() > REMEMBERED_S) {
        poll(NULL, 0,
             (int)((since_us + (REMEMBERED_S + SLACK_S) * 1000000LL - clock_mono_us()) / 1000));
        expect_unavailable(api_get(org.full_key, "/ping"), false);
    }
    bring_back();
    cr_assert(stack_wait(is_served, org.full_key, TIMEOUT_MS));
    token_make(TOKEN_LIVE, unknown);
    cr_assert(stack_wait(is_refused, unknown, TIMEOUT_MS));
    /* Each service reconnects to the database on its own. */
    cr_assert(stack_wait(is_read, &(struct kept){&org, id}, TIMEOUT_MS));
    cr_assert_null(at(read_conversation(&org, id), "custom_attributes.lost"));
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 1, "a create that was answered 503 was executed");
    fprintf(stderr, "%d rounds of requests in an outage of %d s\n", n, outage_s());
}

/* -- without the access service ------------------------------------------------------------------
 */

static bool is_unknown_now(void *closure)
{
    char unknown[TOKEN_TEXT + 1];

    token_make(TOKEN_READ, unknown);
    return api_get(unknown, "/ping")->status == 503;
}

Test(database, is_needed_by_access_only_for_keys_that_are_not_known, .fini = restore)
{
    char unknown[TOKEN_TEXT + 1];
    struct org org;
    int64_t until_us;
    const char *id;
    int n = 0;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    let_notices_arrive(&org, (const char *const[]){org.full_key, org.read_key}, 2);
    until_us = clock_mono_us() + remembered_us();
    stack_signal(SUPERVISOR, SIGSTOP);
    stack_signal("access-0", SIGKILL);
    cr_assert(stack_wait(is_unknown_now, NULL, TIMEOUT_MS));
    for (; n < ROUNDS || clock_mono_us() < until_us; n++) {
        expect_status(api_get(org.read_key, "/ping"), 200);
        expect_status(read_conversation(&org, id), 200);
        expect_status(update_conversation(&org, id, "{\"custom_attributes\":{\"n\":%d}}", n), 200);
        cr_assert(is_unknown_now(NULL));
        poll(NULL, 0, 50);
    }
    bring_back();
    token_make(TOKEN_LIVE, unknown);
    cr_assert(stack_wait(is_refused, unknown, TIMEOUT_MS));
}

/* -- without the audit log -------------------------------------------------------------------- */

/* A concurrent writer may hold one partition and wait for another: retries after a deadlock. */
static void change_audit_log(const char *statement)
{
    const char *state;

    do
        state = sql_state_as(NULL, statement);
    while (strcmp(state, "40P01") == 0);
    cr_assert_str_eq(state, "00000");
}

static void block_audit_log(void)
{
    change_audit_log(
        "CREATE FUNCTION audit.full_disk() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$");
    change_audit_log("CREATE TRIGGER full_disk BEFORE INSERT ON audit.entries"
                     " FOR EACH ROW EXECUTE FUNCTION audit.full_disk()");
}

static void unblock_audit_log(void)
{
    change_audit_log("DROP FUNCTION IF EXISTS audit.full_disk() CASCADE");
}

static bool is_owned_up_to(void *response)
{
    FILE *log = fopen(format("%s/log/gateway-0.log", stack_setting("RUN_DIR")), "re");
    char line[8192];
    bool found = false;

    cr_assert_not_null(log);
    while (!found && fgets(line, sizeof(line), log) != NULL)
        found = strstr(line, "response without a confirmed audit entry") != NULL &&
                strstr(line, ((struct client_response *)response)->request_id) != NULL;
    fclose(log);
    return found;
}

/* The gateway's log has the response with its request id; nothing else records it. */
static void expect_owned_up_to(struct client_response *response)
{
    cr_assert(stack_wait(is_owned_up_to, response, 30000), "%s: %s is not in the log",
              response->about, response->request_id);
}

Test(database, that_takes_no_entries_has_reads_refused_and_writes_rolled_back,
     .fini = unblock_audit_log)
{
    struct org org;
    const char *id;
    struct client_response *responses[8];
    size_t n = 0;

    org_new(&org);
    webhook_watch(&org);
    id = new_conversation(&org, "e", "c");
    expect_status(api_get(org.read_key, "/ping"), 200);
    block_audit_log();
    responses[n++] = api_get(org.full_key, "/ping");
    responses[n++] = read_conversation(&org, id);
    responses[n++] = update_conversation(&org, id, "{\"custom_attributes\":{\"lost\":1}}");
    responses[n++] =
        api_create(org.full_key, "{\"external_id\":\"lost\",\"from\":{\"external_id\":\"d\"}}");
    responses[n++] = api_post(org.full_key, "/conversations/search",
                              "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                              "\"value\":\"c\"}}");
    responses[n++] = api_get(org.read_key, "/audit");
    responses[n++] = api_create(org.read_key, "{}");
    responses[n++] = api_get(org.read_key, "/nothing");
    for (size_t i = 0; i < n; i++) {
        expect_error(responses[i], 503, "service_unavailable", "*");
        expect_owned_up_to(responses[i]);
    }
    expect_error(api_get("svc_live_malformed", "/ping"), 401, "unauthorized", "*");
    unblock_audit_log();
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.conversations"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 1, "a create without an entry");
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 1, "an event of a create that was rolled back");
    cr_assert_null(at(read_conversation(&org, id), "custom_attributes.lost"));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE request_id = $1::uuid",
                                 responses[i]->request_id, NULL),
                     0);
    expect_status(
        api_create(org.full_key, "{\"external_id\":\"lost\",\"from\":{\"external_id\":\"d\"}}"),
        201);
}
