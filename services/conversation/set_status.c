/*
 * conversation.set-status - move a conversation to another status.
 *
 * Answer   ok: the conversation, also if it had that status already; or the errors of the body;
 *          not_found, conflict (the transition is not allowed)
 * Event    ai.handoff on entering human_takeover, through the outbox
 * Retry    safe: setting the current status again is neither an error nor an event
 */
#include "common/db/params.h"
#include "common/model/conversation_model.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

static const struct move {
    const char *from, *to;
} moves[] = {
    {"active", "waiting"},        {"active", "human_takeover"},  {"active", "resolved"},
    {"waiting", "active"},        {"waiting", "human_takeover"}, {"waiting", "resolved"},
    {"human_takeover", "active"}, {"human_takeover", "waiting"}, {"human_takeover", "resolved"},
    {"resolved", "active"},       {"resolved", "archived"},      {"archived", "resolved"},
};

bool conversation_status_is_same(struct str a, struct str b)
{
    return str_equal(conversation_status_shown(a), conversation_status_shown(b));
}

bool conversation_status_may_become(struct str from, struct str to)
{
    for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
        if (str_equal(conversation_status_shown(from), str_of(moves[i].from)) &&
            str_equal(to, str_of(moves[i].to)))
            return true;
    }
    return false;
}

struct str conversation_status_sources(struct arena *arena, struct str to)
{
    struct buf list;

    array_open(&list, arena, 64);
    for (size_t i = 0; i < CONVERSATION_STORED_STATUSES; i++) {
        const struct str stored = str_of(conversation_stored_statuses[i]);

        if (conversation_status_may_become(stored, to))
            array_add_plain(&list, stored);
    }
    return array_close(&list);
}

struct set_status {
    struct str id, status;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct set_status, id)},
    {.name = "status",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = conversation_status_names,
     .offset = offsetof(struct set_status, status)},
    FIELDS_END,
};

static enum status set_status_parse(struct command *command, void *service)
{
    struct set_status *set = command->input;

    if (!uuid_parse(set->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    return ST_OK;
}

static void set_status_query(struct command *command, struct db *db, void *service)
{
    struct set_status *set = command->input;

    set->result = db_add(db, SQL_SET_STATUS,
                         PARAMS(conversation_organization_param(command), set->id, set->status,
                                conversation_status_sources(command->arena, set->status),
                                conversation_new_id_param(command)));
}

static enum status set_status_reply(struct command *command, struct db *db, void *service)
{
    const struct set_status *set = command->input;
    const struct db_rows *rows = db_result(db, set->result);
    struct str was;

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, SET_STATUS_IS_LOCKED))
        return ST_RETRY;
    was = db_value(rows, 0, SET_STATUS_WAS);
    if (was.p == NULL)
        return conversation_refuse_absent(command);
    command_note(command, "was", was);
    if (db_value_bool(rows, 0, SET_STATUS_IS_MOVED)) {
        if (str_equal(set->status, STR("human_takeover")))
            command->notice = SUBJECT_NOTICE_EVENTS;
    } else if (conversation_status_is_same(was, set->status)) {
        command->is_no_change = true;
    } else {
        return command_refuse(command, OUTCOME_CONFLICT, "status",
                              "cannot change from %.*s to %.*s", STR_ARG(was),
                              STR_ARG(set->status));
    }
    return conversation_reply_row(command, rows, 0, SET_STATUS_CONVERSATION);
}

const struct command_handler conversation_set_status = {
    .subject = SUBJECT_CONVERSATION_SET_STATUS,
    .change = CHANGE_CONVERSATION_SET_STATUS,
    .writes = true,
    .needs_organization = true,
    .fields = fields,
    .input_size = sizeof(struct set_status),
    .parse = set_status_parse,
    .query = set_status_query,
    .reply = set_status_reply,
};
