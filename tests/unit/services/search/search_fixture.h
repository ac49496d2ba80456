/*
 * search_fixture - a real database with the schema, and a connection like the service's.
 * Header-only; every test has a separate database.
 */
#ifndef TESTS_UNIT_SERVICES_SEARCH_SEARCH_FIXTURE_H
#define TESTS_UNIT_SERVICES_SEARCH_SEARCH_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/db/db.h"
#include "search_sql.h"
#include "tests/support/postgres_server.h"
#include "tests/unit/services/search/query_fixture.h"

static const struct postgres_template template = {
    .name = "search",
    .roles = {"conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"common/cell/migrations/*.sql", "services/audit/migrations/*.sql",
                   "services/webhook/migrations/*.sql", "services/conversation/migrations/*.sql",
                   "services/search/migrations/*.sql"},
};
static struct postgres_server server;
static struct db *db;

static inline char *search_url(void)
{
    char *const url = arena_alloc(&arena, POSTGRES_URL_MAX);

    postgres_url_as(&server, "conv_search", url);
    return url;
}

static inline void start(void)
{
    open_arena();
    postgres_server_share(&server, &template);
    db = postgres_connect_as(&server, "conv_search", search_sql, SEARCH_SQL_COUNT);
}

static inline void stop(void)
{
    db_free(db);
    postgres_server_stop(&server);
    close_arena();
}

#endif
