/* A program that links this file has one server, from its first test to its last. Each test is a
   process of its own, so the environment holds what they need to know about the server. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"

#define URL_NAME    "TEST_POSTGRES_URL"
#define FOLDER_NAME "TEST_POSTGRES_FOLDER"

enum { STATEMENT_MAX = 512 };

static struct postgres_server shared;

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    postgres_server_prepare(&shared);
    postgres_server_start(&shared);
    setenv(URL_NAME, shared.url, 1);
    setenv(FOLDER_NAME, shared.folder, 1);
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    postgres_server_stop(&shared);
}

/* Held until the file is closed, or the test ends. */
static int locked(const char *name, int how)
{
    const char *folder = getenv(FOLDER_NAME);
    char path[PATH_MAX];
    int fd;

    must(folder != NULL);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && flock(fd, how) == 0);
    return fd;
}

static struct postgres_server database_named(const char *name)
{
    struct postgres_server database = {0};
    const char *url = getenv(URL_NAME);
    const char *slash = url != NULL ? strrchr(url, '/') : NULL;

    must(slash != NULL);
    snprintf(database.url, sizeof(database.url), "%.*s/%s", (int)(slash - url), url, name);
    return database;
}

/* A statement about databases with up to two names in it. */
#define ABOUT(format, ...) about((char[STATEMENT_MAX]){""}, "" format, __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static const char *about(char text[STATEMENT_MAX],
                                                               const char *format, ...)
{
    va_list rest;

    va_start(rest, format);
    must(vsnprintf(text, STATEMENT_MAX, format, rest) < STATEMENT_MAX);
    va_end(rest);
    return text;
}

/* Roles belong to the whole server: another template may already have created this one. */
static void have_role(const char *url, const char *name)
{
    postgres_do(url, ABOUT("DO $$ BEGIN CREATE ROLE %s LOGIN;"
                           " EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                           name));
}

static void run_file(const char *url, const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "re");
    size_t n;

    cr_assert_not_null(file, "%s: run from the root of the repository", path);
    n = fread(text, 1, sizeof(text) - 1, file);
    cr_assert(n > 0 && feof(file), "%s", path);
    fclose(file);
    text[n] = '\0';
    postgres_do(url, text);
}

static void migrate(const char *url, const char *pattern)
{
    glob_t migrations;

    cr_assert_eq(glob(pattern, 0, NULL, &migrations), 0, "%s", pattern);
    for (size_t i = 0; i < migrations.gl_pathc; i++)
        run_file(url, migrations.gl_pathv[i]);
    globfree(&migrations);
}

void postgres_fill(const char *url, const struct postgres_template *template)
{
    for (size_t i = 0; i < POSTGRES_PARTS_MAX && template->roles[i] != NULL; i++)
        have_role(url, template->roles[i]);
    for (size_t i = 0; i < POSTGRES_PARTS_MAX && template->migrations[i] != NULL; i++)
        migrate(url, template->migrations[i]);
    if (template->script != NULL)
        postgres_do(url, template->script);
}

/* The first test makes it; it becomes a template once it is complete. */
static void have_template(const struct postgres_template *template)
{
    const char *url = getenv(URL_NAME), *name = template->name;
    int lock = locked("template.lock", LOCK_EX);

    if (postgres_integer(url, ABOUT("SELECT count(*) FROM pg_database WHERE datname = '%s'"
                                    " AND datistemplate",
                                    name)) == 0) {
        postgres_do(url, ABOUT("DROP DATABASE IF EXISTS \"%s\"", name));
        postgres_do(url, ABOUT("CREATE DATABASE \"%s\" STRATEGY file_copy", name));
        postgres_fill(database_named(name).url, template);
        postgres_do(url, ABOUT("ALTER DATABASE \"%s\" IS_TEMPLATE true", name));
    }
    close(lock);
}

/* A copy, with the roles' settings for it, which are not copied with the database. */
static struct postgres_server copy_of(const char *template)
{
    const char *url = getenv(URL_NAME);
    char name[32];

    snprintf(name, sizeof(name), "test%d", (int)getpid());
    postgres_do(url,
                ABOUT("CREATE DATABASE %s TEMPLATE \"%s\" STRATEGY file_copy", name, template));
    postgres_do(url, ABOUT("INSERT INTO pg_db_role_setting SELECT made.oid, setrole, setconfig"
                           " FROM pg_database AS made, pg_db_role_setting JOIN pg_database AS of"
                           " ON of.oid = setdatabase WHERE made.datname = '%s'"
                           " AND of.datname = '%s'",
                           name, template));
    return database_named(name);
}

void postgres_server_share(struct postgres_server *server, const struct postgres_template *template)
{
    (void)locked("users.lock", LOCK_SH);
    have_template(template);
    *server = copy_of(template->name);
}

void postgres_server_share_alone(struct postgres_server *server,
                                 const struct postgres_template *template)
{
    (void)locked("users.lock", LOCK_EX);
    /* Connections left by a test that failed. */
    postgres_do(getenv(URL_NAME), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                                  " backend_type = 'client backend' AND pid <> pg_backend_pid()");
    postgres_await(getenv(URL_NAME), "SELECT (count(*) = 1)::int FROM pg_stat_activity WHERE"
                                     " backend_type = 'client backend'");
    have_template(template);
    *server = copy_of(template->name);
}

void postgres_url_as(const struct postgres_server *server, const char *role,
                     char url[POSTGRES_URL_MAX])
{
    const char *at = strchr(server->url, '@');

    must(at != NULL);
    snprintf(url, POSTGRES_URL_MAX, "postgresql://%s%s", role, at);
}

struct db *postgres_connect_as(const struct postgres_server *server, const char *role,
                               const struct db_statement *statements, size_t n)
{
    char *const url = never_free(malloc(POSTGRES_URL_MAX)); /* the connection keeps using it */
    struct db *db;

    postgres_url_as(server, role, url);
    db = db_new(&(struct db_options){
        .url = url, .name = "test", .statements = statements, .n_statements = n});
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    return db;
}
