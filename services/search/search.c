/*
 * search.conversations - one page of a contact's conversations, newest first.
 *
 * Answer   ok: conversation.list; or parameter_invalid, parameter_not_found, invalid_json,
 *          invalid_field, invalid_operator, invalid_cursor
 * Cursor   the place of the page's last conversation, bound to the query; see search_query.h
 */
#include "services/search/search.h"
#include "proto/subject.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/json/fields.h"
#include "services/search/found.h"

enum {
    COUNT_MAX = 10000,   /* totals up to this are counted for each page; cursors carry others */
    REST_CAPACITY = 768, /* bytes of a conversation, or of the list, without its long values */
};

struct search_state {
    struct search_query query;
    struct str binding;
    struct page_token behind; /* without a cursor: page 1, no total */
    struct search_statement statement;
    struct found found;
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

    search_statement_make(&state->query, &command->caller.organization_id, behind, command->arena,
                          &state->statement);
    found_ask(&state->found, db, &state->statement);
}

static void query_totals(struct command *const *commands, size_t n, struct db *db, void *service)
{
    struct arena *const arena = commands[0]->arena;
    struct found **all = ARENA_ARRAY(arena, struct found *, n);

    for (size_t i = 0; i < n; i++)
        all[i] = &((struct search_state *)commands[i]->state)->found;
    found_ask_totals(all, n, db, arena);
}

static void query_rest(struct command *command, struct db *db, void *service)
{
    struct search_state *state = command->state;

    found_ask_rest(&state->found, db, command->arena);
}

/* The token of the page that follows this row. */
static struct page_token token_behind(const struct search_state *state, size_t last)
{
    const struct found *const found = &state->found;
    const bool has_total = state->behind.has_total || found->n_total > COUNT_MAX;
    struct found_row row;

    found_row_read(found, last, &row);
    return (struct page_token){
        .created_us = row.created_us,
        .id = row.id,
        .page = state->behind.page + 1,
        .has_total = has_total,
        .total = has_total ? (uint64_t)found->n_total : 0,
    };
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

/* The contact as JSON: all conversations of a page have the same one. */
static struct str contact_of(const struct found *found, struct arena *arena)
{
    struct str values[CONVERSATION_COLUMNS];
    char id[UUID_TEXT + 1];
    struct buf contact;

    memcpy(values, found->contact_values, sizeof(values));
    if (found->has_contact) {
        uuid_format(&found->contact_id, id);
        values[CONVERSATION_CONTACT_ID] = (struct str){id, UUID_TEXT};
    }
    buf_init(&contact, arena, REST_CAPACITY);
    conversation_write_contact(&contact, values);
    return buf_str(&contact);
}

/* Seconds, rounded down. */
static struct str seconds_text(int64_t us, char text[INT_TEXT])
{
    return int_text(us / 1000000 - (us % 1000000 < 0), text);
}

static void add_conversation(struct buf *out, const struct found *found, size_t i,
                             struct str contact)
{
    char id[UUID_TEXT + 1], created[INT_TEXT], updated[INT_TEXT];
    char last[INT_TEXT], count[INT_TEXT];
    struct found_row row;

    found_row_read(found, i, &row);
    uuid_format(&row.id, id);
    conversation_write_with(
        out,
        (const struct str[CONVERSATION_COLUMNS]){
            [CONVERSATION_ID] = {id, UUID_TEXT},
            [CONVERSATION_EXTERNAL_ID] = row.external_id,
            [CONVERSATION_CREATED_AT] = seconds_text(row.created_us, created),
            [CONVERSATION_UPDATED_AT] = seconds_text(row.updated_us, updated),
            [CONVERSATION_LAST_MESSAGE_AT] =
                row.has_last_message ? seconds_text(row.last_message_us, last) : STR_NONE,
            [CONVERSATION_CHANNEL] = row.channel,
            [CONVERSATION_STATUS] = row.status,
            [CONVERSATION_CUSTOM_ATTRIBUTES] = row.custom_attributes,
            [CONVERSATION_MESSAGE_COUNT] = int_text(row.message_count, count),
        },
        contact);
}

/* Enough for the reply, which may have megabytes, so that it is not copied as it grows. */
static size_t capacity_for(const struct found *found, size_t shown, struct str contact)
{
    size_t capacity = REST_CAPACITY;

    for (size_t i = 0; i < shown; i++)
        capacity += REST_CAPACITY + contact.n + found_row_bytes(found, i);
    return capacity;
}

/* This many bytes of a page cost one unit: the rows are fetched, formatted, read and written. */
enum { PAGE_BYTES_A_UNIT = 2048 };

static enum status search_reply(struct command *command, struct db *db, void *service)
{
    struct search_state *state = command->state;
    struct found *const found = &state->found;
    const size_t max = (size_t)state->query.per_page;
    struct buf *out = &command->reply;
    struct page_token next;
    struct str contact;
    size_t shown;
    bool is_last;

    if (!found_read(found, db))
        return ST_INTERNAL;
    command->cost = found->cost;
    command->contact_id = found->contact_id;
    /* One row more than the page holds means that there is a next page. */
    is_last = found->n <= max;
    shown = is_last ? found->n : max;
    contact = contact_of(found, command->arena);
    buf_init(out, command->arena, capacity_for(found, shown, contact));
    buf_char(out, '{');
    json_add_text(out, "type", STR("conversation.list"));
    json_add_key(out, "conversations");
    buf_char(out, '[');
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            buf_char(out, ',');
        add_conversation(out, found, i, contact);
    }
    buf_char(out, ']');
    json_add_integer(out, "total_count", found->n_total);
    if (!is_last)
        next = token_behind(state, shown - 1);
    add_pages(out, service, state, is_last ? NULL : &next);
    buf_char(out, '}');
    command->cost += (uint32_t)(out->n / PAGE_BYTES_A_UNIT);
    return ST_OK;
}

const struct command_handler search_conversations = {
    .subject = SUBJECT_SEARCH_CONVERSATIONS,
    .operation = OP_CONVERSATION_SEARCH,
    .parse = search_parse,
    .query = query_page,
    .query_together = query_totals,
    .query_rest = query_rest,
    .reply = search_reply,
};
