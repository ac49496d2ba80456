#include "tests/support/twin.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/api.h"
#include "tests/support/sql.h"

#define PG "/usr/lib/postgresql/15/bin/"

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

const char *twin_database_url(const struct twin *twin, const char *user)
{
    return format("postgresql://%s@127.0.0.1:%u/conversations", user, twin->database.port);
}

/* Passwords come with the roles; this server asks for none. */
static void restore(const struct twin *twin)
{
    const char *folder = stack_setting("RUN_DIR"), *from = stack_setting("DATABASE_URL");
    const char *server = twin->database.url;

    run(format(PG "pg_dumpall --roles-only -d '%s' > %s/roles.sql", from, folder));
    run(format(PG "pg_dump -Fc -d '%s' -f %s/backup", from, folder));
    run(format(PG "psql -q -d '%s' -f %s/roles.sql", server, folder));
    run(format(PG "pg_restore --exit-on-error --create -d '%s' %s/backup", server, folder));
}

void twin_open(struct twin *twin)
{
    postgres_server_prepare(&twin->database);
    postgres_server_raise(&twin->database,
                          (uint64_t)sql_integer("SELECT coalesce(max(last_xid::text::bigint), 0)"
                                                "  FROM audit.blocks",
                                                NULL));
    postgres_server_start(&twin->database);
    restore(twin);
    nats_server_prepare(&twin->bus, "max_payload: 8MB\n");
    nats_server_start(&twin->bus);
}

void twin_close(struct twin *twin)
{
    nats_server_stop(&twin->bus);
    postgres_server_stop(&twin->database);
}

void twin_start(const struct twin *twin, struct replica *replica, const char *service,
                const char *setting, const char *another)
{
    const char *database = twin_database_url(twin, format("conv_%s", service));

    replica_start_of(replica, service,
                     (const char *const[]){format("NATS_URL=%s", twin->bus.url),
                                           format("DATABASE_URL=%s", database), setting,
                                           setting != NULL ? another : NULL, NULL});
}
