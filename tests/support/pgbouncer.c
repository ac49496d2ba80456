#include "tests/support/pgbouncer.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/port.h"
#include "tests/support/postgres_server.h"

enum { FILE_MAX = 128, START_US = 10 * 1000 * 1000, RETRY_MS = 5 };

static const char *program(void)
{
    const char *named = getenv("TEST_PGBOUNCER");

    return named != NULL && named[0] != '\0' ? named : "pgbouncer";
}

int pgbouncer_version(void)
{
    char command[512];
    int major = 0, minor = 0, patch = 0;
    FILE *from;

    snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin %s --version 2>/dev/null", program());
    from = popen(command, "re");
    must(from != NULL);
    if (fscanf(from, "PgBouncer %d.%d.%d", &major, &minor, &patch) < 2)
        major = minor = 0; /* it cannot run */
    pclose(from);
    return major * 10000 + minor * 100 + patch;
}

void pgbouncer_need(int version)
{
    const int found = pgbouncer_version();

    if (found >= version)
        return;
    /* For run-tests. */
    fprintf(stderr, "impossible here: no PgBouncer %d.%d or later (found: %d.%d)\n",
            version / 10000, version / 100 % 100, found / 10000, found / 100 % 100);
    cr_skip("there is no PgBouncer");
}

static void write_file(const struct pgbouncer *pooler, const char *name, const char *text)
{
    char path[FILE_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", pooler->folder, name);
    file = fopen(path, "we");
    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    postgres_give(path);
}

/* Its place in the configuration of an operator is the same. */
static void read_ours(char *out, size_t capacity)
{
    FILE *file = fopen("deploy/pgbouncer/pgbouncer.ini", "re");

    must(file != NULL);
    out[fread(out, 1, capacity - 1, file)] = '\0';
    fclose(file);
}

static void write_config(const struct pgbouncer *pooler, const char *server, const char *lines)
{
    char text[4096], ours[2048];
    const int host = (int)strcspn(server, ":");
    int n;

    read_ours(ours, sizeof(ours));
    n = snprintf(text, sizeof(text),
                 "[databases]\n"
                 "* = host=%.*s port=%s\n"
                 "%s"
                 "listen_addr = 127.0.0.1\n"
                 "listen_port = %u\n"
                 "unix_socket_dir =\n"
                 "auth_type = trust\n"
                 "auth_file = %s/users\n"
                 "admin_users = console\n"
                 "default_pool_size = 3\n"
                 "%s",
                 host, server, server + host + 1, ours, pooler->port, pooler->folder, lines);
    must(n > 0 && n < (int)sizeof(text));
    write_file(pooler, "pgbouncer.ini", text);
}

static void await_answer(const struct pgbouncer *pooler)
{
    const int64_t until_us = clock_mono_us() + START_US;

    while (PQping(pooler->console) != PQPING_OK) {
        must(clock_mono_us() < until_us);
        poll(NULL, 0, RETRY_MS);
    }
}

void pgbouncer_start_again(struct pgbouncer *pooler)
{
    char config[FILE_MAX], log[FILE_MAX];

    snprintf(config, sizeof(config), "%s/pgbouncer.ini", pooler->folder);
    snprintf(log, sizeof(log), "%s/log", pooler->folder);
    pooler->pid = fork();
    must(pooler->pid >= 0);
    if (pooler->pid == 0) {
        postgres_become_user();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen(log, "ae", stderr) == NULL)
            _exit(126);
        execlp(program(), "pgbouncer", config, (char *)NULL);
        execl("/usr/sbin/pgbouncer", "pgbouncer", config, (char *)NULL);
        _exit(127);
    }
    await_answer(pooler);
}

void pgbouncer_start(struct pgbouncer *pooler, const char *server, const char *passwords,
                     const char *lines)
{
    char users[1024];

    *pooler = (struct pgbouncer){.port = port_free(), .folder = "/tmp/pgbouncer-test-XXXXXX"};
    must(mkdtemp(pooler->folder) != NULL);
    postgres_give(pooler->folder);
    snprintf(pooler->console, sizeof(pooler->console),
             "postgresql://console@127.0.0.1:%u/pgbouncer", pooler->port);
    must(snprintf(users, sizeof(users), "\"console\" \"\"\n%s", passwords) < (int)sizeof(users));
    write_file(pooler, "users", users);
    write_config(pooler, server, lines);
    pgbouncer_start_again(pooler);
}

void pgbouncer_kill(struct pgbouncer *pooler)
{
    must(kill(pooler->pid, SIGKILL) == 0 && waitpid(pooler->pid, NULL, 0) == pooler->pid);
    pooler->pid = 0;
}

void pgbouncer_stop(struct pgbouncer *pooler)
{
    char command[FILE_MAX];

    if (pooler->pid > 0)
        pgbouncer_kill(pooler);
    snprintf(command, sizeof(command), "rm -r '%s'", pooler->folder);
    must(system(command) == 0);
}
