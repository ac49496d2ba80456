/*
 * found - what a search found: its statements are asked, and their rows read.
 *
 * What     Each search asks a statement for its page, and all searches of a batch one for their contacts,
 *          which has the total, too, where no filter needs rows. With one that does, a page that is not
 *          full says itself how many there are; of another first page it is counted what is behind it,
 *          in a second round, and of a later one all, at once. The rows come in binary format.
 * Owns     Nothing; the values live as long as the batch.
 * Threads  The db's.
 */
#ifndef SERVICES_SEARCH_FOUND_H
#define SERVICES_SEARCH_FOUND_H

#include "common/base/uuid.h"
#include "services/search/predicates.h"

enum { FOUND_COST_MAX = INT32_MAX }; /* what the page itself costs can be added to it */

struct found {
    const struct search_statement *statement;
    size_t page, contact, rest; /* indexes of the statements */
    size_t first_row;           /* of the page, in the rows of its statement */
    size_t contact_row;         /* in those of the one for contacts */
    bool counts_rest;

    /* From found_read() on. */
    bool has_contact;
    struct uuid contact_id;
    struct str contact_values[CONVERSATION_COLUMNS]; /* from CONVERSATION_CONTACT_EXTERNAL_ID on */
    int64_t n_total;
    uint32_t cost; /* in units of a command's, FOUND_COST_MAX at most */
    const struct db_rows *rows;
    size_t n; /* of the rows, those of the page */
};

/* A conversation of the page, in the order of the columns. */
struct found_row {
    struct uuid id;
    int64_t created_us, updated_us, last_message_us; /* Unix microseconds */
    bool has_last_message;
    int64_t message_count;
    struct str external_id, channel, status, custom_attributes;
};

/* The statement is kept. */
void found_ask(struct found *found, struct db *db, const struct search_statement *statement);
/* Asks for contacts and totals of those that have been asked. */
void found_ask_totals(struct found *const *all, size_t n, struct db *db, struct arena *arena);
/* When that has been answered: asks for what is still to be counted, if anything is. */
void found_ask_rest(struct found *found, struct db *db, struct arena *arena);
/* False: the rows are not those of the statement. */
MUST_CHECK bool found_read(struct found *found, const struct db *db);
/* How many bytes of it may be long: its external id and its attributes. */
size_t found_row_bytes(const struct found *found, size_t i);
/* The i-th of the page. */
void found_row_read(const struct found *found, size_t i, struct found_row *out);

#endif
