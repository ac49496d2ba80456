#include "services/audit/audit.h"

#include <stdlib.h>

#include "audit_sql.h"
#include "common/actor/operator_command.h"
#include "common/base/ip.h"
#include "common/base/text.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"

/*
 * audit.record - appends changes that another service has made to the log of changes.
 *
 * Answer   ok, without a body; or invalid_json, parameter_invalid, parameter_not_found naming the
 *          member; then no change of the message is written
 * Retry    safe: a change that the log has already stays as it is
 */

/* The table's bounds are in bytes. What is accepted here must not fail there: that would look like
   an internal error. */
enum { CHANGES_MAX = 200, TEXT_MAX = 1024, DETAIL_MAX = 65536 };

/* A clock may be ahead, but not so far that the change is listed above later ones for long. */
#define AHEAD_MAX_US (INT64_C(24) * 60 * 60 * 1000 * 1000)

struct recorded_change {
    struct uuid organization_id, id, user_id; /* the last may be nil: an operator */
    struct str who, change, target, detail, address;
};

/* -- members ----------------------------------------------------------------------------------- */

static void id_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct uuid id;

    if (!uuid_parse(json_text(value), &id) || uuid_is_nil(&id))
        errors_add(errors, "parameter_invalid", path, "must be a UUID in lower case, not nil");
    else
        *(struct uuid *)slot = id;
}

static void text_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str text = json_text(value);

    if (text.p == NULL || text.n > TEXT_MAX || text_has_nul(text))
        errors_add(errors, "parameter_invalid", path,
                   "must be a string of at most %d bytes without U+0000", TEXT_MAX);
    else
        *(struct str *)slot = arena_str(errors->arena, text);
}

static void who_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    if (json_text(value).n == 0)
        errors_add(errors, "parameter_invalid", path, "must be a string that is not empty");
    else
        text_read(value, path, slot, errors);
}

static void change_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str text = json_text(value);

    for (int i = CHANGE_NONE + 1; i < CHANGE_COUNT; i++) {
        if (str_equal(text, str_of(change_name((enum change)i)))) {
            *(struct str *)slot = str_of(change_name((enum change)i));
            return;
        }
    }
    errors_add(errors, "parameter_invalid", path, "must be the name of a change");
}

static void detail_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    char *text = json_is_object(value) ? json_dumps(value, JSON_COMPACT) : NULL;
    const struct str detail = text != NULL ? str_of(text) : STR_NONE;

    if (detail.n == 0 || detail.n > DETAIL_MAX)
        errors_add(errors, "parameter_invalid", path, "must be an object of at most %d bytes",
                   DETAIL_MAX);
    else
        *(struct str *)slot = arena_str(errors->arena, detail);
    free(text);
}

static void address_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str text = json_text(value);
    struct address address;

    if (!address_parse(text, &address))
        errors_add(errors, "parameter_invalid", path, "must be one exact IPv4 or IPv6 address");
    else
        *(struct str *)slot = arena_str(errors->arena, text);
}

#define MEMBER(member_, reader, must_be)                                                           \
    {                                                                                              \
        .name = #member_, .kind = FIELD_CUSTOM, .required = (must_be), .read = (reader),           \
        .offset = offsetof(struct recorded_change, member_)                                        \
    }

static const struct field change_fields[] = {
    MEMBER(organization_id, id_read, true),
    MEMBER(id, id_read, true),
    MEMBER(who, who_read, true),
    MEMBER(user_id, id_read, false),
    MEMBER(change, change_read, true),
    MEMBER(target, text_read, false),
    MEMBER(detail, detail_read, true),
    MEMBER(address, address_read, false),
    FIELDS_END,
};

/* -- the body ---------------------------------------------------------------------------------- */

struct recorded_changes {
    struct recorded_change *at;
    size_t n;
};

static void changes_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct recorded_changes *changes = slot;
    const size_t n = json_array_size(value);

    if (n == 0 || n > CHANGES_MAX) {
        errors_add(errors, "parameter_invalid", path, "must be an array of 1 to %d changes",
                   CHANGES_MAX);
        return;
    }
    changes->at = ARENA_ARRAY(errors->arena, struct recorded_change, n);
    changes->n = n;
    for (size_t i = 0; i < n && errors->n == 0; i++)
        fields_read(json_array_get(value, i), arena_printf(errors->arena, "%s[%zu]", path, i),
                    change_fields, &changes->at[i], errors);
}

static const struct field record_fields[] = {
    {.name = "changes", .kind = FIELD_CUSTOM, .required = true, .read = changes_read},
    FIELDS_END,
};

/* Ids carry the time of the change. */
static enum status check_times(struct command *command, const struct recorded_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct uuid *id = &changes->at[i].id;

        if (id->b[6] >> 4 != 7 || uuid_v7_ms(id) > (command->received_us + AHEAD_MAX_US) / 1000)
            return command_refuse(command, OUTCOME_PARAMETER_INVALID,
                                  arena_printf(command->arena, "changes[%zu].id", i),
                                  "must be a UUIDv7 whose time is not in the future");
    }
    return ST_OK;
}

/* The parameters of sql/record_changes.sql, in PostgreSQL's array syntax. */
enum { ORGANIZATION_ID, ID, WHO, USER_ID, CHANGE, TARGET, DETAIL, ADDRESS, COLUMNS };

static void add_row(struct buf columns[COLUMNS], const struct recorded_change *change)
{
    array_add_id(&columns[ORGANIZATION_ID], &change->organization_id);
    array_add_id(&columns[ID], &change->id);
    array_add(&columns[WHO], change->who);
    if (uuid_is_nil(&change->user_id))
        array_add(&columns[USER_ID], STR_NONE);
    else
        array_add_id(&columns[USER_ID], &change->user_id);
    array_add_plain(&columns[CHANGE], change->change);
    array_add(&columns[TARGET], change->target);
    array_add(&columns[DETAIL], change->detail);
    array_add(&columns[ADDRESS], change->address);
}

static enum status record_parse(struct command *command, void *service)
{
    const struct recorded_changes *changes = command->input;
    struct operator_query *query = operator_query_of(command, SQL_RECORD_CHANGES);
    struct buf columns[COLUMNS];
    enum status st = check_times(command, changes);

    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < COLUMNS; i++)
        array_open(&columns[i], command->arena, 64 * changes->n);
    for (size_t i = 0; i < changes->n; i++)
        add_row(columns, &changes->at[i]);
    for (size_t i = 0; i < COLUMNS; i++)
        params_add(&query->params, array_close(&columns[i]));
    return ST_OK;
}

const struct command_handler audit_record = {
    .subject = SUBJECT_AUDIT_RECORD,
    .writes = true,
    .fields = record_fields,
    .input_size = sizeof(struct recorded_changes),
    .parse = record_parse,
    .query = operator_query,
};
