/*
 * pgbouncer - PgBouncer in front of a PostgreSQL, on a free port of the loopback interface, in
 * transaction mode, with deploy/pgbouncer/pgbouncer.ini, but fewer connections to the server.
 *
 * What     The program is $TEST_PGBOUNCER, or `pgbouncer` of $PATH. Clients log in with any password.
 * Owns     Stop every one that was started; it ends with the test in any case.
 * Threads  The test's main thread.
 * Fails    Aborts.
 */
#ifndef TESTS_SUPPORT_PGBOUNCER_H
#define TESTS_SUPPORT_PGBOUNCER_H

#include <stdint.h>
#include <sys/types.h>

/* Its version that first keeps track of prepared statements. */
#define PGBOUNCER_TRACKS 12100

struct pgbouncer {
    pid_t pid;
    uint16_t port;
    char folder[64];
    char console[96]; /* the URL of its administration console */
};

/* 12401 = 1.24.1; 0 = there is none. */
int pgbouncer_version(void);
/* Skips the test unless there is one of that version or later. */
void pgbouncer_need(int version);

/* `server`: "HOST:PORT"; it logs in there as its client does, with that client's password of
   `passwords`: lines of "NAME" "PASSWORD". `lines`: settings that are added, or replace others. */
void pgbouncer_start(struct pgbouncer *pooler, const char *server, const char *passwords,
                     const char *lines);
void pgbouncer_stop(struct pgbouncer *pooler);
/* SIGKILL; and a start with the same settings. */
void pgbouncer_kill(struct pgbouncer *pooler);
void pgbouncer_start_again(struct pgbouncer *pooler);

#endif
