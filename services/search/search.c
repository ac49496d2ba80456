/*
 * search.conversations - one page of a contact's conversations, newest first.
 *
 * Answer   ok: conversation.list; or parameter_invalid, parameter_not_found, invalid_json,
 *          invalid_field, invalid_operator, invalid_cursor
 * Cursor   the place of the page's last conversation, bound to the query; see place.h
 */
#include "services/search/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/fields.h"
#include "services/search/plan.h"

enum {
    REST_ROOM = 768, /* bytes of a conversation, or of the list, beside values that may be long */
    SECONDS_ROOM = 24,
};

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
    json_add_text(out, "starting_after", str_of(text));
    buf_char(out, '}');
}

static void add_pages(struct buf *out, const struct search *self, const struct search_state *state,
                      const struct db_rows *rows, size_t shown, bool is_last)
{
    json_add_key(out, "pages");
    buf_char(out, '{');
    json_add_text(out, "type", STR("pages"));
    json_add_integer(out, "page", state->behind.page);
    json_add_integer(out, "per_page", state->query.per_page);
    if (!is_last)
        add_next(out, self, state, rows, shown);
    buf_char(out, '}');
}

/* Unix microseconds become seconds, rounded down: as a rule, the digits without the last six. */
static void to_seconds(struct str *value, char text[SECONDS_ROOM])
{
    int64_t us;

    if (value->n > 6 && value->p[0] != '-') {
        value->n -= 6;
    } else if (value->p != NULL) {
        us = strtoll(value->p, NULL, 10); /* results are terminated */
        value->p = text;
        value->n =
            (size_t)snprintf(text, SECONDS_ROOM, "%" PRId64, us / 1000000 - (us % 1000000 < 0));
    }
}

/* All of a page are one contact's. */
static struct str contact_of(const struct db_rows *rows, struct arena *arena)
{
    struct str values[CONVERSATION_COLUMNS] = {0};
    struct buf contact;

    for (int i = CONVERSATION_CONTACT_ID; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, 0, PLAN_CONTACT + i - CONVERSATION_CONTACT_ID);
    buf_init(&contact, arena, REST_ROOM);
    conversation_write_contact(&contact, values);
    return buf_str(&contact);
}

static void add_conversation(struct buf *out, const struct db_rows *rows, size_t row,
                             struct str contact)
{
    struct str values[CONVERSATION_COLUMNS];
    char created[SECONDS_ROOM], updated[SECONDS_ROOM], last[SECONDS_ROOM];

    for (int i = 0; i < CONVERSATION_CONTACT_ID; i++)
        values[i] = db_value(rows, row, PLAN_CONVERSATION + i);
    to_seconds(&values[CONVERSATION_CREATED_AT], created);
    to_seconds(&values[CONVERSATION_UPDATED_AT], updated);
    to_seconds(&values[CONVERSATION_LAST_MESSAGE_AT], last);
    conversation_write_with(out, values, contact);
}

/* So that the reply, which may be megabytes, is not moved while it grows. */
static size_t room_for(const struct db_rows *rows, size_t shown, struct str contact)
{
    size_t room = REST_ROOM;

    for (size_t row = 1; row <= shown; row++)
        room += REST_ROOM + contact.n +
                db_value(rows, row, PLAN_CONVERSATION + CONVERSATION_EXTERNAL_ID).n +
                db_value(rows, row, PLAN_CONVERSATION + CONVERSATION_CUSTOM_ATTRIBUTES).n;
    return room;
}

enum status search_tell(struct command *command, struct db *db, void *service)
{
    const struct search_state *state = command->state;
    const struct db_rows *rows = db_result(db, state->found);
    /* Row 0 has the total and the contact. A row more than the page says that there is a next one.
     */
    const size_t most = (size_t)state->query.per_page, found = db_rows_count(rows) - 1;
    const size_t shown = found > most ? most : found;
    const struct str contact_id = db_value(rows, 0, PLAN_CONTACT);
    const struct str contact = contact_of(rows, command->arena);
    struct buf *out = &command->reply;

    if (contact_id.p != NULL)
        must(uuid_parse(contact_id, &command->contact_id));
    buf_init(out, command->arena, room_for(rows, shown, contact));
    buf_char(out, '{');
    json_add_text(out, "type", STR("conversation.list"));
    json_add_key(out, "conversations");
    buf_char(out, '[');
    for (size_t row = 1; row <= shown; row++) {
        if (row > 1)
            buf_char(out, ',');
        add_conversation(out, rows, row, contact);
    }
    buf_char(out, ']');
    json_add_integer(out, "total_count", db_value_int(rows, 0, PLAN_TOTAL));
    add_pages(out, service, state, rows, shown, shown == found);
    buf_char(out, '}');
    return ST_OK;
}
