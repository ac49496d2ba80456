#include "tests/support/postgres_server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/never_free.h"
#include "tests/support/port.h"

enum { FILE_MAX = 160, START_US = 30 * 1000 * 1000, AWAIT_US = 30 * 1000 * 1000, RETRY_MS = 5 };

void postgres_become_user(void)
{
    const struct passwd *user = getuid() == 0 ? getpwnam("postgres") : NULL;

    if (user && (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 ||
                 setuid(user->pw_uid) != 0))
        _exit(126);
}

/* The death signal is set last: a change of user clears it. */
static void become_postgres(void)
{
    int null = open("/dev/null", O_RDWR);

    postgres_become_user();
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
}

static pid_t run(const char *const *args)
{
    pid_t pid = fork();

    must(pid >= 0);
    if (pid > 0)
        return pid;
    become_postgres();
    execvp(args[0], (char *const *)args);
    _exit(127);
}

static void run_to_its_end(const char *const *args)
{
    int status;

    must(waitpid(run(args), &status, 0) > 0 && status == 0);
}

void postgres_give(const char *path)
{
    const struct passwd *user = getuid() == 0 ? getpwnam("postgres") : NULL;

    must(user == NULL || chown(path, user->pw_uid, user->pw_gid) == 0);
}

/* Durable data survives a crash of the server's processes, but not of the machine. Only what the
   test asks for runs: no statistics collection and no autovacuum transactions. */
static const char settings[] = "listen_addresses = '127.0.0.1'\n"
                               "unix_socket_directories = ''\n"
                               "fsync = off\n"
                               "full_page_writes = off\n"
                               "wal_level = minimal\n"
                               "max_wal_senders = 0\n"
                               "shared_buffers = 16MB\n"
                               "autovacuum = off\n"
                               "client_min_messages = warning\n";

/* Creates the file if needed, for the server to read and remove. */
static void append_to(const char *folder, const char *name, const char *text)
{
    char path[FILE_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "ae");
    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_cluster(const char *folder)
{
    run_to_its_end((const char *const[]){"initdb", "-D", folder, "-U", "postgres", "-A", "trust",
                                         "-N", "-E", "UTF8", "--locale=C.UTF-8", "--wal-segsize=1",
                                         NULL});
    append_to(folder, "postgresql.conf", settings);
}

/* The first test makes it; tests run concurrently. */
static void have_template(const char *folder)
{
    char version[FILE_MAX];
    int fd;

    must(mkdir(folder, 0700) == 0 || errno == EEXIST);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    snprintf(version, sizeof(version), "%s/PG_VERSION", folder);
    if (access(version, F_OK) != 0) {
        postgres_give(folder);
        make_cluster(folder);
    }
    close(fd);
}

void postgres_server_prepare(struct postgres_server *server)
{
    const char *parent = getenv("POSTGRES_FOLDER");
    char template[sizeof(server->folder)];

    *server = (struct postgres_server){.port = port_free()};
    must(snprintf(server->folder, sizeof(server->folder), "%s/postgres-test-XXXXXX",
                  parent != NULL ? parent : "/tmp") < (int)sizeof(server->folder));
    must(mkdtemp(server->folder) != NULL);
    postgres_give(server->folder);
    snprintf(server->url, sizeof(server->url), "postgresql://postgres@127.0.0.1:%u/postgres",
             server->port);
    if (parent == NULL) {
        make_cluster(server->folder);
        return;
    }
    snprintf(template, sizeof(template), "%s/template", parent);
    have_template(template);
    run_to_its_end((const char *const[]){"/bin/cp", "-aT", template, server->folder, NULL});
}

void postgres_server_configure(const struct postgres_server *server, const char *lines)
{
    append_to(server->folder, "postgresql.auto.conf", lines);
}

void postgres_server_start(struct postgres_server *server)
{
    char port[8];
    const char *const args[] = {"postgres", "-D", server->folder, "-p", port, NULL};
    int64_t until_us = clock_mono_us() + START_US;

    snprintf(port, sizeof(port), "%u", server->port);
    server->pid = run(args);
    while (PQping(server->url) != PQPING_OK) {
        must(clock_mono_us() < until_us);
        must(waitpid(server->pid, NULL, WNOHANG) == 0);
        poll(NULL, 0, RETRY_MS);
    }
}

void postgres_server_crash(struct postgres_server *server)
{
    must(kill(server->pid, SIGQUIT) == 0);
    must(waitpid(server->pid, NULL, 0) == server->pid);
    server->pid = 0;
}

void postgres_server_demote(struct postgres_server *server)
{
    if (server->pid != 0)
        postgres_server_crash(server);
    if (!server->can_be_standby) {
        postgres_server_configure(server, "wal_level = replica\n");
        server->can_be_standby = true;
        postgres_server_start(server);
        postgres_do(server->url, "CHECKPOINT");
        postgres_server_crash(server);
    }
    append_to(server->folder, "standby.signal", "");
    postgres_server_start(server);
}

void postgres_server_promote(struct postgres_server *server)
{
    must(postgres_integer(server->url, "SELECT pg_promote()::int") == 1);
}

void postgres_server_stop(struct postgres_server *server)
{
    const char *const args[] = {"/bin/rm", "-rf", server->folder, NULL};

    if (server->pid != 0)
        postgres_server_crash(server);
    if (server->folder[0] == '\0')
        return; /* only a database, which disappears with its server */
    must(waitpid(run(args), NULL, 0) > 0);
    (void)rmdir(server->folder); /* the user postgres does not own its parent */
}

/* The caller must PQclear() the result. */
static PGresult *ask(const char *url, const char *query)
{
    PGconn *conn = PQconnectdb(url);
    PGresult *result = PQexec(conn, query);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "%s: %s\n", query, PQerrorMessage(conn));
        abort();
    }
    PQfinish(conn);
    return result;
}

void postgres_do(const char *url, const char *statements)
{
    PQclear(ask(url, statements));
}

int64_t postgres_integer(const char *url, const char *query)
{
    PGresult *result = ask(url, query);
    int64_t value = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;

    PQclear(result);
    return value;
}

char *postgres_text(const char *url, const char *query)
{
    PGresult *result = ask(url, query);
    char *text = PQntuples(result) > 0 ? strdup(PQgetvalue(result, 0, 0)) : NULL;

    PQclear(result);
    return text;
}

int64_t postgres_blocks_hit(const char *url, const char *query)
{
    static const char label[] = "\"Shared Hit Blocks\": ";
    char *plan = postgres_text(url, query);
    const char *hits;
    int64_t blocks;

    must(plan != NULL);
    hits = strstr(plan, label); /* the first is the whole statement's */
    must(hits != NULL);
    blocks = strtoll(hits + strlen(label), NULL, 10);
    free(plan);
    return blocks;
}

int64_t postgres_blocks_of(const char *url, const char *statement, const char *arguments)
{
    char *query;
    int64_t blocks;

    must(asprintf(&query,
                  "BEGIN; PREPARE s AS %s;"
                  " EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE s(%s)",
                  statement, arguments) > 0);
    blocks = postgres_blocks_hit(url, query);
    free(query);
    return blocks;
}

const char *postgres_nulls(const char *statement)
{
    char *text;
    int max = 0;

    for (const char *p = strchr(statement, '$'); p != NULL; p = strchr(p + 1, '$'))
        if (atoi(p + 1) > max)
            max = atoi(p + 1);
    text = never_free(calloc(1, sizeof(",NULL") * (size_t)max + sizeof("()")));
    for (int i = 0; i < max; i++)
        strcat(text, i == 0 ? "(NULL" : ",NULL");
    return max > 0 ? strcat(text, ")") : text;
}

void postgres_await(const char *url, const char *query)
{
    int64_t until_us = clock_mono_us() + AWAIT_US;

    while (postgres_integer(url, query) == 0) {
        must(clock_mono_us() < until_us);
        poll(NULL, 0, RETRY_MS);
    }
}
