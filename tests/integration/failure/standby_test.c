/* Services on a standby of PostgreSQL, a copy of the stack's database that takes no writes:
   searches work there, and services that write wait until it is promoted. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/second_deployment.h"

TestSuite(standby, .init = stack_have_alone);

enum { WITHIN_MS = 30000 };

#define SEARCH                                                                                     \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"ada\"}}"

/* A URL with two hosts: first the standby, then the stack's own server, which takes writes. */
static const char *url_of_both(const struct second_deployment *deployment, const char *rest)
{
    const char *primary = strchr(stack_setting("DATABASE_URL"), '@') + 1;

    return format("DATABASE_URL=%s%s",
                  replica_database_url("search", format("127.0.0.1:%u,%.*s/conversations",
                                                        deployment->database.port,
                                                        (int)strcspn(primary, "/"), primary)),
                  rest);
}

/* How many links the search replica has to that server. */
static long long links_to(const char *url)
{
    return postgres_integer(url, "SELECT count(*) FROM pg_stat_activity"
                                 " WHERE application_name LIKE 'search%-test-%'");
}

Test(standby, answers_searches_that_the_gateway_records)
{
    struct second_deployment deployment;
    struct replica access, audit, search, gateway;
    struct client_response *found;
    struct org org;
    const char *id, *bus;

    org_new(&org);
    id = new_conversation(&org, "e", "ada");
    second_deployment_open(&deployment);
    postgres_server_demote(&deployment.database);
    bus = format("NATS_URL=%s", deployment.bus.url);
    replica_start_of(&access, "access", (const char *const[]){bus, NULL});
    replica_start_of(&audit, "audit", (const char *const[]){bus, NULL});
    replica_start_of(&search, "search",
                     (const char *const[]){
                         bus, "DATABASE_IS_REPLICA=true",
                         url_of_both(&deployment, "?target_session_attrs=prefer-standby"), NULL});
    replica_start(&gateway, (const char *const[]){bus, NULL});

    found = http_send(&(struct client_request){.method = "POST",
                                               .base = gateway.base,
                                               .path = "/conversations/search",
                                               .key = org.read_key,
                                               .body = SEARCH});
    expect_status(found, 200);
    expect_text(found, "conversations[0].id", id);
    expect_recorded(&org, found, "conversation.search");
    cr_assert_eq(links_to(stack_setting("DATABASE_URL")), 0);
    cr_assert_gt(links_to(second_deployment_database_url(&deployment, "postgres")), 0);

    replicas_stop((struct replica[]){gateway, search, audit, access}, 4);
    second_deployment_close(&deployment);
}

static const char *readiness_of(const struct replica *replica)
{
    const struct client_response *response = replica_ask(replica, "/readyz");

    return response->status == 503 ? response->body : "";
}

static bool wants_writes(void *closure)
{
    return strstr(readiness_of(closure), "no server of the database takes writes") != NULL;
}

Test(standby, is_not_used_for_writes_until_it_is_promoted)
{
    struct second_deployment deployment;
    struct replica conversation, audit;

    second_deployment_open(&deployment);
    postgres_server_demote(&deployment.database);
    second_deployment_launch(&deployment, &conversation, "conversation");
    second_deployment_launch(&deployment, &audit, "audit");
    cr_assert(stack_wait(wants_writes, &conversation, WITHIN_MS), "%s",
              readiness_of(&conversation));
    cr_assert(stack_wait(wants_writes, &audit, WITHIN_MS), "%s", readiness_of(&audit));
    postgres_server_promote(&deployment.database);
    replica_await(&conversation);
    replica_await(&audit);
    replicas_stop((struct replica[]){conversation, audit}, 2);
    second_deployment_close(&deployment);
}
