/*
 * A backup as docs/operations.md describes it, restored on another server: the services run on it,
 * and the trail is whole.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"

TestSuite(backup, .init = stack_have_alone, .timeout = 180);

#define PG "/usr/lib/postgresql/15/bin/"

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

static const char *url_on(const struct postgres_server *server, const char *user)
{
    return format("postgresql://%s@127.0.0.1:%u/conversations", user, server->port);
}

/* Passwords come with the roles; this server asks for none. */
static void back_up_and_restore(const struct postgres_server *server)
{
    const char *folder = stack_setting("RUN_DIR"), *from = stack_setting("DATABASE_URL");

    run(format(PG "pg_dumpall --roles-only -d '%s' > %s/roles.sql", from, folder));
    run(format(PG "pg_dump -Fc -d '%s' -f %s/backup", from, folder));
    run(format(PG "psql -q -d '%s' -f %s/roles.sql", server->url, folder));
    run(format(PG "createdb --maintenance-db='%s' -T template0 -E UTF8 --locale=C.UTF-8 "
                  "conversations",
               server->url));
    run(format(PG "pg_restore --exit-on-error -d '%s' %s/backup", url_on(server, "postgres"),
               folder));
}

static void start(struct replica *replica, const char *service, const struct nats_server *bus,
                  const struct postgres_server *server)
{
    replica_start_of(
        replica, service,
        (const char *const[]){format("NATS_URL=%s", bus->url),
                              format("DATABASE_URL=%s", url_on(server, format("conv_%s", service))),
                              NULL});
}

/* Asks the services on the restored database. */
static json_t *verify(const struct nats_server *bus, const struct org *org)
{
    return convctl("--nats", bus->url, "audit", "verify", "--org", org->id, NULL);
}

Test(backup, brings_everything_back_on_another_server)
{
    struct postgres_server server;
    struct nats_server bus;
    struct replica audit, access, conversation, gateway;
    struct org org;
    struct answer *before, *after;
    const char *id;
    json_t *verdict;

    org_new(&org);
    id = new_conversation(&org, "kept", "ada");
    before = read_conversation(&org, id);
    verdict = convctl("audit", "verify", "--org", org.id, NULL); /* returns once all is sealed */
    json_decref(verdict);

    postgres_server_prepare(&server);
    postgres_server_start(&server);
    back_up_and_restore(&server);
    nats_server_prepare(&bus, "max_payload: 8MB\n");
    nats_server_start(&bus);
    start(&audit, "audit", &bus, &server);
    start(&access, "access", &bus, &server);
    start(&conversation, "conversation", &bus, &server);
    replica_start(&gateway, (const char *const[]){format("NATS_URL=%s", bus.url), NULL});

    after = http_send(&(struct http_request){.method = "GET",
                                             .base = gateway.base,
                                             .path = format("/conversations/%s", id),
                                             .key = org.full_key});
    cr_assert_eq(after->status, 200);
    cr_assert_str_eq(after->body, before->body);
    verdict = verify(&bus, &org);
    cr_assert(json_is_true(json_object_get(verdict, "ok")));
    cr_assert_geq(json_integer_value(json_object_get(verdict, "entries")), 3);
    json_decref(verdict);

    replica_stop(&gateway);
    replica_stop(&conversation);
    replica_stop(&access);
    replica_stop(&audit);
    nats_server_stop(&bus);
    postgres_server_stop(&server);
}
