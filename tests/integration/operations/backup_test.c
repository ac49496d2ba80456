/*
 * A backup as docs/operations.md describes it, restored on another server: the services run on it,
 * and the audit log is whole.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/second_deployment.h"

TestSuite(backup, .init = stack_have_alone);

static const char *const services[] = {"audit", "access", "conversation", "gateway"};
enum { N_SERVICES = ARRAY_SIZE(services), GATEWAY = N_SERVICES - 1 };

/* Fails when the audit log is not whole. */
static long long count_unsealed(const struct second_deployment *deployment, const struct org *org)
{
    json_t *result =
        convctl("--nats", deployment->bus.url, "audit", "verify", "--org", org->id, NULL);
    char *text = json_dumps(result, 0);
    long long n = json_integer_value(json_object_get(result, "unsealed"));

    cr_assert(json_is_true(json_object_get(result, "ok")), "%s", text);
    cr_assert_gt(json_integer_value(json_object_get(result, "entries")), 0);
    free(text);
    json_decref(result);
    return n;
}

static bool has_sealed_all(void *closure)
{
    const void *const *of = closure;

    return count_unsealed(of[0], of[1]) == 0;
}

/* What belongs to the database and not to anything in it, a line each: a restore that makes the
   database by other means forgets who may connect, and how roles' statements are planned. */
static const char properties_query[] =
    "SELECT string_agg(line, E'\\n' ORDER BY line)"
    "  FROM pg_database AS it,"
    "       LATERAL (SELECT format('%s, %s, of %s', pg_encoding_to_char(encoding), datcollate,"
    "                              datdba::regrole)"
    "                 UNION ALL"
    "                SELECT unnest(datacl)::text"
    "                 UNION ALL"
    "                SELECT format('%s: %s', setrole::regrole, unnest(setconfig))"
    "                  FROM pg_db_role_setting"
    "                 WHERE setdatabase = it.oid) AS properties (line)"
    " WHERE datname = current_database()";

static void expect_same_properties(const struct second_deployment *deployment)
{
    char *before = postgres_text(stack_setting("DATABASE_URL"), properties_query);
    char *after =
        postgres_text(second_deployment_database_url(deployment, "postgres"), properties_query);

    cr_assert(before != NULL && after != NULL);
    cr_assert_not_null(strstr(before, "conv_conversation: plan_cache_mode=force_generic_plan"));
    cr_assert_not_null(strstr(before, "conv_conversation=c/"), "%s", before);
    cr_expect_str_eq(after, before);
    free(before);
    free(after);
}

Test(backup, brings_everything_back_on_another_server)
{
    struct replica replicas[N_SERVICES];
    struct second_deployment deployment;
    struct org org;
    struct client_response *before, *after;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "kept", "ada");
    before = read_conversation(&org, id);
    sealed_log_await_seal(&org);
    second_deployment_open(&deployment);
    expect_same_properties(&deployment);
    for (int i = 0; i < N_SERVICES; i++)
        second_deployment_start(&deployment, &replicas[i], services[i], NULL, NULL);

    after = http_send(&(struct client_request){.method = "GET",
                                               .base = replicas[GATEWAY].base,
                                               .path = format("/conversations/%s", id),
                                               .key = org.full_key});
    cr_assert_eq(after->status, 200);
    cr_assert_str_eq(after->body, before->body);
    (void)count_unsealed(&deployment, &org);
    /* What comes now is sealed behind what was there. */
    expect_status(
        http_send(&(struct client_request){
            .method = "GET", .base = replicas[GATEWAY].base, .path = "/ping", .key = org.full_key}),
        200);
    cr_assert(stack_wait(has_sealed_all, (const void *[]){&deployment, &org}, 20000));

    for (int i = N_SERVICES - 1; i >= 0; i--)
        replica_stop(&replicas[i]);
    second_deployment_close(&deployment);
}
