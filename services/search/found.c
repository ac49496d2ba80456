#include "services/search/found.h"

#include <string.h>

#include "common/db/params.h"

enum {
    COST_US = 20,        /* a unit of a command's cost */
    ENTRIES_A_UNIT = 50, /* walking this many entries of the index costs as much as a get */
    FRAME_ROWS = 2,      /* with counters, one before and one after the rows of a filtered page */
    JSONB_VERSION = 1,   /* the byte before the text of a jsonb in binary format */
    FILTER_PARAMS = STATEMENT_ROWS,           /* of search_rest.sql */
    PLAIN_FILTERS_END = STATEMENT_CREATED_NOT /* of search_filtered.sql */
};

/* These bound the time charged for a filtered search, in microseconds: on a busy machine, most of
   the elapsed time of its statements is waiting. With these figures, a contact with 100
   conversations and small attributes never counts as expensive. */
enum {
    LEAST_US = 500,
    ENTRY_US = 2,        /* for each index entry walked */
    ENTRY_LOOKED_US = 8, /* the same, if filters read attributes or lists */
    BLOCK_US = 4,        /* for each block of attributes stored apart, unpacking included */
};

_Static_assert((int)SEARCH_CONTACT_ID == (int)CONVERSATION_ID &&
                   (int)SEARCH_CONTACT_MESSAGE_COUNT == (int)CONVERSATION_MESSAGE_COUNT &&
                   (int)SEARCH_FILTERED_ID == (int)CONVERSATION_ID &&
                   (int)SEARCH_FILTERED_MESSAGE_COUNT == (int)CONVERSATION_MESSAGE_COUNT &&
                   (int)SEARCH_FILTERED_TOOK_US == (int)SEARCH_WITHOUT_TOOK_US,
               "all statements have the columns that are read in the same places");

/* -- the statements -------------------------------------------------------------------------- */

static bool needs_rows(const struct search_statement *statement)
{
    return statement->sql != SQL_SEARCH_CONTACT;
}

static void ask_page(struct found *found, struct db *db)
{
    const struct str *const of = found->statement->params;

    found->page = db_add_binary(db, SQL_SEARCH_CONTACT,
                                PARAMS(of[STATEMENT_ORGANIZATION], of[STATEMENT_CONTACT_ID],
                                       of[STATEMENT_CONTACT_EXTERNAL_ID], of[STATEMENT_CREATED_MIN],
                                       of[STATEMENT_BEHIND_TIME], of[STATEMENT_BEHIND_ID],
                                       of[STATEMENT_ROWS]));
}

/* The parameters of search_total.sql. */
struct total_columns {
    struct elements organizations, contact_ids, external_ids;
    struct buf created_min, created_end, known;
};

/* With filters that need rows, the total is counted elsewhere: see found.h. */
static void add_to_total(struct total_columns *columns, const struct search_statement *statement)
{
    const struct str *const of = statement->params;
    const bool is_counted = !needs_rows(statement);

    ids_add_text(&columns->organizations, of[STATEMENT_ORGANIZATION]);
    ids_add_text(&columns->contact_ids, of[STATEMENT_CONTACT_ID]);
    texts_add(&columns->external_ids, of[STATEMENT_CONTACT_EXTERNAL_ID]);
    array_add(&columns->created_min, of[STATEMENT_CREATED_MIN]);
    array_add(&columns->created_end, statement->created_end);
    array_add(&columns->known, is_counted ? statement->known_total : STR("0"));
}

void found_ask_totals(struct found *const *all, size_t n, struct db *db, struct arena *arena)
{
    struct params params = {.n = 0};
    struct total_columns columns;
    size_t result;

    ids_open(&columns.organizations, arena, n);
    ids_open(&columns.contact_ids, arena, n);
    texts_open(&columns.external_ids, arena, n * 40);
    array_open(&columns.created_min, arena, n * 16);
    array_open(&columns.created_end, arena, n * 16);
    array_open(&columns.known, arena, n * 16);
    for (size_t i = 0; i < n; i++)
        add_to_total(&columns, all[i]->statement);
    params_add_elements(&params, &columns.organizations);
    params_add_elements(&params, &columns.contact_ids);
    params_add_elements(&params, &columns.external_ids);
    params_add(&params, array_close(&columns.created_min));
    params_add(&params, array_close(&columns.created_end));
    params_add(&params, array_close(&columns.known));
    result = db_add_binary(db, SQL_SEARCH_TOTAL, &params);
    for (size_t i = 0; i < n; i++) {
        all[i]->contact = result;
        all[i]->contact_row = i;
    }
}

/* Counts the conversations after a place. */
static void ask_rest(struct found *found, struct db *db, struct str time, struct str id)
{
    struct params rest = {.n = FILTER_PARAMS};

    memcpy(rest.at, found->statement->params, rest.n * sizeof(rest.at[0]));
    rest.at[STATEMENT_BEHIND_TIME] = time;
    rest.at[STATEMENT_BEHIND_ID] = id;
    found->rest = db_add_binary(db, SQL_SEARCH_REST, &rest);
    found->counts_rest = true;
}

static void ask_filtered(struct found *found, struct db *db)
{
    const struct search_statement *const statement = found->statement;
    struct params page = {.n = statement->sql == SQL_SEARCH_FILTERED ? PLAIN_FILTERS_END
                                                                     : FILTER_PARAMS};

    memcpy(page.at, statement->params, page.n * sizeof(page.at[0]));
    params_add(&page, statement->params[STATEMENT_ROWS]);
    found->page = db_add_binary(db, statement->sql, &page);
    if (!statement->is_first_page && statement->known_total.p == NULL)
        ask_rest(found, db, statement->end_time, statement->end_id);
}

void found_ask(struct found *found, struct db *db, const struct search_statement *statement)
{
    *found = (struct found){.statement = statement, .first_row = needs_rows(statement)};
    if (needs_rows(statement))
        ask_filtered(found, db);
    else
        ask_page(found, db);
}

void found_ask_rest(struct found *found, struct db *db, struct arena *arena)
{
    const struct search_statement *const statement = found->statement;
    struct found_row last;

    if (!needs_rows(statement) || !statement->is_first_page)
        return;
    found->rows = db_result(db, found->page);
    if (db_rows_count(found->rows) < statement->rows + FRAME_ROWS)
        return;
    found_row_read(found, statement->rows - 1, &last);
    ask_rest(found, db, param_int(arena, last.created_us), param_id(arena, &last.id));
}

/* -- their rows ------------------------------------------------------------------------------ */

static void read_contact(struct found *found, const struct db_rows *rows)
{
    const int column = SEARCH_TOTAL_CONTACT_ID;

    found->has_contact = db_value_id(rows, found->contact_row, column, &found->contact_id);
    for (int i = CONVERSATION_CONTACT_EXTERNAL_ID; i < CONVERSATION_COLUMNS; i++)
        found->contact_values[i] =
            db_value(rows, found->contact_row, column + i - CONVERSATION_CONTACT_ID);
}

/* `n` is negative if it is a time and the clock was set back. */
static uint32_t units(int64_t n, int64_t in_a_unit)
{
    if (n < 0)
        return 1;
    return n / in_a_unit < FOUND_COST_MAX ? 1 + (uint32_t)(n / in_a_unit) : FOUND_COST_MAX;
}

/* Index entries walked, blocks fetched, and elapsed time, summed over a search's statements. */
struct effort {
    int64_t walked, fetched, took_us;
};

/* Whether any filter reads attributes or a list. */
static bool is_looked_at(const struct search_statement *statement)
{
    for (int i = STATEMENT_CHANNELS; i < STATEMENT_ROWS; i++)
        if (statement->params[i].p != NULL)
            return true;
    return false;
}

static uint32_t cost_of(const struct found *found, const struct effort *effort, bool is_counted)
{
    const int64_t entry_us = is_looked_at(found->statement) ? ENTRY_LOOKED_US : ENTRY_US;
    const int64_t most_us = LEAST_US + entry_us * effort->walked + BLOCK_US * effort->fetched;

    return units(is_counted && most_us < effort->took_us ? most_us : effort->took_us, COST_US);
}

static void read_rest(struct found *found, const struct db *db, struct effort *effort)
{
    const struct db_rows *const rest = db_result(db, found->rest);
    const int64_t n = db_value_int(rest, 0, SEARCH_REST_N);

    effort->walked += db_value_int(rest, 0, SEARCH_REST_WALKED) -
                      db_value_int(rest, 0, SEARCH_REST_WALKED_BEFORE);
    effort->fetched += db_value_int(rest, 0, SEARCH_REST_FETCHED) -
                       db_value_int(rest, 0, SEARCH_REST_FETCHED_BEFORE);
    effort->took_us += db_value_int(rest, 0, SEARCH_REST_TOOK_US);
    found->n_total = found->statement->is_first_page ? (int64_t)found->n + n : n;
}

static bool read_filtered(struct found *found, const struct db *db)
{
    const struct db_rows *const rows = found->rows;
    const size_t n = db_rows_count(rows), last = n - 1;
    struct effort effort;

    if (n < FRAME_ROWS)
        return false;
    found->n = n - FRAME_ROWS;
    found->n_total = (int64_t)found->n;
    effort = (struct effort){
        .walked = db_value_int(rows, last, SEARCH_FILTERED_WALKED) -
                  db_value_int(rows, 0, SEARCH_FILTERED_WALKED),
        .fetched = db_value_int(rows, last, SEARCH_FILTERED_FETCHED) -
                   db_value_int(rows, 0, SEARCH_FILTERED_FETCHED),
        .took_us = db_value_int(rows, last, SEARCH_FILTERED_TOOK_US),
    };
    if (found->statement->known_total.p != NULL)
        found->n_total = found->statement->total;
    else if (found->counts_rest)
        read_rest(found, db, &effort);
    found->cost = cost_of(found, &effort, db_value(rows, 0, SEARCH_FILTERED_WALKED).p != NULL);
    return true;
}

static void read_total(struct found *found, const struct db_rows *contact)
{
    int64_t walked;

    found->n = db_rows_count(found->rows);
    found->n_total = db_value_int(contact, found->contact_row, SEARCH_TOTAL_TOTAL);
    walked = (int64_t)found->n;
    if (found->statement->known_total.p == NULL)
        walked += found->n_total;
    found->cost = units(walked, ENTRIES_A_UNIT);
}

bool found_read(struct found *found, const struct db *db)
{
    const struct db_rows *const contact = db_result(db, found->contact);

    found->rows = db_result(db, found->page);
    if (db_rows_count(contact) <= found->contact_row)
        return false;
    /* The contact is unknown or erased. */
    if (db_value(contact, found->contact_row, SEARCH_TOTAL_CONTACT_ID).p == NULL) {
        found->cost = 1;
        return true;
    }
    read_contact(found, contact);
    if (needs_rows(found->statement))
        return read_filtered(found, db);
    read_total(found, contact);
    return true;
}

/* In Unix microseconds. A time that does not fit, such as 'infinity', becomes INT64_MAX. */
static int64_t time_us(const struct db_rows *rows, size_t row, int column)
{
    const int64_t us = db_value_int(rows, row, column);

    return us < INT64_MAX - DB_EPOCH_US ? us + DB_EPOCH_US : INT64_MAX;
}

static struct str json_of(struct str value)
{
    return value.n > 1 && value.p[0] == JSONB_VERSION ? (struct str){value.p + 1, value.n - 1}
                                                      : STR_NONE;
}

size_t found_row_bytes(const struct found *found, size_t i)
{
    const size_t row = found->first_row + i;

    return db_value(found->rows, row, CONVERSATION_EXTERNAL_ID).n +
           db_value(found->rows, row, CONVERSATION_CUSTOM_ATTRIBUTES).n;
}

void found_row_read(const struct found *found, size_t i, struct found_row *out)
{
    const struct db_rows *const rows = found->rows;
    const size_t row = found->first_row + i;

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
    (void)db_value_id(rows, row, CONVERSATION_ID, &out->id);
}
