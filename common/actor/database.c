#include "common/actor/database.h"

#include <stdlib.h>
#include <string.h>

#include "actor_sql.h"
#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/db_url.h"

enum {
    CONNECT_MS = 50, /* how long a step waits for the database, and commands with it */
    /* A connection that was cut is back sooner if its server is up, and usually so if the server
       was restarted. Gateways wait this long for an answer about a key. */
    AWAY_US = 1000 * 1000,
};

/* Adds a statement to the registry unless the service has it: the same name means the same
   statement. Returns its number. */
static int enlist(struct database *database, const struct db_statement *statement, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(database->statements[i].name, statement->name) == 0) {
            must(strcmp(database->statements[i].text, statement->text) == 0);
            return (int)i;
        }
    database->statements[*n] = *statement;
    return (int)(*n)++;
}

/* Returns how many statements there are. */
static size_t collect_statements(struct database *database, const struct service *service)
{
    const struct audit_sink *audit_sink = service->audit_sink;
    size_t n = service->n_statements;

    database->statements =
        heap_zeroed(n + AUDIT_SINK_STATEMENTS + ACTOR_SQL_COUNT, sizeof(*database->statements));
    for (size_t i = 0; i < n; i++)
        database->statements[i] = service->statements[i];
    database->list_closed = -1;
    if (audit_sink != NULL && audit_sink->entries != NULL) {
        database->audit.entries = enlist(database, audit_sink->entries, &n);
        database->list_closed = enlist(database, &actor_sql[SQL_LIST_CLOSED], &n);
    }
    if (audit_sink != NULL)
        database->audit.changes = enlist(database, audit_sink->changes, &n);
    database->limit_lock_waits = enlist(database, &actor_sql[SQL_LIMIT_LOCK_WAITS], &n);
    database->end_hung_sessions = enlist(database, &actor_sql[SQL_END_HUNG_SESSIONS], &n);
    return n;
}

bool database_open(struct database *database, size_t n, const struct service *service,
                   const struct db_options *options)
{
    struct db_options own = *options;

    own.n_statements = collect_statements(database, service);
    own.statements = database->statements;
    own.lock_ms = LOCK_TIMEOUT_MS;
    own.statement_ms = service->statement_ms;
    /* Without audit entries it writes nothing: search, on a replica of the database. */
    own.may_be_standby = service->audit_sink == NULL;
    for (; database->n < n; database->n++) {
        database->connections[database->n] = db_new(&own);
        if (database->connections[database->n] == NULL) {
            LOG(LOG_ERROR, "DATABASE_URL cannot be used",
                log_str("reason", db_url_fault(options->url)));
            return false;
        }
    }
    atomic_store(&database->trouble, db_trouble(database->connections[0]));
    return true;
}

void database_close(struct database *database)
{
    for (size_t i = 0; i < database->n; i++)
        db_free(database->connections[i]);
    free(database->statements);
}

bool database_is_up(const struct database *database)
{
    for (size_t i = 0; i < database->n; i++)
        if (db_is_up(database->connections[i]))
            return true;
    return false;
}

bool database_is_whole(const struct database *database)
{
    for (size_t i = 0; i < database->n; i++)
        if (!db_is_up(database->connections[i]))
            return false;
    return true;
}

bool database_is_away(const struct database *database)
{
    return !database_is_up(database) && clock_mono_us() - database->lost_us >= AWAY_US;
}

/* No step waits for the second connection, which makes progress when its socket is ready. */
const char *database_connect(struct database *database, const bool *are_used)
{
    bool is_up;

    for (size_t i = 0; i < database->n; i++)
        db_check(database->connections[i]);
    is_up = database_is_up(database);
    for (size_t i = 0; i < database->n; i++) {
        const int timeout_ms = is_up || i > 0 ? 0 : CONNECT_MS;

        if (!are_used[i] && db_connect(database->connections[i], timeout_ms) == ST_OK)
            is_up = true;
    }
    if (!is_up && atomic_load(&database->trouble) == NULL)
        database->lost_us = clock_mono_us();
    return is_up ? NULL : db_trouble(database->connections[0]);
}
