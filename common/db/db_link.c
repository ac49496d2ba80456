#include "common/db/db_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/db/db_session.h"
#include "common/db/db_url.h"
#include "common/db/sqlstate.h"

enum {
    PREPARE_US = 5 * 1000 * 1000,
    ATTEMPT_SPACING_US = 100 * 1000,
    COMPLAINT_SPACING_US = 10 * 1000 * 1000,
    WAIT_SLICE_US = 50 * 1000, /* between two calls of on_wait */
};

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
    lookups_free(link->lookups);
    link->lookups = NULL;
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

/* Names the server as libpq does. */
static void add_reason_of_ours(struct db_link *link, const char *message)
{
    const struct db_host *host = db_hosts_current(&link->hosts);
    const struct address *ip = db_hosts_address(&link->hosts);
    char named[320], address[ADDRESS_TEXT + sizeof(" ()")] = "", text[ADDRESS_TEXT];

    if (ip != NULL) {
        address_format(ip, text);
        (void)snprintf(address, sizeof(address), " (%s)", text);
    }
    if (link->phase == LINK_LOOKING_UP)
        (void)snprintf(named, sizeof(named), "server at \"%s\": %s", host->host, message);
    else
        (void)snprintf(named, sizeof(named), "server at \"%s\"%s, port %s: %s", PQhost(link->conn),
                       address, PQport(link->conn), message);
    add_reason(link, named);
}

static void forget_reasons(struct db_link *link)
{
    link->reasons[0] = link->sqlstate[0] = '\0';
    link->statement = link->objection = NULL;
}

const char *db_link_trouble(const struct db_link *link)
{
    return link->trouble != NULL ? link->trouble : db_hosts_trouble(&link->hosts);
}

static void end_attempt_with_reasons(struct db_link *link, bool was_silent)
{
    if (!end_attempt(link, was_silent))
        return;
    link->trouble = link->objection;
    if (may_complain(link))
        LOG(LOG_WARNING,
            link->trouble != NULL || link->hosts.lacks_role ? db_link_trouble(link)
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

/* -- the URL and the lookup --------------------------------------------------------------------- */

/* Takes the text that the URL has now. */
static void read_url(struct db_link *link)
{
    char *url = config_current(link->options.url);
    const char *fault;

    if (link->url != NULL && strcmp(url, link->url) == 0) {
        config_forget(url);
        return;
    }
    fault = db_url_fault(url);
    if (fault != NULL) {
        config_forget(url);
        if (may_complain(link))
            LOG(LOG_WARNING, "the renewed DATABASE_URL cannot be used; the former one is",
                log_str("reason", fault));
        return;
    }
    if (link->url != NULL)
        db_hosts_release(&link->hosts);
    config_forget(link->url);
    link->url = url;
    db_hosts_init(&link->hosts, url, link->options.may_be_standby);
}

void db_link_init(struct db_link *link, const struct db_options *options)
{
    *link = (struct db_link){.options = *options};
    link->url = strdup(options->url);
    must(link->url != NULL);
    db_hosts_init(&link->hosts, link->url, options->may_be_standby);
}

void db_link_release(struct db_link *link)
{
    close_conn(link);
    db_hosts_release(&link->hosts);
    config_forget(link->url);
}

static void on_addresses(void *closure, const struct address *addresses, size_t n)
{
    struct db_link *link = closure;

    link->has_looked_up = true;
    if (n > 0)
        db_hosts_found(&link->hosts, addresses, n, clock_mono_us());
}

/* New for each lookup: a connection that is up needs no sockets to name servers. */
static void begin_lookup(struct db_link *link)
{
    link->phase = LINK_LOOKING_UP;
    link->lookups = lookups_new(&(struct dns_options){.dns_only = false});
    if (link->lookups == NULL) {
        give_attempt_up(link, "there is no descriptor for a lookup", false);
        return;
    }
    link->has_looked_up = false;
    link->attempt_ends_us = clock_mono_us() + db_hosts_limit_us(&link->hosts);
    (void)lookup_begin(link->lookups, db_hosts_name(&link->hosts), on_addresses, link);
}

/* -- connecting ---------------------------------------------------------------------------------- */

static void begin_connecting(struct db_link *link)
{
    const struct db_host *host = db_hosts_current(&link->hosts);
    const struct address *ip = db_hosts_address(&link->hosts);
    char address[ADDRESS_TEXT];
    char *options = db_session_options(link->url, &link->options);
    /* Keys before dbname: the URL overrides them. Keys after it: we override the URL, unless the
       value is NULL. */
    const char *keys[] = {LINK_LOSS_KEYS,
                          "gssencmode",
                          "dbname",
                          "options",
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
        link->url,
        options,
        link->options.name,
        "UTF8",
        "any", /* db_hosts_objection() decides */
        host->host,
        ip != NULL ? address : host->hostaddr, /* `host` is then the name in the certificate */
        host->port,
        NULL,
    };

    if (ip != NULL)
        address_format(ip, address);
    watchdog_kick();
    link->conn = PQconnectStartParams(keys, values, 1);
    must(link->conn != NULL);
    free(options);
    link->phase = LINK_CONNECTING;
    link->polling = PGRES_POLLING_WRITING;
    link->attempt_ends_us = clock_mono_us() + db_hosts_limit_us(&link->hosts);
    if (PQstatus(link->conn) == CONNECTION_BAD) /* it has no socket */
        fail_attempt(link, PQerrorMessage(link->conn));
}

static void begin(struct db_link *link)
{
    read_url(link);
    if (db_hosts_name(&link->hosts) != NULL)
        begin_lookup(link);
    else
        begin_connecting(link);
}

/* > 0: ready; 0: the time is over. */
static int wait_for(int fd, short events, int64_t until_us)
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
    link->n_replies = 0;
    if (PQsetnonblocking(link->conn, 1) != 0 || !PQenterPipelineMode(link->conn) ||
        !db_link_send_statements(link))
        fail_attempt(link, PQerrorMessage(link->conn));
}

static void step_looking_up(struct db_link *link, int64_t until_us)
{
    const int64_t due_us =
        clock_mono_us() + lookups_timeout_ms(link->lookups, WATCHDOG_SLICE_MS) * INT64_C(1000);

    wait_for(lookups_descriptor(link->lookups), POLLIN, due_us < until_us ? due_us : until_us);
    lookups_process(link->lookups);
    if (!link->has_looked_up)
        return;
    if (db_hosts_address(&link->hosts) == NULL) {
        give_attempt_up(link, "no address was found for this name", false);
        return;
    }
    lookups_free(link->lookups);
    link->lookups = NULL;
    begin_connecting(link);
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
    const struct db_statement *statement = db_link_statement_at(link, (link->n_replies - 1) / 2);
    char why[256];

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fail_at_statement(link, statement->name, result);
    } else if (link->n_replies % 2 == 0 && !db_columns_are(result, statement->columns, why)) {
        if (may_complain(link))
            LOG(LOG_ERROR, "a statement's columns differ from those in its file; retrying",
                log_str("statement", statement->name), log_str("reason", why));
        (void)end_attempt(link, false);
    }
}

static void check_settings(struct db_link *link, const PGresult *result)
{
    char why[DB_SESSION_WHY];

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        fail_at_statement(link, "settings", result);
        return;
    }
    link->objection = db_session_objection(result, why);
    if (link->objection != NULL)
        give_attempt_up(link, why, false);
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
        link->n_replies++;
        return;
    }
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        link->phase = LINK_UP;
        link->next_complaint_us = 0;
        forget_reasons(link);
        link->trouble = NULL;
        db_hosts_succeed(&link->hosts);
        db_session_show_certificates(link->conn);
        LOG(LOG_INFO, "database connection is up", log_str("name", link->options.name));
    } else if (link->n_replies == 0) {
        check_settings(link, result);
    } else {
        check_described(link, result);
    }
    PQclear(result);
}

static void step(struct db_link *link, int64_t until_us)
{
    if (link->phase != LINK_DOWN && link->attempt_ends_us < until_us)
        until_us = link->attempt_ends_us;
    if (link->phase == LINK_LOOKING_UP)
        step_looking_up(link, until_us);
    else if (link->phase == LINK_CONNECTING)
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
            give_attempt_up(link,
                            link->phase == LINK_LOOKING_UP ? "its name was not looked up in time"
                                                           : "no answer in time",
                            true);
        /* Continues with data that libpq has already read: poll() on the socket does not show
           it. */
    } while (clock_mono_us() < until_us ||
             (link->phase == LINK_PREPARING && !PQisBusy(link->conn)));
    return ST_UNAVAILABLE;
}

int db_link_socket(const struct db_link *link)
{
    if (link->phase == LINK_LOOKING_UP)
        return lookups_descriptor(link->lookups);
    return link->conn != NULL ? PQsocket(link->conn) : -1;
}

short db_link_events(const struct db_link *link)
{
    return link->phase == LINK_CONNECTING && link->polling != PGRES_POLLING_READING ? POLLOUT
                                                                                    : POLLIN;
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
