#include "common/base/cell.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/access/access.h"

/*
 * move-get, move-set - read and record the step of an organization's move to another cell.
 *
 * `convctl cell move` (services/convctl/cell_move.h) moves the rows and records each step here
 * before it begins, so that it, or another process, can continue after an interruption. `switched`
 * makes the other cell the organization's. Before that the move may be aborted; the mover decides
 * whether that is safe.
 *
 * Answer   ok: of move-get {id, cell, move: {organization, from, to, step, started_at} or null}, of
 *          move-set {id, step}; or parameter_invalid, parameter_not_found, not_found, conflict if
 *          the move is at another step
 * Notice   v1.notice.access after a change
 * Retry    idempotent, except `aborted` and `done`: the second time there is no move to end
 */

static const char *const steps[] = {"copying", "switching", "switched", "aborted", "done", NULL};

struct move_set {
    struct str step, to;
};

static const struct field fields[] = {
    {.name = "step",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = steps,
     .offset = offsetof(struct move_set, step)},
    {.name = "to",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = CELL_NAME_MAX,
     .offset = offsetof(struct move_set, to)},
    FIELDS_END,
};

static enum status move_set_parse(struct command *command, void *service)
{
    const struct access *self = service;
    const struct move_set *body = command->input;
    const bool begins = str_equal(body->step, STR("copying"));
    struct operator_query *query = access_for_organization(command, SQL_SET_MOVE);

    if (begins && body->to.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "to", "is required");
    if (body->to.p != NULL && (!begins || !cell_is_listed(str_of(self->cells), body->to)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "to",
                              "must be an existing cell, and goes with copying");
    params_add(&query->params, body->step);
    params_add(&query->params, body->to);
    return ST_OK;
}

const struct command_handler access_move_set = {
    .subject = SUBJECT_ACCESS_MOVE_SET,
    .change = CHANGE_ORGANIZATION_MOVE,
    .writes = true,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct move_set),
    .parse = move_set_parse,
    .query = operator_query,
    .reply = access_reply_change,
};

static enum status move_get_parse(struct command *command, void *service)
{
    access_for_organization(command, SQL_READ_MOVE);
    return ST_OK;
}

const struct command_handler access_move_get = {
    .subject = SUBJECT_ACCESS_MOVE_GET,
    .needs_organization = true,
    .parse = move_get_parse,
    .query = operator_query,
    .reply = access_reply,
};
