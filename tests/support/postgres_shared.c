/* A program that links this file has one server, from its first test to its last. Each test is a
   process of its own, so what they need to know of the server is in the environment. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/support/postgres_server.h"

#define URL_NAME "TEST_POSTGRES_URL"

static struct postgres_server shared;

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    postgres_server_prepare(&shared);
    postgres_server_start(&shared);
    setenv(URL_NAME, shared.url, 1);
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    postgres_server_stop(&shared);
}

void postgres_server_share(struct postgres_server *server)
{
    const char *url = getenv(URL_NAME);
    const char *slash = url != NULL ? strrchr(url, '/') : NULL;
    char create[64];

    must(slash != NULL);
    *server = (struct postgres_server){0};
    snprintf(create, sizeof(create), "CREATE DATABASE test%d", (int)getpid());
    postgres_do(url, create);
    snprintf(server->url, sizeof(server->url), "%.*s/test%d", (int)(slash - url), url,
             (int)getpid());
}

void postgres_have_role(const struct postgres_server *server, const char *name)
{
    char statement[256];

    snprintf(statement, sizeof(statement),
             "DO $$ BEGIN CREATE ROLE %s LOGIN;"
             " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
             name);
    postgres_do(server->url, statement);
}

void postgres_url_as(const struct postgres_server *server, const char *role,
                     char url[POSTGRES_URL_MOST])
{
    const char *at = strchr(server->url, '@');

    must(at != NULL);
    snprintf(url, POSTGRES_URL_MOST, "postgresql://%s%s", role, at);
}

static void migrate(const char *url, const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "re");
    size_t n;

    cr_assert_not_null(file, "%s", path);
    n = fread(text, 1, sizeof(text) - 1, file);
    cr_assert(n > 0 && feof(file), "%s", path);
    fclose(file);
    text[n] = '\0';
    postgres_do(url, text);
}

void postgres_migrate(const struct postgres_server *server, const char *folder)
{
    char pattern[128];
    glob_t migrations;

    snprintf(pattern, sizeof(pattern), "%s/*.sql", folder);
    cr_assert_eq(glob(pattern, 0, NULL, &migrations), 0, "%s", pattern);
    for (size_t i = 0; i < migrations.gl_pathc; i++)
        migrate(server->url, migrations.gl_pathv[i]);
    globfree(&migrations);
}
