#include "services/convctl/cell_move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "proto/subject.h"
#include "services/convctl/move_cells.h"

enum {
    PAUSE_MS = 5,
    LOOK_MS = 200,
    SEAL_MS = 60000,       /* for the seal of the other cell to reach its present end */
    DRAIN_MS = 40000,      /* for attempts at deliveries that are under way */
    CLOSED_MS = 1800,      /* for what is done while the organization is closed */
    LAG_MAX = 1024 * 1024, /* bytes of the write-ahead log, before it is closed */
    TRIES = 5,             /* to have it closed for no longer than that */
    EXACT_MAX = 100000,    /* rows that are compared one by one while it is closed */
    DELETE_ROWS = 10000,
    GRACE_S = 60,
};

/* -- the directory ----------------------------------------------------------------------------- */

static enum status tell(struct move *move, const char *step)
{
    struct bus_client_request request = *move->request;
    struct str answer;
    bool begins = strcmp(step, "copying") == 0;

    request.subject = SUBJECT_ACCESS_MOVE_SET;
    request.body = str_of(
        arena_printf(move->arena, begins ? "{\"step\":\"%s\",\"to\":\"%s\"}" : "{\"step\":\"%s\"}",
                     step, move->to.name));
    if (bus_client_send(move->bus, &request, move->arena, &answer, move->failure) != ST_OK)
        return ST_REFUSED;
    snprintf(move->step, sizeof(move->step), "%s", step);
    return ST_OK;
}

/* Where it is, and how far the move is that is under way. */
static enum status look_up(struct move *move, const char *to)
{
    struct bus_client_request request = *move->request;
    struct str answer;
    json_t *value = NULL;
    const json_t *under_way;
    bool is_sound;

    request.subject = SUBJECT_ACCESS_MOVE_GET;
    request.body = STR("");
    request.only_reads = true;
    if (bus_client_send(move->bus, &request, move->arena, &answer, move->failure) != ST_OK)
        return ST_REFUSED;
    is_sound = json_read(answer, &value, NULL);
    under_way = json_object_get(value, "move");
    if (is_sound && json_is_object(under_way)) {
        is_sound = cell_read(json_member_text(under_way, "from"), move->from.name) &&
                   cell_read(json_member_text(under_way, "to"), move->to.name);
        snprintf(move->step, sizeof(move->step), "%.*s",
                 STR_ARG(json_member_text(under_way, "step")));
    } else if (is_sound) {
        is_sound = cell_read(json_member_text(value, "cell"), move->from.name) &&
                   cell_read(to != NULL ? str_of(to) : STR_NONE, move->to.name);
    }
    json_free(value);
    if (!is_sound)
        return move_failed(move, "parameter_invalid", "the cell is not understood");
    if (move->step[0] != '\0' && to != NULL && strcmp(to, move->to.name) != 0)
        return move_failed(
            move, "conflict",
            arena_printf(move->arena, "it is on the move to cell %s", move->to.name));
    return ST_OK;
}

/* -- copying ----------------------------------------------------------------------------------- */

static enum status check(struct move *move, const char *org, const char **number,
                         const char **partitions)
{
    const char *dropped;

    if (move_ask(move, move->from.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move_answered(move->from.admin, READ_CELL_WAL_LEVEL), "logical") != 0)
        return move_failed(move, "conflict",
                           arena_printf(move->arena,
                                        "the database of cell %s needs wal_level = logical",
                                        move->from.name));
    *number = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_NUMBER));
    *partitions =
        arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_PARTITIONS));
    dropped = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_CELL_DROPPED));
    if (move_ask(move, move->to.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (move_is_true(move->to.admin, READ_CELL_HAS_ROWS) &&
        strcmp(move_answered(move->to.admin, READ_CELL_STATE), "arriving") != 0)
        return move_failed(
            move, "conflict",
            arena_printf(move->arena, "cell %s has rows of the organization", move->to.name));
    if (strcmp(dropped, move_answered(move->to.admin, READ_CELL_DROPPED)) != 0)
        return move_failed(
            move, "conflict",
            "the cells have dropped different months of the audit log: give them the "
            "same retention, and "
            "wait for it");
    return ST_OK;
}

/* Rows are copied and followed from here on. Each of these is safe to repeat; once there is a subscription, all
   of them have been done, and rows that have come are not for the other cell to seal. */
static enum status begin_copying(struct move *move, const char *org)
{
    const char *number = "", *partitions = "";

    if (check(move, org, &number, &partitions) != ST_OK)
        return ST_REFUSED;
    if (move_is_true(move->to.admin, READ_CELL_IS_SUBSCRIBED))
        return ST_OK;
    if (move_ask(move, move->to.admin, SQL_PREPARE_CELL, PARAMS(partitions, number)) != ST_OK ||
        move_ask(move, move->to.admin, SQL_SET_MOVING, PARAMS(org, "arriving")) != ST_OK ||
        !move_await(move, move->to.admin, SQL_IS_SEALED, PARAMS(number), "t", SEAL_MS, LOOK_MS) ||
        move_ask(move, move->from.admin, SQL_PUBLISH, PARAMS(org)) != ST_OK ||
        move_ask(move, move->from.admin, SQL_CREATE_SLOT, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    return move_ask(move, move->to.admin, SQL_SUBSCRIBE, PARAMS(org, move->from_url));
}

/* However long it takes, as long as it does not fail. */
static enum status await_copy(struct move *move, const char *org)
{
    for (;;) {
        if (move_ask(move, move->to.admin, SQL_READ_COPYING, PARAMS(org)) != ST_OK)
            return ST_REFUSED;
        if (strcmp(move_answered(move->to.admin, READ_COPYING_FAILURES), "0") != 0)
            return move_failed(
                move, "server_error",
                arena_printf(move->arena,
                             "rows cannot be copied: the log of cell %s's database says why",
                             move->to.name));
        if (move_is_true(move->to.admin, READ_COPYING_IS_COPIED)) {
            if (move_ask(move, move->from.admin, SQL_READ_LAG, PARAMS(org, NULL)) != ST_OK)
                return ST_REFUSED;
            if (strtoll(move_answered(move->from.admin, READ_LAG_LAG), NULL, 10) < LAG_MAX)
                return ST_OK;
        }
        move_pause(LOOK_MS);
    }
}

/* -- closing ----------------------------------------------------------------------------------- */

/* All that services do from now on knows of the state. */
static bool set_state(struct move *move, const char *org, const char *state, int timeout_ms)
{
    const char *since;

    if (move_ask(move, move->from.admin, SQL_SET_MOVING, PARAMS(org, state)) != ST_OK)
        return false;
    since = arena_printf(move->arena, "%s", move_answered(move->from.admin, 0));
    return move_await(move, move->from.admin, SQL_COUNT_OLDER, PARAMS(since), "0", timeout_ms,
                      PAUSE_MS);
}

static bool drain(struct move *move, const char *org)
{
    return set_state(move, org, "leaving", DRAIN_MS) &&
           move_await(move, move->from.admin, SQL_COUNT_CLAIMS, PARAMS(org), "0", DRAIN_MS,
                      PAUSE_MS);
}

/* Until the other cell has all that is there now. */
static bool catch_up(struct move *move, const char *org, int64_t until_us)
{
    const char *end;

    if (move_ask(move, move->from.admin, SQL_READ_LAG, PARAMS(org, NULL)) != ST_OK)
        return false;
    end = arena_printf(move->arena, "%s", move_answered(move->from.admin, READ_LAG_WAL_END));
    while (move_ask(move, move->from.admin, SQL_READ_LAG, PARAMS(org, end)) == ST_OK) {
        if (strtoll(move_answered(move->from.admin, READ_LAG_LAG), NULL, 10) <= 0)
            return true;
        if (clock_mono_us() >= until_us) {
            (void)move_failed(
                move, "timeout",
                "the other cell does not keep up; nothing has changed, try again later");
            return false;
        }
        move_pause(PAUSE_MS);
    }
    return false;
}

/* The same in both; *rows: of the first cell. */
static bool compare(struct move *move, const char *org, bool is_exact, struct db_admin *from,
                    struct db_admin *to, int64_t *rows)
{
    const char *const exact = is_exact ? "true" : "false";

    *rows = 0;
    if (move_ask(move, from, SQL_SUM_ROWS, PARAMS(org, exact)) != ST_OK ||
        move_ask(move, to, SQL_SUM_ROWS, PARAMS(org, exact)) != ST_OK)
        return false;
    for (size_t i = 0; i < db_admin_rows(from); i++) {
        const char *here = db_admin_value(from, i, SUM_ROWS_SUMS);
        const char *there = i < db_admin_rows(to) ? db_admin_value(to, i, SUM_ROWS_SUMS) : NULL;

        *rows += strtoll(here, NULL, 10);
        if (there == NULL || strcmp(here, there) != 0) {
            (void)move_failed(move, "server_error",
                              arena_printf(move->arena, "%s differs: %s in cell %s, %s in cell %s",
                                           db_admin_value(from, i, SUM_ROWS_NAME), here,
                                           move->from.name, there != NULL ? there : "nothing",
                                           move->to.name));
            return false;
        }
    }
    return true;
}

/* The moment that both are in now stays to be looked at. */
static bool hold(struct move *move, struct db_admin *on)
{
    if (db_admin_script(on, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM audit.moving") ==
        ST_OK)
        return true;
    (void)move_failed(move, "server_error", arena_printf(move->arena, "%s", db_admin_error(on)));
    return false;
}

/* If that fails, the connection has ended, and the moment with it. */
static void let_go(struct move *move)
{
    enum status st = db_admin_script(move->from.snapshot, "ROLLBACK");

    if (st == ST_OK)
        st = db_admin_script(move->to.snapshot, "ROLLBACK");
    if (st != ST_OK)
        (void)move_failed(move, "server_error", "the link to a cell's database was lost");
}

/* Closed, and all of it in the other cell; or as before, in time. */
static bool close_once(struct move *move, const char *org)
{
    int64_t until_us;

    move->closed_us = clock_mono_us();
    until_us = move->closed_us + CLOSED_MS * INT64_C(1000);
    return set_state(move, org, "closed", CLOSED_MS) && catch_up(move, org, until_us) &&
           hold(move, move->from.snapshot) && hold(move, move->to.snapshot) &&
           compare(move, org, move->rows <= EXACT_MAX, move->from.snapshot, move->to.snapshot,
                   &move->rows) &&
           clock_mono_us() < until_us &&
           move_ask(move, move->from.admin, SQL_KEEP_CLOSED, PARAMS(org)) == ST_OK &&
           move_answered(move->from.admin, 0)[0] != '\0';
}

static enum status close(struct move *move, const char *org)
{
    int64_t rows;

    if (!drain(move, org))
        return ST_REFUSED;
    /* Reads what is going to be compared, so that it is in memory, and how much that is. */
    (void)compare(move, org, false, move->from.admin, move->to.admin, &rows);
    move->rows = rows;
    for (int i = 0; i < TRIES; i++) {
        if (close_once(move, org))
            return ST_OK;
        let_go(move);
        /* What was passed over by the seal meanwhile comes next, and then all is as before. */
        if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org)) != ST_OK || !drain(move, org))
            return ST_REFUSED;
    }
    return move->failure->code != NULL
               ? ST_REFUSED
               : move_failed(move, "timeout", "it would be closed for too long");
}

/* -- the steps --------------------------------------------------------------------------------- */

static enum status copy(struct move *move, const char *org)
{
    /* A move that was interrupted may have left it closed. */
    if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org)) != ST_OK ||
        begin_copying(move, org) != ST_OK || await_copy(move, org) != ST_OK ||
        close(move, org) != ST_OK)
        return ST_REFUSED;
    return tell(move, "switching");
}

static enum status go_over(struct move *move, const char *org)
{
    if (move_ask(move, move->to.admin, SQL_OPEN, PARAMS(org)) != ST_OK ||
        tell(move, "switched") != ST_OK)
        return ST_REFUSED;
    if (move->closed_us > 0)
        move->closed_ms = (clock_mono_us() - move->closed_us) / 1000;
    return ST_OK;
}

static enum status stop_copying(struct move *move, const char *org)
{
    const int64_t until_us = clock_mono_us() + DRAIN_MS * INT64_C(1000);

    if (move_ask(move, move->to.admin, SQL_UNSUBSCRIBE, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    /* The slot is in use until the other server has noticed. */
    while (move_ask(move, move->from.admin, SQL_UNPUBLISH, PARAMS(org)) != ST_OK) {
        if (clock_mono_us() >= until_us)
            return ST_REFUSED;
        move_pause(LOOK_MS);
    }
    return ST_OK;
}

static enum status delete_rows(struct move *move, struct cell *cell, const char *org)
{
    const char *const most = arena_printf(move->arena, "%d", DELETE_ROWS);

    do
        if (move_ask(move, cell->admin, SQL_DELETE_ROWS, PARAMS(org, most)) != ST_OK)
            return ST_REFUSED;
    while (strcmp(move_answered(cell->admin, 0), "0") != 0);
    return ST_OK;
}

/* Rows too many to be compared while it was closed are compared as they were then. */
static enum status clean_up(struct move *move, const char *org, json_int_t grace_s)
{
    const bool is_left = move->closed_us > 0 && move->rows > EXACT_MAX;
    int64_t rows;

    if (stop_copying(move, org) != ST_OK ||
        (is_left && !compare(move, org, true, move->from.snapshot, move->to.snapshot, &rows)))
        return ST_REFUSED;
    let_go(move);
    move_pause((int)grace_s * 1000);
    if (delete_rows(move, &move->from, org) != ST_OK)
        return ST_REFUSED;
    return tell(move, "done");
}

static enum status abort_move(struct move *move, const char *org)
{
    if (strcmp(move->step, "copying") != 0)
        return move_failed(move, "conflict",
                           move->step[0] == '\0'
                               ? "it is not on the move"
                               : "it is too late: the same call without --abort goes on");
    if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org)) != ST_OK ||
        stop_copying(move, org) != ST_OK || delete_rows(move, &move->to, org) != ST_OK ||
        move_ask(move, move->to.admin, SQL_OPEN, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    return tell(move, "aborted");
}

static enum status run(struct move *move, bool is_aborted, json_int_t grace_s)
{
    const char *const org = move->request->organization;

    if (is_aborted)
        return abort_move(move, org);
    if (move->step[0] == '\0' && tell(move, "copying") != ST_OK)
        return ST_REFUSED;
    if (strcmp(move->step, "copying") == 0 && copy(move, org) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move->step, "switching") == 0 && go_over(move, org) != ST_OK)
        return ST_REFUSED;
    return clean_up(move, org, grace_s);
}

static struct str describe(const struct move *move)
{
    return str_of(arena_printf(
        move->arena,
        "{\"id\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"step\":\"%s\",\"rows\":%" PRId64
        ",\"closed_ms\":%" PRId64 "}",
        move->request->organization, move->from.name, move->to.name, move->step, move->rows,
        move->closed_ms));
}

enum status cell_move(const struct bus_client_request *request, const json_t *body,
                      const char *databases, struct arena *arena, struct str *answer,
                      struct convctl_failure *failure)
{
    struct move move = {.request = request, .arena = arena, .failure = failure};
    const char *const to = json_string_value(json_object_get(body, "to"));
    const json_t *const grace = json_object_get(body, "grace");
    const bool is_aborted = json_object_get(body, "abort") != NULL;
    enum status st;

    *failure = (struct convctl_failure){NULL, NULL};
    if (!is_aborted && to == NULL)
        return move_failed(&move, "usage", "--to CELL or --abort is required");
    move.bus = bus_client_open(request, failure);
    if (move.bus == NULL)
        return ST_REFUSED;
    st = look_up(&move, to);
    if (st == ST_OK && move.step[0] == '\0' && !is_aborted &&
        strcmp(move.from.name, move.to.name) == 0)
        st = move_failed(&move, "conflict", "it is there already");
    if (st == ST_OK)
        st = move_open_cells(&move, databases);
    if (st == ST_OK)
        st = run(&move, is_aborted, grace != NULL ? json_integer_value(grace) : GRACE_S);
    if (st == ST_OK)
        *answer = describe(&move);
    move_close_cells(&move);
    bus_client_close(move.bus);
    return st;
}
