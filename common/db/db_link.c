#include "common/db/db_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/db/db_session.h"
#include "common/db/sqlstate.h"

enum { WAIT_SLICE_US = 50 * 1000 /* between two calls of on_wait */ };

/* -- its statements -------------------------------------------------------------------------- */

void db_link_init(struct db_link *link, const struct db_options *options)
{
    link->options = *options;
    /* LINK_SET would be too late for the isolation level. */
    link->own[LINK_BEGIN] =
        (struct db_statement){.name = "db_begin", .text = "BEGIN ISOLATION LEVEL READ COMMITTED"};
    link->own[LINK_COMMIT] = (struct db_statement){.name = "db_commit", .text = "COMMIT"};
    link->own[LINK_ROLLBACK] = (struct db_statement){.name = "db_rollback", .text = "ROLLBACK"};
    link->own[LINK_SET] = (struct db_statement){
        .name = "db_set", .text = db_session_local(options), .columns = DB_SESSION_SET};
}

void db_link_release(struct db_link *link)
{
    free((char *)link->own[LINK_SET].text);
}

int db_link_statement(const struct db_link *link, enum link_statement statement)
{
    return (int)link->options.n_statements + (int)statement;
}

const struct db_statement *db_link_statement_at(const struct db_link *link, size_t i)
{
    const size_t n = link->options.n_statements;

    return i < n ? &link->options.statements[i] : &link->own[i - n];
}

const char *db_link_statement_name(const struct db_link *link, int statement)
{
    return db_link_statement_at(link, (size_t)statement)->name;
}

bool db_columns_are(const PGresult *result, const char *columns, char why[256])
{
    const char *next = columns != NULL ? columns : "";

    for (int i = 0;; i++) {
        const char *name = i < PQnfields(result) ? PQfname(result, i) : "";
        const size_t n = strcspn(next, " ");

        if (strlen(name) != n || strncmp(name, next, n) != 0) {
            snprintf(why, 256, "column %d is \"%s\", not \"%.*s\"", i + 1, name, (int)n, next);
            return false;
        }
        if (n == 0)
            return true;
        next += n + strspn(next + n, " ");
    }
}

static bool send_statements(struct db_link *link)
{
    char *settings = db_session_query();
    const bool is_sent =
        PQsendPrepare(link->conn, DB_SESSION_STATEMENT, settings, 0, NULL) &&
        PQsendQueryPrepared(link->conn, DB_SESSION_STATEMENT, 0, NULL, NULL, NULL, 0 /* as text */);

    free(settings);
    if (!is_sent)
        return false;
    for (size_t i = 0; i < link->options.n_statements + LINK_STATEMENTS; i++) {
        const struct db_statement *statement = db_link_statement_at(link, i);

        if (!PQsendPrepare(link->conn, statement->name, statement->text, 0, NULL) ||
            !PQsendDescribePrepared(link->conn, statement->name))
            return false;
    }
    return PQpipelineSync(link->conn);
}

/* -- its life -------------------------------------------------------------------------------- */

/* Between statements the server announces its end in a notice. */
static void on_notice(void *closure, const PGresult *notice)
{
    struct db_link *link = closure;
    const char *sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    if (sqlstate != NULL && sqlstate_ends_link(sqlstate))
        link->is_dead = true;
}

bool db_link_prepare(struct db_link *link)
{
    PQsetNoticeReceiver(link->conn, on_notice, link);
    return PQsetnonblocking(link->conn, 1) == 0 && PQenterPipelineMode(link->conn) &&
           send_statements(link);
}

void db_link_close(struct db_link *link)
{
    PQfinish(link->conn);
    link->conn = NULL;
    link->is_up = link->is_pooled = link->is_dead = false;
}

/* -- waiting and reading --------------------------------------------------------------------- */

int db_link_poll(int fd, short events, int64_t until_us)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;

    do {
        n = poll(&p, 1, clock_left_ms(until_us, clock_mono_us(), WATCHDOG_SLICE_MS));
        watchdog_kick();
    } while (n == 0 && clock_mono_us() < until_us);
    must(n >= 0 || errno == EINTR);
    /* Interrupted: the caller checks, finds nothing and waits again. */
    return n < 0 ? 1 : n;
}

enum status db_link_wait(struct db_link *link, int64_t until_us)
{
    int unsent = PQflush(link->conn);
    short events = unsent == 1 ? POLLIN | POLLOUT : POLLIN;
    int64_t slice_us = until_us;

    if (link->options.on_wait != NULL && link->is_up)
        slice_us = clock_mono_us() + WAIT_SLICE_US;
    if (slice_us > until_us)
        slice_us = until_us;
    if (PQsocket(link->conn) >= 0 && db_link_poll(PQsocket(link->conn), events, slice_us) == 0) {
        if (clock_mono_us() >= until_us)
            return ST_UNAVAILABLE;
        if (link->options.on_wait != NULL)
            link->options.on_wait(link->options.closure);
        return ST_OK;
    }
    /* Even if writing failed: the server's last messages may be there to read. */
    if (!PQconsumeInput(link->conn) || unsent < 0)
        link->is_dead = true;
    return ST_OK;
}

bool db_link_is_alive(struct db_link *link)
{
    if (!PQconsumeInput(link->conn))
        link->is_dead = true;
    (void)PQisBusy(link->conn); /* parses what was read */
    return !link->is_dead;
}

enum status db_link_next(struct db_link *link, int64_t until_us, PGresult **out)
{
    while (PQisBusy(link->conn)) {
        enum status st = link->is_dead ? ST_UNAVAILABLE : db_link_wait(link, until_us);

        if (st != ST_OK)
            return st;
    }
    *out = PQgetResult(link->conn);
    return ST_OK;
}
