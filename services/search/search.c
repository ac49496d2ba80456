/*
 * search.conversations - one page of a contact's conversations, newest first.
 *
 * Answer   ok: conversation.list; or parameter_invalid, parameter_not_found, invalid_json,
 *          invalid_field, invalid_operator, invalid_cursor
 * Cursor   the place of the page's last conversation, bound to the query; see place.h
 */
#include "services/search/search.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/resource/conversation_json.h"
#include "common/wire/fields.h"
#include "services/search/plan.h"

#define REST_ROOM 640 /* bytes of a conversation, or of the list, beside its values */

struct search_state {
    struct query query;
    struct str binding;
    struct place behind; /* its page is 1 where there is no cursor */
    size_t found;        /* index of the statement */
};

enum status search_judge(struct command *command, void *service)
{
    const struct search *self = service;
    struct search_state *state = ARENA_NEW(command->arena, struct search_state);

    if (!query_read(command->body, &state->query, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    state->binding = query_binding(&state->query, &command->caller.organization_id, command->arena);
    state->behind.page = 1;
    if (state->query.starting_after.p != NULL &&
        !place_read(state->query.starting_after, &self->keys, state->binding, clock_us(),
                    &state->behind))
        return command_refuse(command, OUTCOME_INVALID_CURSOR, "pagination.starting_after",
                              "is not a cursor of this search, or has expired");
    command->state = state;
    return ST_OK;
}

void search_ask(struct command *command, struct db *db, void *service)
{
    struct search_state *state = command->state;
    const struct place *behind = state->query.starting_after.p != NULL ? &state->behind : NULL;
    struct plan plan;

    plan_make(&state->query, &command->caller.organization_id, behind, command->arena, &plan);
    state->found = db_add(db, (int)plan.statement, plan.params, plan.n);
}

static void add_text(struct buf *out, const char *key, struct str value)
{
    json_add_key(out, key);
    json_add_string(out, value);
}

static void add_integer(struct buf *out, const char *key, int64_t value)
{
    json_add_key(out, key);
    buf_int(out, value);
}

static void add_next(struct buf *out, const struct search *self, const struct search_state *state,
                     const struct db_rows *rows, size_t last)
{
    struct place place = {.created_us = db_value_int(rows, last, PLAN_CREATED_US),
                          .page = state->behind.page + 1};
    char text[CURSOR_TEXT_MOST + 1];

    must(uuid_parse(db_value(rows, last, PLAN_CONVERSATION + CONVERSATION_ID), &place.id));
    place_write(&place, &self->keys, state->binding, clock_us(), text);
    json_add_key(out, "next");
    buf_char(out, '{');
    add_text(out, "starting_after", str_of(text));
    buf_char(out, '}');
}

/* `shown` of the rows are the page's; one more means that there is a next page. */
static void add_pages(struct buf *out, const struct search *self, const struct search_state *state,
                      const struct db_rows *rows, size_t shown, bool is_last)
{
    json_add_key(out, "pages");
    buf_char(out, '{');
    add_text(out, "type", STR("pages"));
    add_integer(out, "page", state->behind.page);
    add_integer(out, "per_page", state->query.per_page);
    if (!is_last)
        add_next(out, self, state, rows, shown - 1);
    buf_char(out, '}');
}

/* An empty page is one row without a conversation. */
static size_t count_found(const struct db_rows *rows)
{
    size_t n = db_rows_count(rows);

    must(n > 0);
    return db_value(rows, 0, PLAN_CONVERSATION + CONVERSATION_ID).p != NULL ? n : 0;
}

/* So that the reply, which may be megabytes, is not moved while it grows. */
static size_t room_for(const struct db_rows *rows, size_t shown)
{
    size_t room = REST_ROOM;

    for (size_t i = 0; i < shown; i++) {
        room += REST_ROOM;
        for (int column = 0; column < CONVERSATION_COLUMNS; column++)
            room += db_value(rows, i, PLAN_CONVERSATION + column).n;
    }
    return room;
}

enum status search_tell(struct command *command, struct db *db, void *service)
{
    const struct search_state *state = command->state;
    const struct db_rows *rows = db_result(db, state->found);
    const size_t most = (size_t)state->query.per_page, found = count_found(rows);
    const size_t shown = found > most ? most : found;
    const struct str contact_id = db_value(rows, 0, PLAN_CONVERSATION + CONVERSATION_CONTACT_ID);
    struct buf *out = &command->reply;

    if (contact_id.p != NULL)
        must(uuid_parse(contact_id, &command->contact_id));
    buf_init(out, command->arena, room_for(rows, shown));
    buf_char(out, '{');
    add_text(out, "type", STR("conversation.list"));
    json_add_key(out, "conversations");
    buf_char(out, '[');
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        conversation_write(out, rows, i, PLAN_CONVERSATION);
    }
    buf_char(out, ']');
    add_integer(out, "total_count", db_value_int(rows, 0, PLAN_TOTAL));
    add_pages(out, service, state, rows, shown, shown == found);
    buf_char(out, '}');
    return ST_OK;
}
