/*
 * postgres_server - a PostgreSQL of the test's own, on a free port of the loopback interface.
 *
 * Owns     A struct that was started is to be stopped; the server ends with the test in any case.
 * Fails    Aborts: without a server there is nothing to test.
 *
 * POSTGRES_TEMPLATE names a folder that may be empty: the first to prepare a server makes a cluster
 * there, and all servers start as copies of it, which is ten times faster than making one each.
 */
#ifndef TESTS_SUPPORT_POSTGRES_SERVER_H
#define TESTS_SUPPORT_POSTGRES_SERVER_H

#include <stdint.h>
#include <sys/types.h>

enum { POSTGRES_URL_MOST = 96 };

struct postgres_server {
    pid_t pid; /* 0 while it does not run */
    uint16_t port;
    char folder[64]; /* its data */
    char url[POSTGRES_URL_MOST];
};

/* Makes an empty cluster; only once. */
void postgres_server_prepare(struct postgres_server *server);
/* Returns when it answers; after a crash it recovers, on its old port. */
void postgres_server_start(struct postgres_server *server);
void postgres_server_crash(struct postgres_server *server); /* all its processes, at once */
void postgres_server_stop(struct postgres_server *server);  /* and forget its data */

/* A database of this process' own on a server that several share. */
void postgres_make_database(const char *server_url, char url[POSTGRES_URL_MOST]);
/* Runs statements. */
void postgres_do(const char *url, const char *statements);
/* The first column of the first row; 0 when there is no row. */
int64_t postgres_integer(const char *url, const char *query);
/* Asks again and again until the query gives an integer other than 0: at most 10 seconds. */
void postgres_await(const char *url, const char *query);

#endif
