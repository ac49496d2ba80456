/* Changes the secrets of a deployment while it serves, in the steps of docs/operations.md. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/second_deployment.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"

TestSuite(rotation, .init = stack_have_alone);

#define NEW_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* -- the key that endpoints' secrets are sealed with ---------------------------------------------
 */

static const struct second_deployment *deployment;
static const char *endpoint;

static const char *sealed_now(void)
{
    return format("%lld", (long long)postgres_integer(
                              second_deployment_database_url(deployment, "postgres"),
                              format("SELECT hashtextextended(encode(secret, 'hex'), 0)"
                                     "  FROM webhook.endpoints WHERE id = '%s'",
                                     endpoint)));
}

static bool is_rekeyed(void *closure)
{
    return strcmp(sealed_now(), closure) != 0;
}

struct outcome {
    const struct org *org;
    char error[64];
};

static bool has_ended(void *closure)
{
    struct outcome *outcome = closure;
    json_t *deliveries = convctl("--nats", deployment->bus.url, "webhook", "deliveries", "--org",
                                 outcome->org->id, endpoint, NULL);
    const char *error = json_string_value(json_object_get(json_array_get(deliveries, 0), "error"));

    if (error != NULL)
        snprintf(outcome->error, sizeof(outcome->error), "%s", error);
    json_decref(deliveries);
    return error != NULL;
}

/* The error of a test event: nothing listens at the endpoint, so the error is of connecting, or of
   signing. */
static const char *try_to_send(const struct org *org)
{
    static struct outcome outcome;

    outcome = (struct outcome){.org = org};
    json_decref(convctl("--nats", deployment->bus.url, "webhook", "test", "--org", org->id,
                        endpoint, NULL));
    cr_assert(stack_wait(has_ended, &outcome, 20000));
    return outcome.error;
}

Test(rotation, of_the_webhook_key_encrypts_all_secrets_again)
{
    const char *old = stack_setting_of("webhook-0", "WEBHOOK_SECRET_KEY");
    struct second_deployment made;
    struct replica access, webhook;
    struct org org;
    json_t *created;

    org_new(&org);
    created = convctl("webhook", "create", "--org", org.id, "--url",
                      "https://127.0.0.1:1024/nobody", "--event", "conversation.created", NULL);
    endpoint = json_string_value(json_object_get(created, "id"));
    second_deployment_open(&made);
    deployment = &made;

    second_deployment_start(deployment, &access, "access", NULL, NULL);
    second_deployment_start(deployment, &webhook, "webhook", "WEBHOOK_SECRET_KEY=" NEW_KEY, NULL);
    cr_assert_str_eq(try_to_send(&org), "internal", "the new key alone opens nothing yet");
    replica_stop(&webhook);
    postgres_do(second_deployment_database_url(deployment, "postgres"),
                "TRUNCATE webhook.deliveries");

    {
        const char *before = sealed_now();

        second_deployment_start(deployment, &webhook, "webhook", "WEBHOOK_SECRET_KEY=" NEW_KEY,
                                format("WEBHOOK_SECRET_KEY_PREVIOUS=%s", old));
        cr_assert(stack_wait(is_rekeyed, (void *)before, 20000));
        replica_stop(&webhook);
    }
    second_deployment_start(deployment, &webhook, "webhook", "WEBHOOK_SECRET_KEY=" NEW_KEY, NULL);
    cr_assert_str_eq(try_to_send(&org), "connect");
    replica_stop(&webhook);
    replica_stop(&access);
    second_deployment_close(&made);
    json_decref(created);
}

/* -- a password of the database ------------------------------------------------------------------
 */

static void migrate_with(const char *password)
{
    cr_assert_eq(system(format("CONVERSATION_DB_PASSWORD='%s' %s >/dev/null 2>&1", password,
                               stack_program("migrate"))),
                 0);
}

/* The same URL with another password. */
static const char *url_with(const char *url, const char *password)
{
    const char *user = strstr(url, "://"), *at = strrchr(url, '@');

    cr_assert(user != NULL && at != NULL);
    return format("DATABASE_URL=postgresql://conv_conversation:%s%s", password, at);
}

Test(rotation, of_a_password_of_the_database_costs_no_request)
{
    const char *url = stack_setting_of("conversation-0", "DATABASE_URL");
    char old[128] = "";
    struct replica second;
    struct org org;
    struct load *load;

    cr_assert_eq(sscanf(url, "postgresql://conv_conversation:%127[^@]@", old), 1);
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    load = load_start(&org, 60);
    migrate_with("changed");
    replica_start_of(&second, "conversation",
                     (const char *const[]){url_with(url, "changed"), NULL});
    replica_stop(&second);
    migrate_with(old);
    load_stop(load);
    load_tell_failures(load, 0);
    cr_assert_eq(load_last_failure_us(load), 0);
    load_check_consistency(load);
}

/* -- the key that blocks of the audit log are signed with ----------------------------------------
 */

/* Whether `convctl audit verify` passes in the second deployment; `key` gets the public key of the
   last block. */
static bool is_whole(const struct org *org, char key[65])
{
    json_t *result =
        convctl("--nats", deployment->bus.url, "audit", "verify", "--org", org->id, NULL);
    const char *found =
        json_string_value(json_object_get(json_object_get(result, "head"), "public_key"));
    bool is_ok = json_is_true(json_object_get(result, "ok"));

    snprintf(key, 65, "%s", found != NULL ? found : "");
    json_decref(result);
    return is_ok;
}

struct signer {
    const struct org *org;
    const char *before;
};

static bool has_another_signer(void *closure)
{
    const struct signer *signer = closure;
    char now[65];

    cr_assert(is_whole(signer->org, now));
    return strcmp(now, signer->before) != 0;
}

Test(rotation, of_the_signing_key_leaves_the_audit_log_whole)
{
    struct replica audit, access, gateway;
    struct second_deployment made;
    struct org org;
    char old[65], now[65];

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping"), 200);
    second_deployment_open(&made);
    deployment = &made;
    second_deployment_start(deployment, &access, "access", NULL, NULL);
    second_deployment_start(deployment, &audit, "audit", NULL, NULL);
    cr_assert(stack_wait(has_another_signer, &(struct signer){&org, ""}, 20000));
    cr_assert(is_whole(&org, old));
    replica_stop(&audit);

    second_deployment_start(deployment, &audit, "audit", "AUDIT_SIGNING_KEY=" NEW_KEY, NULL);
    cr_assert_not(is_whole(&org, now), "the key of the old blocks is unknown");
    replica_stop(&audit);

    second_deployment_start(deployment, &audit, "audit", "AUDIT_SIGNING_KEY=" NEW_KEY,
                            format("AUDIT_PUBLIC_KEYS=%s", old));
    second_deployment_start(deployment, &gateway, "gateway", NULL, NULL);
    expect_status(http_send(&(struct client_request){
                      .method = "GET", .base = gateway.base, .path = "/ping", .key = org.full_key}),
                  200);
    cr_assert(stack_wait(has_another_signer, &(struct signer){&org, old}, 20000));
    replica_stop(&gateway);
    replica_stop(&access);
    replica_stop(&audit);
    second_deployment_close(&made);
}
