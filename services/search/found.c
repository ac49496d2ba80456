#include "services/search/found.h"

#include <string.h>

enum {
    COST_US = 20,        /* a unit of a command's cost */
    ENTRIES_A_UNIT = 50, /* walking along so many entries of the index costs as much as a get */
    FRAME_ROWS = 2,      /* of search_filtered.sql, beside those of the page */
    JSONB_VERSION = 1,   /* the byte in front of the text of a jsonb */
    ID_BYTES = sizeof(struct uuid),
};

_Static_assert((int)SEARCH_CONTACT_ID == (int)CONVERSATION_ID &&
                   (int)SEARCH_CONTACT_MESSAGE_COUNT == (int)CONVERSATION_MESSAGE_COUNT &&
                   (int)SEARCH_FILTERED_CONVERSATION == 0,
               "a row of a page is read alike");

/* -- the statements -------------------------------------------------------------------------- */

void found_ask(struct found *found, struct db *db, const struct search_statement *statement)
{
    const db_param *const of = statement->params;

    *found = (struct found){.page = 0};
    if (statement->sql == SQL_SEARCH_FILTERED) {
        found->page = found->total =
            db_add_binary(db, SQL_SEARCH_FILTERED, of, STATEMENT_PARAMS, DB_BINARY_ROWS);
    } else {
        const db_param page[] = {of[STATEMENT_ORGANIZATION],
                                 of[STATEMENT_CONTACT_ID],
                                 of[STATEMENT_CONTACT_EXTERNAL_ID],
                                 of[STATEMENT_CREATED_MIN],
                                 of[STATEMENT_BEHIND_TIME],
                                 of[STATEMENT_BEHIND_ID],
                                 of[STATEMENT_ROWS]};
        const db_param total[] = {of[STATEMENT_ORGANIZATION],        of[STATEMENT_CONTACT_ID],
                                  of[STATEMENT_CONTACT_EXTERNAL_ID], of[STATEMENT_CREATED_MIN],
                                  of[STATEMENT_CREATED_END],         of[STATEMENT_KNOWN_TOTAL]};

        found->page = db_add_binary(db, SQL_SEARCH_CONTACT, page, ARRAY_SIZE(page), DB_BINARY_ROWS);
        found->total =
            db_add_binary(db, SQL_SEARCH_TOTAL, total, ARRAY_SIZE(total), DB_BINARY_ROWS);
        found->counts = of[STATEMENT_KNOWN_TOTAL].p == NULL;
    }
}

/* -- their rows ------------------------------------------------------------------------------ */

static bool read_id(struct str value, struct uuid *out)
{
    if (value.n != ID_BYTES)
        return false;
    memcpy(out->b, value.p, ID_BYTES);
    return true;
}

/* Of a row in which they begin at that column. */
static void read_contact(struct found *found, const struct db_rows *rows, int column)
{
    found->has_contact = read_id(db_value(rows, 0, column), &found->contact_id);
    for (int i = CONVERSATION_CONTACT_EXTERNAL_ID; i < CONVERSATION_COLUMNS; i++)
        found->contact[i] = db_value(rows, 0, column + i - CONVERSATION_CONTACT_ID);
}

static uint32_t units(int64_t n, int64_t in_a_unit)
{
    const int64_t all = 1 + n / in_a_unit;

    return all > 1 && all < UINT32_MAX ? (uint32_t)all : 1;
}

static bool read_filtered(struct found *found)
{
    const size_t n = db_rows_count(found->rows);

    if (n < FRAME_ROWS)
        return false;
    found->first = 1;
    found->n = n - FRAME_ROWS;
    read_contact(found, found->rows, SEARCH_FILTERED_CONVERSATION + CONVERSATION_CONTACT_ID);
    found->n_total = db_value_int(found->rows, 0, SEARCH_FILTERED_TOTAL);
    found->cost = units(db_value_int(found->rows, n - 1, SEARCH_FILTERED_TOTAL), COST_US);
    return true;
}

bool found_read(struct found *found, const struct db *db)
{
    const struct db_rows *const total = db_result(db, found->total);
    int64_t walked;

    found->rows = db_result(db, found->page);
    if (found->page == found->total)
        return read_filtered(found);
    found->n = db_rows_count(found->rows);
    walked = (int64_t)found->n;
    if (db_rows_count(total) == 0) {
        found->n = 0; /* there is no contact, or not any more */
    } else {
        read_contact(found, total, SEARCH_TOTAL_CONTACT_ID);
        found->n_total = db_value_int(total, 0, SEARCH_TOTAL_TOTAL);
        walked += found->counts ? found->n_total : 0;
    }
    found->cost = units(walked, ENTRIES_A_UNIT);
    return true;
}

static int64_t time_us(const struct db_rows *rows, size_t row, int column)
{
    return db_value_int(rows, row, column) + DB_EPOCH_US;
}

static struct str json_of(struct str value)
{
    return value.n > 1 && value.p[0] == JSONB_VERSION ? (struct str){value.p + 1, value.n - 1}
                                                      : STR_NONE;
}

size_t found_row_bytes(const struct found *found, size_t i)
{
    return db_value(found->rows, found->first + i, CONVERSATION_EXTERNAL_ID).n +
           db_value(found->rows, found->first + i, CONVERSATION_CUSTOM_ATTRIBUTES).n;
}

void found_row_read(const struct found *found, size_t i, struct found_row *out)
{
    const struct db_rows *const rows = found->rows;
    const size_t row = found->first + i;

    *out = (struct found_row){
        .created_us = time_us(rows, row, CONVERSATION_CREATED_AT),
        .updated_us = time_us(rows, row, CONVERSATION_UPDATED_AT),
        .last_message_us = time_us(rows, row, CONVERSATION_LAST_MESSAGE_AT),
        .has_last_message = db_value(rows, row, CONVERSATION_LAST_MESSAGE_AT).p != NULL,
        .message_count = db_value_int(rows, row, CONVERSATION_MESSAGE_COUNT),
        .external_id = db_value(rows, row, CONVERSATION_EXTERNAL_ID),
        .channel = db_value(rows, row, CONVERSATION_CHANNEL),
        .status = db_value(rows, row, CONVERSATION_STATUS),
        .custom_attributes = json_of(db_value(rows, row, CONVERSATION_CUSTOM_ATTRIBUTES)),
    };
    (void)read_id(db_value(rows, row, CONVERSATION_ID), &out->id);
}
