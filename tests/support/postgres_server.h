/*
 * postgres_server - a test's own PostgreSQL, on a free port of the loopback interface.
 *
 * Owns     Stop every started server; it ends with the test in any case.
 * Fails    Aborts: without a server there is nothing to test.
 *
 * POSTGRES_FOLDER names a folder for the servers' data, which may be empty: the first test to
 * prepare a server makes a cluster there, and all servers start as copies of it, which is ten times
 * faster than making one each.
 */
#ifndef TESTS_SUPPORT_POSTGRES_SERVER_H
#define TESTS_SUPPORT_POSTGRES_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/db/db.h"

enum { POSTGRES_URL_MAX = 96, POSTGRES_PARTS_MAX = 8 };

struct postgres_server {
    pid_t pid; /* 0 while it is not running */
    uint16_t port;
    char folder[128]; /* its data */
    char url[POSTGRES_URL_MAX];
    bool can_be_standby; /* its log is complete enough for one */
};

/* Makes an empty cluster; call it once. */
void postgres_server_prepare(struct postgres_server *server);
/* Adds lines to its postgresql.auto.conf, which apply from its next start on. */
void postgres_server_configure(const struct postgres_server *server, const char *lines);
/* Returns once it accepts connections; after a crash it recovers, on the same port. */
void postgres_server_start(struct postgres_server *server);
void postgres_server_crash(struct postgres_server *server); /* kills all its processes at once */
/* Starts or restarts it as a standby that follows no server; and promotes it, so that it takes
   writes. */
void postgres_server_demote(struct postgres_server *server);
void postgres_server_promote(struct postgres_server *server);
void postgres_server_stop(struct postgres_server *server); /* also deletes its data */

/* The common parts of the databases of a program's tests: made once, copied for each test. */
struct postgres_template {
    const char *name;
    const char *roles[POSTGRES_PARTS_MAX];      /* they log in without a password */
    const char *migrations[POSTGRES_PARTS_MAX]; /* path patterns; run in order of names */
    const char *script;                         /* run after these */
};

/* Makes them in an empty database, of a server with settings of its own. */
void postgres_fill(const char *url, const struct postgres_template *template);

/* For a test that does not disturb the server: a separate database on a server that all tests of
   the program share. Has no port and no folder, only a URL. */
void postgres_server_share(struct postgres_server *server,
                           const struct postgres_template *template);
/* The same, but no other test uses the server until this one has ended: it sees only its own
   transactions. */
void postgres_server_share_alone(struct postgres_server *server,
                                 const struct postgres_template *template);
void postgres_url_as(const struct postgres_server *server, const char *role,
                     char url[POSTGRES_URL_MAX]);
/* A connection like a service's: with its role and its statements; its name is "test". */
struct db *postgres_connect_as(const struct postgres_server *server, const char *role,
                               const struct db_statement *statements, size_t n);

/* PostgreSQL refuses to run as root, and to use files of other users. The first is for a child that
   is root: it becomes the user postgres, or exits. The second gives a file or folder to that
   user. */
void postgres_become_user(void);
void postgres_give(const char *path);

/* Runs statements. */
void postgres_do(const char *url, const char *statements);
/* The first column of the first row; 0 if there is no row. */
int64_t postgres_integer(const char *url, const char *query);
/* The same as text, which the caller frees; NULL if there is no row. */
char *postgres_text(const char *url, const char *query);
/* The blocks that a statement reads from the server's memory, according to the EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
   that ends `query`. */
int64_t postgres_blocks_hit(const char *url, const char *query);
/* The same of a statement with these arguments, as SQL; changes nothing. */
int64_t postgres_blocks_of(const char *url, const char *statement, const char *arguments);
/* As many NULLs as a statement has parameters, "(NULL,NULL)"; "" if it has none. Lives until the
   process ends. */
const char *postgres_nulls(const char *statement);
/* Repeats the query until it returns an integer other than 0, for at most 30 seconds. */
void postgres_await(const char *url, const char *query);

#endif
