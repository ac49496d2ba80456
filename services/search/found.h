/*
 * found - what a search found: its statements are asked, and their rows read.
 *
 * What     A search that needs no rows but those of its page asks two statements, for the page and
 *          for the contact with the total; another one asks one, whose first row has the contact and
 *          the total, and whose last row has the cost. The rows come in binary format.
 * Owns     Nothing; the values live as long as the batch.
 * Threads  The db's.
 */
#ifndef SERVICES_SEARCH_FOUND_H
#define SERVICES_SEARCH_FOUND_H

#include "common/base/uuid.h"
#include "services/search/predicates.h"

struct found {
    size_t page, total; /* indexes of the statements; the same where there is one */
    bool counts;        /* the total is not known beforehand */

    /* From found_read() on. */
    bool has_contact;
    struct uuid contact_id;
    struct str contact[CONVERSATION_COLUMNS]; /* from CONVERSATION_CONTACT_EXTERNAL_ID on */
    int64_t n_total;
    uint32_t cost; /* in units of a command's */
    const struct db_rows *rows;
    size_t first, n; /* of the rows, those of the page */
};

/* A conversation of the page, in the order of the columns. */
struct found_row {
    struct uuid id;
    int64_t created_us, updated_us, last_message_us; /* Unix microseconds */
    bool has_last_message;
    int64_t message_count;
    struct str external_id, channel, status, custom_attributes;
};

void found_ask(struct found *found, struct db *db, const struct search_statement *statement);
/* False: the rows are not those of the statement. */
MUST_CHECK bool found_read(struct found *found, const struct db *db);
/* How many bytes of it may be long: its external id and its attributes. */
size_t found_row_bytes(const struct found *found, size_t i);
/* The i-th of the page. */
void found_row_read(const struct found *found, size_t i, struct found_row *out);

#endif
