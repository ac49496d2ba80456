#include "services/convctl/cell_move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "proto/subject.h"
#include "services/convctl/move_close.h"
#include "services/convctl/move_copy.h"
#include "services/convctl/move_lost.h"
#include "services/convctl/move_room.h"

enum {
    TELLS = 10,
    TELL_MS = 500,
    LOCK_MS = 3000,
    LOCK_AGAIN_MS = 100,
    GRACE_S = 60,
    GIVE_UP_S = 60,
    SECONDS_MAX = 24 * 3600,
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

/* Reads from the directory the organization's cell and the progress of its move. */
static enum status look_up(struct move *move, const char *to)
{
    struct bus_client_request request = *move->request;
    struct str answer;
    json_t *value = NULL;
    const json_t *under_way;
    bool is_sound;

    move->step[0] = '\0';
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
                   (to == NULL || cell_read(str_of(to), move->to.name));
    }
    json_free(value);
    if (!is_sound)
        return move_failed(move, "parameter_invalid", "the cell's name is invalid");
    if (move->step[0] != '\0' && to != NULL && strcmp(to, move->to.name) != 0)
        return move_failed(move, "conflict",
                           arena_printf(move->arena,
                                        "the organization is already moving to cell %s",
                                        move->to.name));
    return ST_OK;
}

/* -- the steps --------------------------------------------------------------------------------- */

/* Retries, as bus or directory may be down for a moment. Recording a step twice does no harm. */
static enum status tell_again(struct move *move, const char *step)
{
    enum status st = tell(move, step);

    for (int i = 1; i < TELLS && st != ST_OK && strcmp(move->failure->code, "conflict") != 0; i++) {
        move_pause(TELL_MS);
        st = tell(move, step);
    }
    return st;
}

/* The next step can be recorded: the directory is there, and nobody has ended the move. */
static enum status is_ready(struct move *move)
{
    if (look_up(move, NULL) != ST_OK)
        return ST_REFUSED;
    return strcmp(move->step, "copying") == 0
               ? ST_OK
               : move_failed(move, "conflict", "the directory has ended the move");
}

static enum status copy(struct move *move, const char *org)
{
    move_show(move, "copying from cell %s to cell %s", move->from.name, move->to.name);
    /* An interrupted move may have left it closed. */
    if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org, NULL)) != ST_OK ||
        move_copy(move, org) != ST_OK || move_await_changes(move, org) != ST_OK ||
        move_close(move, org, is_ready) != ST_OK)
        return ST_REFUSED;
    move_show(move, "closed in cell %s", move->from.name);
    return tell_again(move, "switching");
}

/* Until the new cell is open, nobody writes in either. */
static enum status hold_both(struct move *move, const char *org)
{
    if (move_ask(move, move->to.admin, SQL_READ_STATE, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move_answered(move->to.admin, 0), "arriving") != 0)
        return ST_OK;
    if (move_hold(move, move->from.bulk) != ST_OK || move_hold(move, move->to.bulk) != ST_OK)
        return ST_REFUSED;
    move->sees_switch = true;
    return ST_OK;
}

/* Stops following the old cell, whose rows stay as they are, and opens the new one. */
static enum status go_over(struct move *move, const char *org)
{
    if (move_ask(move, move->from.admin, SQL_READ_STATE, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move_answered(move->from.admin, 0), "gone") != 0)
        return move_failed(
            move, "conflict",
            arena_printf(move->arena,
                         "cell %s still serves the organization: --abort undoes the move",
                         move->from.name));
    move->is_held = true;
    if (move_ask(move, move->to.admin, SQL_DISABLE, PARAMS(org)) != ST_OK ||
        hold_both(move, org) != ST_OK ||
        move_ask(move, move->to.admin, SQL_OPEN, PARAMS(org, move->unsealed_since)) != ST_OK ||
        tell_again(move, "switched") != ST_OK)
        return ST_REFUSED;
    move->is_held = false;
    if (move->closed_us > 0)
        move->closed_ms = (clock_mono_us() - move->closed_us) / 1000;
    move_show(move, "open in cell %s", move->to.name);
    return ST_OK;
}

/* Compares all rows as of the switch. Only the call that has opened the new cell sees them so. As
   long as the publication is there, none has. */
static enum status compare_switched(struct move *move, const char *org, bool is_unchecked)
{
    if (move->sees_switch) {
        move_show(move, "comparing all rows");
        if (move_compare(move, org) != ST_OK || move_let_go(move, move->from.bulk) != ST_OK)
            return ST_REFUSED;
        return move_let_go(move, move->to.bulk);
    }
    if (move_ask(move, move->from.admin, SQL_READ_CELL, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    if (!move_is_true(move->from.admin, READ_CELL_IS_PUBLISHED) || is_unchecked)
        return ST_OK;
    return move_failed(
        move, "conflict",
        arena_printf(move->arena,
                     "the organization is now in cell %s; its rows in cell %s, which the "
                     "interrupted call has compared when they were copied and not after the "
                     "switch, are not deleted unless --unchecked is given",
                     move->to.name, move->from.name));
}

static enum status clean_up(struct move *move, const char *org, json_int_t grace_s,
                            bool is_unchecked)
{
    if (compare_switched(move, org, is_unchecked) != ST_OK ||
        move_stop_following(move, org) != ST_OK)
        return ST_REFUSED;
    move_show(move, "deleting the rows in cell %s in %d seconds", move->from.name, (int)grace_s);
    move_pause((int)grace_s * 1000); /* at most a day */
    if (move_delete_rows(move, &move->from, org) != ST_OK)
        return ST_REFUSED;
    return tell(move, "done");
}

/* Before the switch, always. During it, only if the old cell still serves the organization, or the
   new one never will. */
static enum status may_abort(struct move *move, const char *org)
{
    if (strcmp(move->step, "copying") == 0)
        return ST_OK;
    if (move->step[0] == '\0')
        return move_failed(move, "conflict", "the organization is not being moved");
    if (strcmp(move->step, "switching") == 0) {
        if (move->is_lost)
            return ST_OK;
        if (move_ask(move, move->from.admin, SQL_READ_STATE, PARAMS(org)) != ST_OK)
            return ST_REFUSED;
        if (strcmp(move_answered(move->from.admin, 0), "gone") != 0)
            return ST_OK;
    }
    return move_failed(
        move, "conflict",
        strcmp(move->step, "switched") == 0 && move->is_lost
            ? arena_printf(move->arena, "it is too late to abort: cell %s has the organization",
                           move->to.name)
            : "it is too late to abort: run the command without --abort to resume the move");
}

/* Rows that this move did not bring stay: they may be a newer copy than the one in the directory,
   if the directory was restored from a backup. */
static enum status abort_both(struct move *move, const char *org)
{
    bool has_brought;

    if (move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org, NULL)) != ST_OK ||
        move_ask(move, move->to.admin, SQL_READ_STATE, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    has_brought = strcmp(move_answered(move->to.admin, 0), "arriving") == 0;
    if (move_stop_following(move, org) != ST_OK)
        return ST_REFUSED;
    if (!has_brought)
        return ST_OK;
    if (move_delete_rows(move, &move->to, org) != ST_OK)
        return ST_REFUSED;
    return move_ask(move, move->to.admin, SQL_OPEN, PARAMS(org, NULL));
}

static enum status abort_move(struct move *move, const char *org)
{
    if (may_abort(move, org) != ST_OK ||
        (move->is_lost ? move_end_alone(move, org) : abort_both(move, org)) != ST_OK)
        return ST_REFUSED;
    return tell(move, "aborted");
}

static enum status take_steps(struct move *move, bool is_aborted, json_int_t grace_s,
                              bool is_unchecked)
{
    const char *const org = move->request->organization;

    if (is_aborted)
        return abort_move(move, org);
    if (move->step[0] == '\0' &&
        (move_expect_room(move, org) != ST_OK || tell(move, "copying") != ST_OK))
        return ST_REFUSED;
    if (strcmp(move->step, "copying") == 0 && copy(move, org) != ST_OK)
        return ST_REFUSED;
    if (strcmp(move->step, "switching") == 0 && go_over(move, org) != ST_OK)
        return ST_REFUSED;
    return clean_up(move, org, grace_s, is_unchecked);
}

/* Opens the organization in the old cell again if it is not open in the new one, where only this call
   would open it. The directory may have recorded the switch: then the move can only be aborted. */
static void open_again(struct move *move, const char *org)
{
    const struct convctl_failure why = *move->failure;
    const char *end = "the organization is closed until this call is repeated";

    if (move_ask(move, move->to.admin, SQL_READ_STATE, PARAMS(org)) == ST_OK &&
        strcmp(move_answered(move->to.admin, 0), "arriving") == 0 &&
        move_ask(move, move->from.admin, SQL_OPEN, PARAMS(org, NULL)) == ST_OK)
        end =
            arena_printf(move->arena, "cell %s serves the organization again: %s", move->from.name,
                         strcmp(move->step, "copying") == 0
                             ? "repeat the call to resume, or undo the move with --abort"
                             : "--abort undoes the move");
    *move->failure =
        (struct convctl_failure){why.code, arena_printf(move->arena, "%s; %s", why.message, end)};
}

static enum status run(struct move *move, bool is_aborted, json_int_t grace_s, bool is_unchecked)
{
    enum status st = take_steps(move, is_aborted, grace_s, is_unchecked);

    if (st != ST_OK && move->is_held)
        open_again(move, move->request->organization);
    return st;
}

static struct str describe(struct move *move)
{
    struct buf out;

    buf_init(&out, move->arena, 256);
    buf_add(&out,
            str_of(arena_printf(
                move->arena,
                "{\"id\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"step\":\"%s\",\"rows\":%" PRId64
                ",\"closed_ms\":%" PRId64,
                move->request->organization, move->from.name, move->to.name, move->step, move->rows,
                move->closed_ms)));
    if (move->is_lost) {
        json_add_key(&out, "left");
        json_add_string(&out, str_of(move_left_there(move)));
    }
    buf_char(&out, '}');
    return buf_str(&out);
}

/* A call that was killed keeps its lock for about a second: until its server notices. */
static bool lock(struct move *move, struct db_admin *on)
{
    if (move_await(move, on, SQL_LOCK_MOVE, PARAMS(move->request->organization), "t", LOCK_MS,
                   LOCK_AGAIN_MS))
        return true;
    if (strcmp(move->failure->code, "timeout") == 0)
        (void)move_failed(move, "conflict", "another call is moving the organization");
    return false;
}

/* Two concurrent calls would undo each other's steps. Reads the progress again once it holds the
   locks. */
static enum status have_alone(struct move *move, const char *to)
{
    if (!lock(move, move->from.admin) || (!move->is_lost && !lock(move, move->to.admin)))
        return ST_REFUSED;
    return look_up(move, to);
}

/* Some connections may be open even if this fails. */
static enum status begin(struct move *move, const char *to, const char *databases, bool is_aborted,
                         bool is_unchecked)
{
    if (look_up(move, to) != ST_OK)
        return ST_REFUSED;
    if (move->step[0] == '\0' && is_aborted)
        return move_failed(move, "conflict", "the organization is not being moved");
    if (move->step[0] == '\0' && strcmp(move->from.name, move->to.name) == 0)
        return move_failed(move, "conflict", "the organization is already in that cell");
    if (move_open_cells(move, databases, is_aborted && is_unchecked) == ST_OK)
        return have_alone(move, to);
    if (is_aborted && !is_unchecked && move->from.bulk != NULL &&
        strcmp(move->failure->code, "service_unavailable") == 0)
        move->failure->message = arena_printf(
            move->arena,
            "%s; if the database of cell %s is lost for good, --abort --unchecked ends "
            "the move without it",
            move->failure->message, move->to.name);
    return ST_REFUSED;
}

static json_int_t seconds_of(const json_t *body, const char *field, json_int_t fallback)
{
    const json_t *const given = json_object_get(body, field);

    return given != NULL ? json_integer_value(given) : fallback;
}

enum status cell_move(const struct bus_client_request *request, const json_t *body,
                      const char *databases, struct arena *arena, struct str *answer,
                      struct convctl_failure *failure)
{
    struct move move = {.request = request,
                        .arena = arena,
                        .failure = failure,
                        .shows_steps = isatty(STDERR_FILENO) == 1};
    const char *const to = json_string_value(json_object_get(body, "to"));
    const json_int_t grace_s = seconds_of(body, "grace", GRACE_S);
    const json_int_t give_up_s = seconds_of(body, "give_up", GIVE_UP_S);
    const bool is_aborted = json_object_get(body, "abort") != NULL;
    const bool is_unchecked = json_object_get(body, "unchecked") != NULL;
    enum status st;

    *failure = (struct convctl_failure){NULL, NULL};
    if (!is_aborted && to == NULL)
        return move_failed(&move, "usage", "--to CELL or --abort is required");
    if (grace_s < 0 || grace_s > SECONDS_MAX)
        return move_failed(&move, "usage", "--grace must be from 0 to 86400");
    if (give_up_s < 1 || give_up_s > SECONDS_MAX)
        return move_failed(&move, "usage", "--give-up must be from 1 to 86400");
    move.give_up_s = (int)give_up_s;
    move.bus = bus_client_open(request, arena, failure);
    if (move.bus == NULL)
        return ST_REFUSED;
    st = begin(&move, to, databases, is_aborted, is_unchecked);
    if (st == ST_OK)
        st = run(&move, is_aborted, grace_s, is_unchecked);
    if (st == ST_OK)
        *answer = describe(&move);
    move_close_cells(&move);
    bus_client_close(move.bus);
    return st;
}
