#include "common/db/db_dialer.h"

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

enum {
    SETTINGS_REPLIES = 2,
    PREPARE_US = 5 * 1000 * 1000,
    ATTEMPT_SPACING_US = 100 * 1000,
};

/* -- ends of an attempt ------------------------------------------------------------------------ */

static void close_all(struct db_dialer *dialer)
{
    lookups_free(dialer->lookups);
    dialer->lookups = NULL;
    dialer->phase = DIALER_RESTS;
    db_link_close(dialer->link);
}

/* True: no host is left in this round. */
static bool end_attempt(struct db_dialer *dialer, bool was_silent)
{
    const int64_t now_us = clock_mono_us();
    const bool is_over = db_hosts_fail(&dialer->hosts, was_silent, now_us);

    dialer->next_attempt_us = is_over ? now_us + ATTEMPT_SPACING_US : now_us;
    close_all(dialer);
    return is_over;
}

static void end_attempt_with_reasons(struct db_dialer *dialer, bool was_silent)
{
    if (end_attempt(dialer, was_silent))
        db_reasons_end_round(&dialer->reasons, &dialer->hosts);
}

/* `message` is libpq's. */
static void fail_attempt(struct db_dialer *dialer, const char *message)
{
    const char *fault = db_session_pooler_fault(dialer->reasons.sqlstate, message);

    if (fault != NULL)
        db_reasons_note_objection(&dialer->reasons, fault);
    db_reasons_add(&dialer->reasons, message);
    end_attempt_with_reasons(dialer, false);
}

static void fail_at_statement(struct db_dialer *dialer, const char *statement,
                              const PGresult *result)
{
    db_reasons_note_statement(&dialer->reasons, statement, result);
    fail_attempt(dialer, PQresultErrorMessage(result));
}

static void give_attempt_up(struct db_dialer *dialer, const char *why, bool was_silent)
{
    db_reasons_add_ours(&dialer->reasons, &dialer->hosts, dialer->link->conn, why);
    end_attempt_with_reasons(dialer, was_silent);
}

const char *db_dialer_trouble(const struct db_dialer *dialer)
{
    return db_reasons_trouble(&dialer->reasons, &dialer->hosts);
}

void db_dialer_drop(struct db_dialer *dialer, const char *why)
{
    const struct db_link *link = dialer->link;

    if (link->is_up)
        LOG(LOG_WARNING, "database connection dropped; reconnecting", log_str("reason", why));
    if (link->is_up && !link->is_dead)
        db_hosts_turn(&dialer->hosts, clock_mono_us());
    close_all(dialer);
}

/* -- the URL and the lookup --------------------------------------------------------------------- */

/* Takes the text that the URL has now. */
static void read_url(struct db_dialer *dialer)
{
    char *url = config_current(dialer->link->options.url);
    const char *fault;

    if (dialer->url != NULL && strcmp(url, dialer->url) == 0) {
        config_forget(url);
        return;
    }
    fault = db_url_fault(url);
    if (fault != NULL) {
        config_forget(url);
        if (db_reasons_may_complain(&dialer->reasons))
            LOG(LOG_WARNING, "the renewed DATABASE_URL cannot be used; the former one is",
                log_str("reason", fault));
        return;
    }
    if (dialer->url != NULL)
        db_hosts_release(&dialer->hosts);
    config_forget(dialer->url);
    dialer->url = url;
    db_hosts_init(&dialer->hosts, url, dialer->link->options.may_be_standby);
}

void db_dialer_init(struct db_dialer *dialer, struct db_link *link)
{
    *dialer = (struct db_dialer){.link = link, .url = strdup(link->options.url)};
    must(dialer->url != NULL);
    db_hosts_init(&dialer->hosts, dialer->url, link->options.may_be_standby);
}

void db_dialer_release(struct db_dialer *dialer)
{
    close_all(dialer);
    db_hosts_release(&dialer->hosts);
    config_forget(dialer->url);
}

static void on_addresses(void *closure, const struct address *addresses, size_t n)
{
    struct db_dialer *dialer = closure;

    dialer->has_looked_up = true;
    if (n > 0)
        db_hosts_found(&dialer->hosts, addresses, n, clock_mono_us());
}

/* New for each lookup: a connection that is up needs no sockets to name servers. */
static void begin_lookup(struct db_dialer *dialer)
{
    dialer->phase = DIALER_LOOKS_UP;
    dialer->lookups = lookups_new(&(struct dns_options){.dns_only = false});
    if (dialer->lookups == NULL) {
        give_attempt_up(dialer, "there is no descriptor for a lookup", false);
        return;
    }
    dialer->has_looked_up = false;
    dialer->attempt_ends_us = clock_mono_us() + db_hosts_limit_us(&dialer->hosts);
    (void)lookup_begin(dialer->lookups, db_hosts_name(&dialer->hosts), on_addresses, dialer);
}

/* -- connecting ---------------------------------------------------------------------------------- */

static void begin_connecting(struct db_dialer *dialer)
{
    struct db_link *link = dialer->link;
    const struct db_host *host = db_hosts_current(&dialer->hosts);
    const struct address *ip = db_hosts_address(&dialer->hosts);
    char address[ADDRESS_TEXT];
    char *options = db_session_options(dialer->url, &link->options);
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
        dialer->url,
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
    dialer->phase = DIALER_CONNECTS;
    dialer->polling = PGRES_POLLING_WRITING;
    dialer->attempt_ends_us = clock_mono_us() + db_hosts_limit_us(&dialer->hosts);
    if (PQstatus(link->conn) == CONNECTION_BAD) /* it has no socket */
        fail_attempt(dialer, PQerrorMessage(link->conn));
}

static void begin(struct db_dialer *dialer)
{
    read_url(dialer);
    if (db_hosts_name(&dialer->hosts) != NULL)
        begin_lookup(dialer);
    else
        begin_connecting(dialer);
}

static void begin_preparing(struct db_dialer *dialer)
{
    struct db_link *link = dialer->link;
    const char *objection =
        db_hosts_objection(&dialer->hosts, PQparameterStatus(link->conn, "in_hot_standby"),
                           PQparameterStatus(link->conn, "default_transaction_read_only"));

    if (objection != NULL) {
        give_attempt_up(dialer, objection, false);
        return;
    }
    dialer->attempt_ends_us = clock_mono_us() + PREPARE_US;
    dialer->phase = DIALER_PREPARES;
    dialer->n_replies = 0;
    if (!db_link_prepare(link))
        fail_attempt(dialer, PQerrorMessage(link->conn));
}

static void step_looking_up(struct db_dialer *dialer, int64_t until_us)
{
    const int64_t due_us =
        clock_mono_us() + lookups_timeout_ms(dialer->lookups, WATCHDOG_SLICE_MS) * INT64_C(1000);

    db_link_poll(lookups_descriptor(dialer->lookups), POLLIN,
                 due_us < until_us ? due_us : until_us);
    lookups_process(dialer->lookups);
    if (!dialer->has_looked_up)
        return;
    if (db_hosts_address(&dialer->hosts) == NULL) {
        give_attempt_up(dialer, "no address was found for this name", false);
        return;
    }
    lookups_free(dialer->lookups);
    dialer->lookups = NULL;
    begin_connecting(dialer);
}

static void step_connecting(struct db_dialer *dialer, int64_t until_us)
{
    PGconn *conn = dialer->link->conn;
    short events = dialer->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;

    if (db_link_poll(PQsocket(conn), events, until_us) == 0)
        return;
    dialer->polling = PQconnectPoll(conn);
    if (dialer->polling == PGRES_POLLING_FAILED)
        fail_attempt(dialer, PQerrorMessage(conn));
    else if (dialer->polling == PGRES_POLLING_OK)
        begin_preparing(dialer);
}

/* Checks a reply about a statement: the result of its prepare, or the description of its
   columns. */
static void check_described(struct db_dialer *dialer, const PGresult *result)
{
    const struct db_statement *statement =
        db_link_statement_at(dialer->link, (dialer->n_replies - SETTINGS_REPLIES) / 2);
    char why[256];

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fail_at_statement(dialer, statement->name, result);
    } else if (dialer->n_replies % 2 == 1 && !db_columns_are(result, statement->columns, why)) {
        if (db_reasons_may_complain(&dialer->reasons))
            LOG(LOG_ERROR, "a statement's columns differ from those in its file; retrying",
                log_str("statement", statement->name), log_str("reason", why));
        (void)end_attempt(dialer, false);
    }
}

static void check_settings(struct db_dialer *dialer, const PGresult *result)
{
    char why[DB_SESSION_WHY];
    const char *objection;

    if (PQresultStatus(result) == PGRES_COMMAND_OK) /* prepared */
        return;
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        fail_at_statement(dialer, "settings", result);
        return;
    }
    objection = db_session_objection(result, &dialer->link->is_pooled, why);
    db_reasons_note_objection(&dialer->reasons, objection);
    if (objection != NULL)
        give_attempt_up(dialer, why, false);
}

static void succeed(struct db_dialer *dialer)
{
    struct db_link *link = dialer->link;

    dialer->phase = DIALER_RESTS;
    link->is_up = true;
    db_reasons_clear(&dialer->reasons);
    db_hosts_succeed(&dialer->hosts);
    db_session_show_certificates(link->conn);
    LOG(LOG_INFO, "database connection is up", log_str("name", link->options.name),
        log_bool("pooled", link->is_pooled));
}

static void step_preparing(struct db_dialer *dialer, int64_t until_us)
{
    struct db_link *link = dialer->link;
    PGresult *result = NULL;
    enum status st = db_link_next(link, until_us, &result);

    if (st != ST_OK) {
        if (link->is_dead)
            fail_attempt(dialer, PQerrorMessage(link->conn));
        return;
    }
    if (result == NULL) {
        dialer->n_replies++;
        return;
    }
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
        succeed(dialer);
    else if (dialer->n_replies < SETTINGS_REPLIES)
        check_settings(dialer, result);
    else
        check_described(dialer, result);
    PQclear(result);
}

static void step(struct db_dialer *dialer, int64_t until_us)
{
    if (dialer->phase != DIALER_RESTS && dialer->attempt_ends_us < until_us)
        until_us = dialer->attempt_ends_us;
    if (dialer->phase == DIALER_LOOKS_UP)
        step_looking_up(dialer, until_us);
    else if (dialer->phase == DIALER_CONNECTS)
        step_connecting(dialer, until_us);
    else if (dialer->phase == DIALER_PREPARES)
        step_preparing(dialer, until_us);
    else if (clock_mono_us() >= dialer->next_attempt_us)
        begin(dialer);
    else
        db_link_poll(-1, 0,
                     until_us < dialer->next_attempt_us ? until_us : dialer->next_attempt_us);
}

enum status db_dialer_connect(struct db_dialer *dialer, int64_t until_us)
{
    const struct db_link *link = dialer->link;

    do {
        if (!link->is_up)
            step(dialer, until_us);
        if (link->is_up)
            return ST_OK;
        if (dialer->phase != DIALER_RESTS && clock_mono_us() >= dialer->attempt_ends_us)
            give_attempt_up(dialer,
                            dialer->phase == DIALER_LOOKS_UP ? "its name was not looked up in time"
                                                             : "no answer in time",
                            true);
        /* Continues with data that libpq has already read: poll() on the socket does not show
           it. */
    } while (clock_mono_us() < until_us ||
             (dialer->phase == DIALER_PREPARES && !PQisBusy(link->conn)));
    return ST_UNAVAILABLE;
}

int db_dialer_socket(const struct db_dialer *dialer)
{
    if (dialer->phase == DIALER_LOOKS_UP)
        return lookups_descriptor(dialer->lookups);
    return dialer->link->conn != NULL ? PQsocket(dialer->link->conn) : -1;
}

short db_dialer_events(const struct db_dialer *dialer)
{
    return dialer->phase == DIALER_CONNECTS && dialer->polling != PGRES_POLLING_READING ? POLLOUT
                                                                                        : POLLIN;
}
