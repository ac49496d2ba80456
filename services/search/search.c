/*
 * search.conversations - one page of a contact's conversations, newest first.
 *
 * Answer   ok: conversation.list; or parameter_invalid, parameter_not_found, invalid_json,
 *          invalid_field, invalid_operator, invalid_cursor
 * Cursor   the place of the page's last conversation, bound to the query; see search_query.h
 */
#include "services/search/search.h"
#include "proto/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/json/fields.h"
#include "services/search/predicates.h"

enum {
    COUNT_MAX = 10000, /* counted again for each page; a larger count goes along with the cursor */
    COST_US = 20,      /* a unit of a command's cost */
    /* bytes of a conversation, or of the list, beside values that may be long */
    REST_CAPACITY = 768,
    SECONDS_CAPACITY = 24,
    FRAME_ROWS = 2, /* of the statement, beside those of the page */
};

struct search_state {
    struct search_query query;
    struct str binding;
    struct page_token behind; /* its page is 1, and it has no total, where there is no cursor */
    size_t found;             /* index of the statement */
};

static enum status search_parse(struct command *command, void *service)
{
    const struct search *self = service;
    struct search_state *state = ARENA_NEW(command->arena, struct search_state);

    if (!search_query_read(command->body, &state->query, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    state->binding =
        search_query_binding(&state->query, &command->caller.organization_id, command->arena);
    state->behind.page = 1;
    if (state->query.starting_after.p != NULL &&
        !page_token_read(state->query.starting_after, &self->keys, state->binding, clock_us(),
                         &state->behind))
        return command_refuse(command, OUTCOME_INVALID_CURSOR, "pagination.starting_after",
                              "is not a cursor of this search, or has expired");
    command->state = state;
    return ST_OK;
}

static void query_page(struct command *command, struct db *db, void *service)
{
    struct search_state *state = command->state;
    const struct page_token *behind = state->query.starting_after.p != NULL ? &state->behind : NULL;
    struct search_statement statement;

    search_statement_make(&state->query, &command->caller.organization_id, behind, command->arena,
                          &statement);
    state->found = db_add(db, (int)statement.sql, statement.params, statement.n);
}

/* The place behind that row. False: its id is malformed. */
static bool token_behind(const struct search_state *state, const struct db_rows *rows, size_t last,
                         struct page_token *out)
{
    *out = (struct page_token){
        .created_us = db_value_int(rows, last, STATEMENT_CONVERSATION + CONVERSATION_CREATED_AT),
        .page = state->behind.page + 1,
        .has_total = state->behind.has_total || db_value_int(rows, 0, STATEMENT_TOTAL) > COUNT_MAX,
    };
    if (out->has_total)
        out->total = (uint64_t)db_value_int(rows, 0, STATEMENT_TOTAL);
    return uuid_parse(db_value(rows, last, STATEMENT_CONVERSATION + CONVERSATION_ID), &out->id);
}

static void add_next(struct buf *out, const struct search *self, const struct search_state *state,
                     const struct page_token *next)
{
    char text[CURSOR_TEXT_MAX + 1];

    page_token_write(next, &self->keys, state->binding, clock_us(), text);
    json_add_key(out, "next");
    buf_char(out, '{');
    json_add_text(out, "starting_after", str_of(text));
    buf_char(out, '}');
}

/* `next` NULL: this page is the last one. */
static void add_pages(struct buf *out, const struct search *self, const struct search_state *state,
                      const struct page_token *next)
{
    json_add_key(out, "pages");
    buf_char(out, '{');
    json_add_text(out, "type", STR("pages"));
    json_add_integer(out, "page", state->behind.page);
    json_add_integer(out, "per_page", state->query.per_page);
    if (next != NULL)
        add_next(out, self, state, next);
    buf_char(out, '}');
}

/* Unix microseconds become seconds, rounded down: as a rule, the digits without the last six. */
static void to_seconds(struct str *value, char text[SECONDS_CAPACITY])
{
    int64_t us;

    if (value->n > 6 && value->p[0] != '-') {
        value->n -= 6;
    } else if (value->p != NULL) {
        us = strtoll(value->p, NULL, 10); /* results are terminated */
        value->p = text;
        value->n =
            (size_t)snprintf(text, SECONDS_CAPACITY, "%" PRId64, us / 1000000 - (us % 1000000 < 0));
    }
}

/* All of a page are one contact's. */
static struct str contact_of(const struct db_rows *rows, struct arena *arena)
{
    struct str values[CONVERSATION_COLUMNS] = {0};
    struct buf contact;

    for (int i = CONVERSATION_CONTACT_ID; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, 0, STATEMENT_CONVERSATION + i);
    buf_init(&contact, arena, REST_CAPACITY);
    conversation_write_contact(&contact, values);
    return buf_str(&contact);
}

static void add_conversation(struct buf *out, const struct db_rows *rows, size_t row,
                             struct str contact)
{
    struct str values[CONVERSATION_COLUMNS];
    char created[SECONDS_CAPACITY], updated[SECONDS_CAPACITY], last[SECONDS_CAPACITY];

    for (int i = 0; i < CONVERSATION_CONTACT_ID; i++)
        values[i] = db_value(rows, row, STATEMENT_CONVERSATION + i);
    to_seconds(&values[CONVERSATION_CREATED_AT], created);
    to_seconds(&values[CONVERSATION_UPDATED_AT], updated);
    to_seconds(&values[CONVERSATION_LAST_MESSAGE_AT], last);
    conversation_write_with(out, values, contact);
}

/* So that the reply, which may be megabytes, is not moved while it grows. */
static size_t capacity_for(const struct db_rows *rows, size_t shown, struct str contact)
{
    size_t capacity = REST_CAPACITY;

    for (size_t row = 1; row <= shown; row++)
        capacity += REST_CAPACITY + contact.n +
                    db_value(rows, row, STATEMENT_CONVERSATION + CONVERSATION_EXTERNAL_ID).n +
                    db_value(rows, row, STATEMENT_CONVERSATION + CONVERSATION_CUSTOM_ATTRIBUTES).n;
    return capacity;
}

static uint32_t cost_of(const struct db_rows *rows)
{
    const int64_t units =
        1 + db_value_int(rows, db_rows_count(rows) - 1, STATEMENT_COST_US) / COST_US;

    return units > 1 && units < UINT32_MAX ? (uint32_t)units : 1;
}

static enum status search_reply(struct command *command, struct db *db, void *service)
{
    const struct search_state *state = command->state;
    const struct db_rows *rows = db_result(db, state->found);
    const size_t n = db_rows_count(rows), max = (size_t)state->query.per_page;
    /* The first row has the total and the contact, the last one the cost. A row more than the page
       says that there is a next one. */
    const bool is_last = n <= FRAME_ROWS + max;
    const size_t shown = is_last ? n - FRAME_ROWS : max;
    struct buf *out = &command->reply;
    struct str contact, contact_id;
    struct page_token next;

    if (n < FRAME_ROWS)
        return ST_INTERNAL;
    command->cost = cost_of(rows);
    contact_id = db_value(rows, 0, STATEMENT_CONVERSATION + CONVERSATION_CONTACT_ID);
    if ((contact_id.p != NULL && !uuid_parse(contact_id, &command->contact_id)) ||
        (!is_last && !token_behind(state, rows, shown, &next)))
        return ST_INTERNAL;
    contact = contact_of(rows, command->arena);
    buf_init(out, command->arena, capacity_for(rows, shown, contact));
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
    json_add_integer(out, "total_count", db_value_int(rows, 0, STATEMENT_TOTAL));
    add_pages(out, service, state, is_last ? NULL : &next);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler search_conversations = {
    .subject = SUBJECT_SEARCH_CONVERSATIONS,
    .operation = OP_CONVERSATION_SEARCH,
    .parse = search_parse,
    .query = query_page,
    .reply = search_reply,
};
