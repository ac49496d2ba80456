/*
 * postgres_server - a PostgreSQL of the test's own, on a free port of the loopback interface.
 *
 * Owns     A struct that was started is to be stopped; the server ends with the test in any case.
 * Fails    Aborts: without a server there is nothing to test.
 *
 * POSTGRES_FOLDER names a folder for the servers' data, which may be empty: the first to prepare a
 * server makes a cluster there, and all servers start as copies of it, which is ten times faster
 * than making one each.
 */
#ifndef TESTS_SUPPORT_POSTGRES_SERVER_H
#define TESTS_SUPPORT_POSTGRES_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/db/db.h"

enum { POSTGRES_URL_MAX = 96, POSTGRES_PARTS_MAX = 8 };

struct postgres_server {
    pid_t pid; /* 0 while it does not run */
    uint16_t port;
    char folder[128]; /* its data */
    char url[POSTGRES_URL_MAX];
    bool can_be_standby; /* what it has written is enough for one */
};

/* Makes an empty cluster; only once. */
void postgres_server_prepare(struct postgres_server *server);
/* Lines for its postgresql.auto.conf, which count from its next start on. */
void postgres_server_configure(const struct postgres_server *server, const char *lines);
/* Returns when it answers; after a crash it recovers, on its old port. */
void postgres_server_start(struct postgres_server *server);
void postgres_server_crash(struct postgres_server *server); /* all its processes, at once */
/* Starts it, or starts it again, as a standby that follows no other server; and makes it take writes. */
void postgres_server_demote(struct postgres_server *server);
void postgres_server_promote(struct postgres_server *server);
void postgres_server_stop(struct postgres_server *server); /* and forget its data */

/* What the databases of a program's tests have in common: made once, copied for each. */
struct postgres_template {
    const char *name;
    const char *roles[POSTGRES_PARTS_MAX];      /* that log in without a password */
    const char *migrations[POSTGRES_PARTS_MAX]; /* patterns of paths; in the order of the names */
    const char *script;                         /* then run */
};

/* Instead of a separate server, for a test that does no server any harm: a separate database on one
   that all tests of the program share. Has no port and no folder, only a URL. */
void postgres_server_share(struct postgres_server *server,
                           const struct postgres_template *template);
/* The same, and no other test uses the server before this one has ended: it sees no transactions
   but its own. */
void postgres_server_share_alone(struct postgres_server *server,
                                 const struct postgres_template *template);
void postgres_url_as(const struct postgres_server *server, const char *role,
                     char url[POSTGRES_URL_MAX]);
/* A link as a service has it: in its role, with its statements; it is called "test". */
struct db *postgres_connect_as(const struct postgres_server *server, const char *role,
                               const struct db_statement *statements, size_t n);

/* PostgreSQL refuses to run as root, and to use what is not its own. Of a child that is root: takes
   the rights of the user postgres, or ends. And gives a folder or a file to that user. */
void postgres_become_user(void);
void postgres_give(const char *path);

/* Runs statements. */
void postgres_do(const char *url, const char *statements);
/* The first column of the first row; 0 when there is no row. */
int64_t postgres_integer(const char *url, const char *query);
/* The same as a text, which the caller frees; NULL when there is no row. */
char *postgres_text(const char *url, const char *query);
/* As many NULLs as a statement has parameters, "(NULL,NULL)"; "" when it has none. Lives until the
   process ends. */
const char *postgres_nulls(const char *statement);
/* Asks again and again until the query gives an integer other than 0: at most 30 seconds. */
void postgres_await(const char *url, const char *query);

#endif
