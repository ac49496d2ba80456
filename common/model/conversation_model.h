/*
 * conversation_model - what all services share about a conversation: its statuses, the keys of its
 *                      custom attributes, and its JSON.
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_MODEL_CONVERSATION_MODEL_H
#define COMMON_MODEL_CONVERSATION_MODEL_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/db/db.h"

/* -- statuses ---------------------------------------------------------------------------------- */

/* Active, waiting and human_takeover are open, the others closed. `closed` is a legacy status: it
   may be stored, but cannot be set, and clients see it as `resolved`. */

/* The statuses that can be set and that clients see; ends with NULL. */
extern const char *const conversation_status_names[];

/* The statuses that may be stored: these, and the legacy one. */
#define CONVERSATION_STORED_STATUSES 6
extern const char *const conversation_stored_statuses[CONVERSATION_STORED_STATUSES];

/* "open" and "closed"; ends with NULL. */
extern const char *const conversation_state_names[];

/* A stored status as clients see it. */
struct str conversation_status_shown(struct str stored);
bool conversation_status_is_open(struct str status);
/* "open" or "closed". */
struct str conversation_state(struct str status);

/* -- custom attributes (docs/api.md, "Custom attributes") -------------------------------------- */

#define ATTRIBUTE_KEY_MAX  64
#define ATTRIBUTE_TEXT_MAX 500 /* code points of a value that is a string */

/* The error of a key, as words that follow its name; NULL = none. A key begins with a letter and
   consists of letters, digits, '_', '-' and '.'; the prefix service_, in any case, is reserved.
   Writing and searching both use this check. */
const char *attribute_key_error(struct str key);

/* -- JSON (Conversation in proto/openapi.yaml) ------------------------------------------------- */

/* The only code that writes conversations for clients. It writes a fixed list of members, so no
   other can leak. A row without contact (none, or erased) has `contact` null and an empty list. */

/* `conversation.*` in the columns of every statement that reads conversations. */
enum conversation_column {
    CONVERSATION_ID,
    CONVERSATION_EXTERNAL_ID,
    CONVERSATION_CREATED_AT, /* this and the next two: Unix seconds */
    CONVERSATION_UPDATED_AT,
    CONVERSATION_LAST_MESSAGE_AT,
    CONVERSATION_CHANNEL,
    CONVERSATION_STATUS,
    CONVERSATION_CUSTOM_ATTRIBUTES, /* JSON text */
    CONVERSATION_MESSAGE_COUNT,
    CONVERSATION_CONTACT_ID, /* NULL: none */
    CONVERSATION_CONTACT_EXTERNAL_ID,
    CONVERSATION_CONTACT_NAME,
    CONVERSATION_CONTACT_EMAIL,
    CONVERSATION_CONTACT_PHONE,
    CONVERSATION_COLUMNS
};

/* `first` is the position of CONVERSATION_ID in the row. */
void conversation_write(struct buf *out, const struct db_rows *rows, size_t row, int first);

/* The same from values in the order of enum conversation_column. */
void conversation_write_values(struct buf *out, const struct str values[CONVERSATION_COLUMNS]);

/* For a page of one contact's conversations: the first writes the contact's part, `contact` and
   `contacts`, once, from a row with the contact's columns; the second writes each conversation with
   that. */
void conversation_write_contact(struct buf *out, const struct str values[CONVERSATION_COLUMNS]);
void conversation_write_with(struct buf *out, const struct str values[CONVERSATION_COLUMNS],
                             struct str contact);

#endif
