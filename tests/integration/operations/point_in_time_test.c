/*
 * A base backup and an archive of the WAL, as docs/operations.md describes them: the server is lost
 * and comes back as it was just before a mistake. The services run on it, and the audit log
 * verifies.
 */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/second_deployment.h"
#include "tests/support/sql.h"

TestSuite(point_in_time, .init = stack_have_alone);

static const char *const services[] = {"audit", "access", "conversation", "webhook", "gateway"};
enum { N_SERVICES = ARRAY_SIZE(services), GATEWAY = N_SERVICES - 1 };

static struct second_deployment deployment;
static struct replica replicas[N_SERVICES];

static void run(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

/* A folder beside the server's data, which outlives it. */
static const char *backups(void)
{
    return format("%s-backups", deployment.database.folder);
}

/* The archive_command of docs/operations.md, with the test's folder. */
static const char *archive_command(void)
{
    static char line[512];
    FILE *page = popen(format("sed -n \"s|/backup|%s|g;s/^archive_command = '\\(.*\\)'$/\\1/p\""
                              " docs/operations.md",
                              backups()),
                       "r");

    cr_assert_not_null(page);
    cr_assert_not_null(fgets(line, sizeof(line), page));
    line[strcspn(line, "\n")] = '\0';
    cr_assert_eq(pclose(page), 0);
    return line;
}

static void open_archive(void)
{
    const char *folder = backups();

    run(format("mkdir -p '%s/wal'", folder));
    postgres_give(folder);
    postgres_give(format("%s/wal", folder));
    postgres_server_crash(&deployment.database);
    postgres_server_configure(&deployment.database, format("wal_level = replica\n"
                                                           "max_wal_senders = 4\n"
                                                           "archive_mode = on\n"
                                                           "archive_command = '%s'\n",
                                                           archive_command()));
    postgres_server_start(&deployment.database);
}

static void make_base_backup(void)
{
    run(format("pg_basebackup -d '%s' -D '%s/base' -c fast", deployment.database.url, backups()));
}

static void await_archived(const struct postgres_server *server, const char *segment)
{
    postgres_await(server->url, format("SELECT (last_archived_wal >= '%s')::int"
                                       " FROM pg_stat_archiver",
                                       segment));
}

/* Waits until everything written so far is in the archive. */
static void await_archive(void)
{
    await_archived(&deployment.database, sql_text("SELECT pg_walfile_name(pg_switch_wal())", NULL));
}

/* Replaces the server with one restored to that moment, on the same port. */
static void restore_to(const char *moment)
{
    const char *folder = deployment.database.folder;

    postgres_server_crash(&deployment.database);
    run(format("rm -rf '%s' && cp -a '%s/base' '%s' && touch '%s/recovery.signal'", folder,
               backups(), folder, folder));
    postgres_server_configure(&deployment.database, format("archive_mode = off\n"
                                                           "restore_command = 'cp %s/wal/%%f %%p'\n"
                                                           "recovery_target_time = '%s'\n"
                                                           "recovery_target_action = promote\n",
                                                           backups(), moment));
    run(format("chown -R --reference='%s/wal' '%s'", backups(), folder));
    postgres_server_start(&deployment.database);
    postgres_await(deployment.database.url, "SELECT (NOT pg_is_in_recovery())::int");
}

static void start_services(void)
{
    for (int i = 0; i < N_SERVICES; i++)
        second_deployment_start(&deployment, &replicas[i], services[i], NULL, NULL);
    /* From here on, the test's helpers use this deployment. */
    setenv("BASE_URL", replicas[GATEWAY].base, 1);
    setenv("NATS_URL", deployment.bus.url, 1);
    setenv("DATABASE_URL", second_deployment_database_url(&deployment, "postgres"), 1);
}

static void stop_services(void)
{
    for (int i = N_SERVICES - 1; i >= 0; i--)
        replica_stop(&replicas[i]);
}

Test(point_in_time, a_lost_server_comes_back_as_it_was_before_a_mistake)
{
    struct sealed_log log;
    const char *id, *moment;

    second_deployment_open(&deployment);
    open_archive();
    start_services();
    make_base_backup();
    sealed_log_make(&log);
    id = new_conversation(&log.org, "kept", "ada");
    sealed_log_await_seal(&log.org);
    moment = sql_text("SELECT clock_timestamp()", NULL);
    json_decref(convctl("conversation", "delete", "--org", log.org.id, id, NULL));
    expect_status(read_conversation(&log.org, id), 404);
    await_archive();
    stop_services();

    restore_to(moment);
    second_deployment_migrate(&deployment);
    start_services();
    expect_status(read_conversation(&log.org, id), 200);
    (void)new_conversation(&log.org, "another", "ada");
    sealed_log_await_seal(&log.org);
    sealed_log_expect_sound(&log);
    stop_services();
    run(format("rm -rf '%s'", backups()));
    second_deployment_close(&deployment);
}

/* The server crashes after it has archived a segment and before it has noted that. */
Test(point_in_time, archiving_resumes_where_a_crash_interrupted_it)
{
    struct postgres_server *server = &deployment.database;
    const char *last;

    second_deployment_open(&deployment);
    open_archive();
    last = never_free(postgres_text(server->url, "SELECT pg_walfile_name(pg_switch_wal())"));
    await_archived(server, last);
    postgres_server_crash(server);
    run(format("cd '%s/pg_wal/archive_status' && mv %s.done %s.ready", server->folder, last, last));
    postgres_server_start(server);
    postgres_do(server->url, "CREATE TABLE written (); SELECT pg_switch_wal()");
    postgres_await(server->url, "SELECT (archived_count >= 2)::int FROM pg_stat_archiver");
    cr_expect_eq(postgres_integer(server->url, "SELECT failed_count FROM pg_stat_archiver"), 0);

    /* A segment of that name from another server is not taken for its own. */
    postgres_do(server->url, "CREATE TABLE lost ()");
    last = never_free(
        postgres_text(server->url, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())"));
    run(format("echo other >'%s/wal/%s'", backups(), last));
    postgres_do(server->url, "SELECT pg_switch_wal()");
    postgres_await(server->url,
                   format("SELECT (last_failed_wal = '%s')::int FROM pg_stat_archiver", last));
    run(format("rm -rf '%s'", backups()));
    second_deployment_close(&deployment);
}

/* For its administrator, with the URL in `env`. */
Test(point_in_time, a_stack_allows_base_backups)
{
    PGconn *conn = PQconnectdb(format("%s%sreplication=true", stack_setting("DATABASE_URL"),
                                      strchr(stack_setting("DATABASE_URL"), '?') ? "&" : "?"));

    cr_expect_eq(PQstatus(conn), CONNECTION_OK, "%s", PQerrorMessage(conn));
    PQfinish(conn);
}
