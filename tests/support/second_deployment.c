#include "tests/support/second_deployment.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/api_client.h"
#include "tests/support/sql.h"

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

const char *second_deployment_database_url(const struct second_deployment *deployment,
                                           const char *user)
{
    return format("postgresql://%s@127.0.0.1:%u/conversations", user, deployment->database.port);
}

/* The roles have passwords; this server does not require them. */
static void restore(const struct second_deployment *deployment)
{
    const char *folder = stack_setting("RUN_DIR"), *from = stack_setting("DATABASE_URL");
    const char *server = deployment->database.url;

    run(format("pg_dumpall --roles-only -d '%s' > '%s/roles.sql'", from, folder));
    run(format("pg_dump -Fc -d '%s' -f '%s/backup'", from, folder));
    run(format("psql -q -d '%s' -f '%s/roles.sql'", server, folder));
    run(format("pg_restore --exit-on-error --create -d '%s' '%s/backup'", server, folder));
}

void second_deployment_migrate(const struct second_deployment *deployment)
{
    run(format("DATABASE_URL='%s' '%s/migrate' >/dev/null",
               second_deployment_database_url(deployment, "postgres"), stack_setting("BIN_DIR")));
}

void second_deployment_open(struct second_deployment *deployment)
{
    postgres_server_prepare(&deployment->database);
    postgres_server_start(&deployment->database);
    restore(deployment);
    second_deployment_migrate(deployment);
    nats_server_prepare(&deployment->bus, "max_payload: 8MB\n");
    nats_server_start(&deployment->bus);
}

void second_deployment_close(struct second_deployment *deployment)
{
    nats_server_stop(&deployment->bus);
    postgres_server_stop(&deployment->database);
}

void second_deployment_start(const struct second_deployment *deployment, struct replica *replica,
                             const char *service, const char *setting, const char *another)
{
    const char *database = second_deployment_database_url(deployment, format("conv_%s", service));

    replica_start_of(replica, service,
                     (const char *const[]){format("NATS_URL=%s", deployment->bus.url),
                                           format("DATABASE_URL=%s", database), setting,
                                           setting != NULL ? another : NULL, NULL});
}

void second_deployment_launch(const struct second_deployment *deployment, struct replica *replica,
                              const char *service)
{
    const char *database = second_deployment_database_url(deployment, format("conv_%s", service));

    replica_launch_of(replica, service,
                      (const char *const[]){format("NATS_URL=%s", deployment->bus.url),
                                            format("DATABASE_URL=%s", database), NULL});
}
