#include "common/db/db_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/db/db.h"

enum {
    PREPARE_US = 5 * 1000 * 1000,
    ATTEMPT_SPACING_US = 100 * 1000,
    COMPLAINT_SPACING_US = 10 * 1000 * 1000,
    WAIT_SLICE_US = 50 * 1000, /* between two calls of on_wait */
    STATEMENT_MS = 10 * 1000,
};

/* Defaults for the session, which the URL may override: a statement's timeout, and how soon the
   server notices that we are gone. That matters while a statement waits for a lock, and between two
   statements, where the session of a lost machine would otherwise keep the locks of its open
   transaction for hours. tcp_user_timeout decides, also between statements, whatever the number of
   probes: at 9 s, after two unanswered probes. At 5 s, one late answer on a busy machine would end
   a healthy link. */
#define SESSION_OPTIONS                                                                            \
    "-c client_connection_check_interval=1000"                                                     \
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"             \
    " -c tcp_user_timeout=" LINK_USER_TIMEOUT_MS

/* Between statements the server announces its end in a notice. */
static void on_notice(void *closure, const PGresult *notice)
{
    struct db_link *link = closure;
    const char *sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    if (sqlstate != NULL && sqlstate_ends_link(sqlstate))
        link->is_dead = true;
}

/* libpq ends its messages with a newline, and may write several lines. */
static struct str first_line(const char *message)
{
    return (struct str){message, strcspn(message, "\n")};
}

static void close_conn(struct db_link *link)
{
    PQfinish(link->conn);
    link->conn = NULL;
    link->phase = LINK_DOWN;
    link->is_dead = false;
}

static bool may_complain(struct db_link *link)
{
    const int64_t now = clock_mono_us();

    if (now < link->next_complaint_us)
        return false;
    link->next_complaint_us = now + COMPLAINT_SPACING_US;
    return true;
}

/* True: no host is left in this round. */
static bool end_attempt(struct db_link *link, bool was_silent)
{
    const int64_t now_us = clock_mono_us();
    const bool is_over = db_hosts_fail(&link->hosts, was_silent, now_us);

    link->next_attempt_us = is_over ? now_us + ATTEMPT_SPACING_US : now_us;
    close_conn(link);
    return is_over;
}

/* libpq's own messages name the server. */
static void add_reason(struct db_link *link, const char *message)
{
    const struct str reason = first_line(message);
    const size_t n = strlen(link->reasons), left = sizeof(link->reasons) - n;

    (void)snprintf(link->reasons + n, left, "%s%.*s", n > 0 ? "; " : "", STR_ARG(reason));
}

static void add_reason_of_ours(struct db_link *link, const char *message)
{
    char named[256];

    (void)snprintf(named, sizeof(named), "server at \"%s\", port %s: %s", PQhost(link->conn),
                   PQport(link->conn), message);
    add_reason(link, link->hosts.n > 1 ? named : message);
}

static void forget_reasons(struct db_link *link)
{
    link->reasons[0] = link->sqlstate[0] = '\0';
    link->statement = NULL;
}

static void end_attempt_with_reasons(struct db_link *link, bool was_silent)
{
    if (!end_attempt(link, was_silent))
        return;
    if (may_complain(link))
        LOG(LOG_WARNING,
            link->hosts.lacks_role ? db_hosts_trouble(&link->hosts)
                                   : "database is unreachable; retrying",
            log_str("statement", link->statement),
            log_str("sqlstate", link->sqlstate[0] != '\0' ? link->sqlstate : NULL),
            log_str("reason", link->reasons));
    forget_reasons(link);
}

static void fail_attempt(struct db_link *link, const char *message)
{
    add_reason(link, message);
    end_attempt_with_reasons(link, false);
}

/* For an attempt that has no socket, for example because the host has no address. A lookup that
   takes longer than the host's limit counts as silence. */
static void fail_at_once(struct db_link *link, int64_t took_us)
{
    add_reason(link, PQerrorMessage(link->conn));
    end_attempt_with_reasons(link, took_us > db_hosts_current(&link->hosts)->limit_us);
}

static void fail_at_statement(struct db_link *link, const char *statement, const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (link->statement == NULL) {
        link->statement = statement;
        (void)snprintf(link->sqlstate, sizeof(link->sqlstate), "%s",
                       sqlstate != NULL ? sqlstate : "");
    }
    fail_attempt(link, PQresultErrorMessage(result));
}

static void give_attempt_up(struct db_link *link, const char *why, bool was_silent)
{
    add_reason_of_ours(link, why);
    end_attempt_with_reasons(link, was_silent);
}

void db_link_drop(struct db_link *link, const char *why)
{
    if (link->phase == LINK_DOWN)
        return;
    if (link->phase == LINK_UP)
        LOG(LOG_WARNING, "database connection dropped; reconnecting", log_str("reason", why));
    if (link->phase == LINK_UP && !link->is_dead)
        db_hosts_turn(&link->hosts, clock_mono_us());
    close_conn(link);
}

static void begin(struct db_link *link)
{
    const struct db_host *host = db_hosts_current(&link->hosts);
    const int64_t began_us = clock_mono_us();
    char options[sizeof(SESSION_OPTIONS) + 80];
    /* Keys before dbname: the URL overrides them. Keys after it: we override the URL, unless the
       value is NULL. */
    const char *keys[] = {LINK_LOSS_KEYS,
                          "gssencmode",
                          "options",
                          "dbname",
                          "application_name",
                          "client_encoding",
                          "target_session_attrs",
                          "host",
                          "hostaddr",
                          "port",
                          NULL};
    const char *values[] = {
        LINK_LOSS_VALUES,
        "disable",
        options,
        link->options.url,
        link->options.name,
        "UTF8",
        link->hosts.attrs_for_libpq,
        host->host,
        host->hostaddr,
        host->port,
        NULL,
    };

    (void)snprintf(options, sizeof(options),
                   SESSION_OPTIONS " -c lock_timeout=%d -c statement_timeout=%d",
                   link->options.lock_ms,
                   link->options.statement_ms > 0 ? link->options.statement_ms : STATEMENT_MS);
    watchdog_kick_at(began_us);
    link->conn = PQconnectStartParams(keys, values, 1);
    must(link->conn != NULL);
    link->phase = LINK_CONNECTING;
    link->polling = PGRES_POLLING_WRITING;
    link->attempt_ends_us = clock_mono_us() + host->limit_us;
    if (PQstatus(link->conn) == CONNECTION_BAD)
        fail_at_once(link, clock_mono_us() - began_us);
}

static int slice_ms(int64_t until_us)
{
    const int64_t left_us = until_us - clock_mono_us();

    if (left_us <= 0)
        return 0;
    return left_us < WATCHDOG_SLICE_MS * 1000 ? (int)((left_us + 999) / 1000) : WATCHDOG_SLICE_MS;
}

/* > 0: ready; 0: the time is over. */
static int wait_for(int fd, short events, int64_t until_us)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;

    do {
        n = poll(&p, 1, slice_ms(until_us));
        watchdog_kick();
    } while (n == 0 && clock_mono_us() < until_us);
    must(n >= 0 || errno == EINTR);
    /* Interrupted: the caller checks, finds nothing and waits again. */
    return n < 0 ? 1 : n;
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

static const struct db_statement own_statements[LINK_STATEMENTS] = {
    [LINK_BEGIN] = {.name = "db_begin", .text = "BEGIN"},
    [LINK_COMMIT] = {.name = "db_commit", .text = "COMMIT"},
    [LINK_ROLLBACK] = {.name = "db_rollback", .text = "ROLLBACK"},
};

int db_link_statement(const struct db_link *link, enum link_statement statement)
{
    return (int)link->options.n_statements + (int)statement;
}

/* From the registry, or one of our own after it. */
static const struct db_statement *statement_at(const struct db_link *link, size_t i)
{
    const size_t n = link->options.n_statements;

    return i < n ? &link->options.statements[i] : &own_statements[i - n];
}

const char *db_link_statement_name(const struct db_link *link, int statement)
{
    return statement_at(link, (size_t)statement)->name;
}

static bool send_statements(struct db_link *link)
{
    for (size_t i = 0; i < link->options.n_statements + LINK_STATEMENTS; i++) {
        const struct db_statement *statement = statement_at(link, i);

        if (!PQsendPrepare(link->conn, statement->name, statement->text, 0, NULL) ||
            !PQsendDescribePrepared(link->conn, statement->name))
            return false;
    }
    return PQpipelineSync(link->conn);
}

static void begin_preparing(struct db_link *link)
{
    const char *objection =
        db_hosts_objection(&link->hosts, PQparameterStatus(link->conn, "in_hot_standby"),
                           PQparameterStatus(link->conn, "default_transaction_read_only"));

    if (objection != NULL) {
        give_attempt_up(link, objection, false);
        return;
    }
    link->attempt_ends_us = clock_mono_us() + PREPARE_US;
    PQsetNoticeReceiver(link->conn, on_notice, link);
    link->phase = LINK_PREPARING;
    link->n_described = 0;
    if (PQsetnonblocking(link->conn, 1) != 0 || !PQenterPipelineMode(link->conn) ||
        !send_statements(link))
        fail_attempt(link, PQerrorMessage(link->conn));
}

static void step_connecting(struct db_link *link, int64_t until_us)
{
    short events = link->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;

    if (wait_for(PQsocket(link->conn), events, until_us) == 0)
        return;
    link->polling = PQconnectPoll(link->conn);
    if (link->polling == PGRES_POLLING_FAILED)
        fail_attempt(link, PQerrorMessage(link->conn));
    else if (link->polling == PGRES_POLLING_OK)
        begin_preparing(link);
}

/* Checks a reply about a statement: the result of its prepare, or the description of its
   columns. */
static void check_described(struct db_link *link, const PGresult *result)
{
    const struct db_statement *statement = statement_at(link, link->n_described / 2);
    char why[256];

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fail_at_statement(link, statement->name, result);
    } else if (link->n_described % 2 == 1 && !db_columns_are(result, statement->columns, why)) {
        if (may_complain(link))
            LOG(LOG_ERROR, "a statement's columns differ from those in its file; retrying",
                log_str("statement", statement->name), log_str("reason", why));
        (void)end_attempt(link, false);
    }
}

static void step_preparing(struct db_link *link, int64_t until_us)
{
    PGresult *result = NULL;
    enum status st = db_link_next(link, until_us, &result);

    if (st != ST_OK) {
        if (link->is_dead)
            fail_attempt(link, PQerrorMessage(link->conn));
        return;
    }
    if (result == NULL) {
        link->n_described++;
        return;
    }
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        link->phase = LINK_UP;
        link->next_complaint_us = 0;
        forget_reasons(link);
        db_hosts_succeed(&link->hosts);
        LOG(LOG_INFO, "database connection is up", log_str("name", link->options.name));
    } else {
        check_described(link, result);
    }
    PQclear(result);
}

static void step(struct db_link *link, int64_t until_us)
{
    if (link->phase != LINK_DOWN && link->attempt_ends_us < until_us)
        until_us = link->attempt_ends_us;
    if (link->phase == LINK_CONNECTING)
        step_connecting(link, until_us);
    else if (link->phase == LINK_PREPARING)
        step_preparing(link, until_us);
    else if (clock_mono_us() >= link->next_attempt_us)
        begin(link);
    else
        wait_for(-1, 0, until_us < link->next_attempt_us ? until_us : link->next_attempt_us);
}

enum status db_link_connect(struct db_link *link, int64_t until_us)
{
    do {
        if (link->phase != LINK_UP)
            step(link, until_us);
        if (link->phase == LINK_UP)
            return ST_OK;
        if (link->phase != LINK_DOWN && clock_mono_us() >= link->attempt_ends_us)
            give_attempt_up(link, "no answer in time", true);
        /* Continues with data that libpq has already read: poll() on the socket does not show
           it. */
    } while (clock_mono_us() < until_us ||
             (link->phase == LINK_PREPARING && !PQisBusy(link->conn)));
    return ST_UNAVAILABLE;
}

enum status db_link_wait(struct db_link *link, int64_t until_us)
{
    int unsent = PQflush(link->conn);
    short events = unsent == 1 ? POLLIN | POLLOUT : POLLIN;
    int64_t slice_us = until_us;

    if (link->options.on_wait != NULL && link->phase == LINK_UP)
        slice_us = clock_mono_us() + WAIT_SLICE_US;
    if (slice_us > until_us)
        slice_us = until_us;
    if (PQsocket(link->conn) >= 0 && wait_for(PQsocket(link->conn), events, slice_us) == 0) {
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
