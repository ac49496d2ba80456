#include "services/convctl/move_cells.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"

enum {
    CONNECT_S = 5,
    RETRY_MS = 40000,
    AGAIN_MS = 200,
    ANSWER_S = 30, /* for an answer, beyond the time that a statement may wait for locks */
};

/* Rows are copied as text, which both sides must understand in the same way, and a copy may take
   long. */
#define SESSION                                                                                    \
    "SET timezone = 'UTC'; SET datestyle = 'ISO'; SET intervalstyle = 'postgres';"                 \
    "SET bytea_output = 'hex'; SET extra_float_digits = 3; SET statement_timeout = 0;"             \
    "SET idle_in_transaction_session_timeout = 0"
/* Statements about single rows of large tables that have no statistics yet. Without jit, because a
   plan that has no index to take, such as that of audit.number_of(), would look dear enough to be
   compiled. */
#define ADMIN_SESSION SESSION "; SET enable_seqscan = off; SET jit = off"

#define OBJECT_IN_USE "55006"

enum status move_failed(struct move *move, const char *code, const char *message)
{
    *move->failure = (struct convctl_failure){code, message};
    return ST_REFUSED;
}

void move_pause(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

void move_show(const struct move *move, const char *format, ...)
{
    va_list values;

    if (!move->shows_steps)
        return;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

static enum status cannot(struct move *move, const struct db_admin *on, const char *what)
{
    const bool is_from = on == move->from.admin || on == move->from.bulk;

    return move_failed(move, "server_error",
                       arena_printf(move->arena, "%s, in the database of cell %s: %s", what,
                                    is_from ? move->from.name : move->to.name, db_admin_error(on)));
}

static enum status cannot_ask(struct move *move, struct db_admin *on, enum convctl_sql statement)
{
    return cannot(move, on, convctl_sql[statement].name);
}

enum status move_ask(struct move *move, struct db_admin *on, enum convctl_sql statement,
                     const char *const *params, size_t n)
{
    if (db_admin_query(on, &convctl_sql[statement], params, n) == ST_OK)
        return ST_OK;
    return cannot_ask(move, on, statement);
}

enum status move_ask_both(struct move *move, struct db_admin *from, struct db_admin *to,
                          enum convctl_sql statement, const char *const *params, size_t n)
{
    const struct db_statement *const asked = &convctl_sql[statement];
    struct db_admin *const both[] = {from, to};
    enum status st = ST_OK;
    bool is_sent[2];

    for (int i = 0; i < 2; i++)
        is_sent[i] = db_admin_send(both[i], asked, params, n) == ST_OK;
    for (int i = 0; i < 2; i++)
        if (!is_sent[i] || db_admin_receive(both[i], asked) != ST_OK)
            st = cannot_ask(move, both[i], statement);
    return st;
}

enum status move_ask_again(struct move *move, struct db_admin *on, enum convctl_sql statement,
                           const char *const *params, size_t n)
{
    const int64_t until_us = clock_mono_us() + RETRY_MS * INT64_C(1000);

    while (move_ask(move, on, statement, params, n) != ST_OK) {
        const char *const sqlstate = db_admin_sqlstate(on);
        const bool may_pass =
            strcmp(sqlstate, MOVE_LOCK_NOT_AVAILABLE) == 0 || strcmp(sqlstate, OBJECT_IN_USE) == 0;

        if (!may_pass || clock_mono_us() >= until_us)
            return ST_REFUSED;
        move_pause(AGAIN_MS);
    }
    return ST_OK;
}

enum status move_ask_within(struct move *move, struct db_admin *on, enum convctl_sql statement,
                            const char *const *params, size_t n)
{
    const char *const timeout = arena_printf(move->arena, "%d000", move->give_up_s);
    struct convctl_failure why;

    if (move_ask(move, on, SQL_SET_TIMEOUT, PARAMS(timeout)) != ST_OK)
        return ST_REFUSED;
    if (move_ask(move, on, statement, params, n) == ST_OK)
        return move_ask(move, on, SQL_SET_TIMEOUT, PARAMS("0"));
    why = *move->failure;
    if (strcmp(db_admin_sqlstate(on), MOVE_QUERY_CANCELED) == 0)
        why.code = "timeout";
    if (move_ask(move, on, SQL_SET_TIMEOUT, PARAMS("0")) == ST_OK)
        *move->failure = why;
    return ST_REFUSED;
}

enum status move_script(struct move *move, struct db_admin *on, const char *text)
{
    return db_admin_script(on, text) == ST_OK ? ST_OK : cannot(move, on, "script");
}

static int answer_ms(const struct move *move)
{
    return (move->give_up_s + ANSWER_S) * 1000;
}

/* Without a limit otherwise: a copy and a comparison take as long as there are rows. */
enum status move_hold(struct move *move, struct db_admin *bulk)
{
    enum status st;

    db_admin_limit(bulk, answer_ms(move));
    st = move_script(move, bulk,
                     "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT FROM cell.moves");
    db_admin_limit(bulk, 0);
    return st;
}

enum status move_let_go(struct move *move, struct db_admin *bulk)
{
    return move_script(move, bulk, "ROLLBACK");
}

const char *move_answered(const struct db_admin *on, int column)
{
    const char *value = db_admin_rows(on) > 0 ? db_admin_value(on, 0, column) : NULL;

    return value != NULL ? value : "";
}

bool move_is_true(const struct db_admin *on, int column)
{
    return strcmp(move_answered(on, column), "t") == 0;
}

bool move_await(struct move *move, struct db_admin *on, enum convctl_sql statement,
                const char *const *params, size_t n, const char *wanted, int timeout_ms,
                int every_ms)
{
    const int64_t until_us = clock_mono_us() + timeout_ms * INT64_C(1000);

    while (move_ask(move, on, statement, params, n) == ST_OK) {
        if (strcmp(move_answered(on, 0), wanted) == 0)
            return true;
        if (clock_mono_us() >= until_us) {
            (void)move_failed(
                move, "timeout",
                arena_printf(move->arena, "%s takes too long", convctl_sql[statement].name));
            return false;
        }
        move_pause(every_ms);
    }
    return false;
}

/* `databases` is NAME=URL NAME=URL. */
static const char *url_of(const char *databases, const char *cell, struct arena *arena)
{
    struct str rest = str_of(databases);

    while (rest.n > 0) {
        struct str url = str_cut(&rest, ' ');

        if (str_equal(str_cut(&url, '='), str_of(cell)) && url.n > 0)
            return arena_cstr(arena, url);
    }
    return NULL;
}

/* Of several hosts, selects the one that takes writes: only its rows can be followed. */
static const char *writable(const char *url, struct arena *arena)
{
    if (url == NULL || strchr(url, ',') == NULL || strstr(url, "target_session_attrs") != NULL)
        return url;
    return arena_printf(arena, "%s%ctarget_session_attrs=read-write", url,
                        strchr(url, '?') != NULL ? '&' : '?');
}

static enum status open_one(struct move *move, struct db_admin **admin, const char *cell,
                            const char *url, const char *session)
{
    char error[DB_ADMIN_WHY];
    enum status st;

    if (url == NULL)
        return move_failed(move, "usage",
                           arena_printf(move->arena,
                                        "CELL_DATABASES has no URL for the database of cell %s",
                                        cell));
    st = db_admin_open(url, "convctl cell move", CONNECT_S, admin, error);
    if (st == ST_OK)
        return move_script(
            move, *admin,
            arena_printf(move->arena, "%s; SET lock_timeout = '%ds'", session, move->give_up_s));
    (void)move_failed(move, "service_unavailable",
                      arena_printf(move->arena, "the database of cell %s: %s", cell, error));
    return st;
}

static enum status open_both(struct move *move, struct cell *cell, const char *url)
{
    const enum status st = open_one(move, &cell->admin, cell->name, url, ADMIN_SESSION);

    if (st != ST_OK)
        return st;
    db_admin_limit(cell->admin, answer_ms(move));
    return open_one(move, &cell->bulk, cell->name, url, SESSION);
}

enum status move_open_cells(struct move *move, const char *databases, bool may_lack)
{
    const char *const to_url = url_of(databases, move->to.name, move->arena);
    enum status st;

    move->from_url = writable(url_of(databases, move->from.name, move->arena), move->arena);
    if (open_both(move, &move->from, move->from_url) != ST_OK)
        return ST_REFUSED;
    st = open_both(move, &move->to, to_url);
    if (st == ST_OK)
        return ST_OK;
    /* Lost is one that cannot be reached, not one without a URL or with a wrong encoding. */
    if (!may_lack || st != ST_UNAVAILABLE)
        return ST_REFUSED;
    *move->failure = (struct convctl_failure){NULL, NULL};
    move->is_lost = true;
    return ST_OK;
}

void move_close_cells(struct move *move)
{
    db_admin_free(move->from.admin);
    db_admin_free(move->from.bulk);
    db_admin_free(move->to.admin);
    db_admin_free(move->to.bulk);
}
