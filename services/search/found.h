/*
 * found - queues the statements of searches and reads their rows.
 *
 * What     Each search has one statement for its page; all searches of a batch share one for their
 *          contacts. The latter also counts the total if no filter needs rows. Otherwise a first
 *          page that is not full shows the total itself. For a full first page, a second round trip
 *          counts the conversations after it. For a later page whose cursor carries no total, all
 *          are counted in the round trip of the page. Rows come in binary format.
 * Owns     Nothing; the values live as long as the batch.
 * Threads  The db's.
 */
#ifndef SERVICES_SEARCH_FOUND_H
#define SERVICES_SEARCH_FOUND_H

#include "common/base/uuid.h"
#include "common/model/conversation_model.h"
#include "services/search/search_statement.h"

enum { FOUND_COST_MAX = INT32_MAX }; /* leaves room to add the cost of the page's bytes */

struct found {
    const struct search_statement *statement;
    size_t page, contact, rest; /* indexes of the statements */
    size_t first_row;           /* of the page, among the rows of its statement */
    size_t contact_row;         /* among the rows of the statement for contacts */
    bool counts_rest;

    /* Set by found_read(). */
    bool has_contact;
    struct uuid contact_id;
    struct str contact_values[CONVERSATION_COLUMNS]; /* from CONVERSATION_CONTACT_EXTERNAL_ID on */
    int64_t n_total;
    uint32_t cost; /* in units of a command's cost, at most FOUND_COST_MAX */
    const struct db_rows *rows;
    size_t n; /* conversations among the rows: one more than the page, if another page follows */
};

/* A conversation of the page, in the order of the columns. */
struct found_row {
    struct uuid id;
    int64_t created_us, updated_us, last_message_us; /* Unix microseconds */
    bool has_last_message;
    int64_t message_count;
    struct str external_id, channel, status, custom_attributes;
};

/* Queues the statement of the page. `statement` must outlive `found`. */
void found_ask(struct found *found, struct db *db, const struct search_statement *statement);
/* Queues the statement for the contacts and totals of searches for which found_ask() was called. */
void found_ask_totals(struct found *const *all, size_t n, struct db *db, struct arena *arena);
/* After both have run: queues the count of what is after a full first page, if needed. */
void found_ask_rest(struct found *found, struct db *db, struct arena *arena);
/* False: the rows do not fit the statement. */
MUST_CHECK bool found_read(struct found *found, const struct db *db);
/* The size of the i-th conversation's long values: its external id and its attributes. */
size_t found_row_bytes(const struct found *found, size_t i);
/* The i-th of the page. */
void found_row_read(const struct found *found, size_t i, struct found_row *out);

#endif
