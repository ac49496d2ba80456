/*
 * conversation_json - the one writer of the conversation resource (Conversation in proto/openapi.yaml).
 *
 * What     Turns a row with the columns of CONVERSATION_COLUMNS into the JSON that clients see. An
 *          allowlist: what is not written here cannot leave. A status is shown as
 *          conversation_status.h says; a row without contact (none, or erased) has `contact` null
 *          and an empty list.
 * Threads  Any; pure.
 */
#ifndef COMMON_MODEL_CONVERSATION_JSON_H
#define COMMON_MODEL_CONVERSATION_JSON_H

#include "common/base/buf.h"
#include "common/db/db.h"

/* The order of columns in every statement that reads conversations:
     0 id  1 external_id  2 created_at  3 updated_at  4 last_message_at (Unix seconds)  5 channel
     6 status  7 custom_attributes (JSON text)  8 message_count
     9 contact id (NULL: none)  10 contact external_id  11 name  12 email  13 phone */
enum conversation_column {
    CONVERSATION_ID,
    CONVERSATION_EXTERNAL_ID,
    CONVERSATION_CREATED_AT,
    CONVERSATION_UPDATED_AT,
    CONVERSATION_LAST_MESSAGE_AT,
    CONVERSATION_CHANNEL,
    CONVERSATION_STATUS,
    CONVERSATION_CUSTOM_ATTRIBUTES,
    CONVERSATION_MESSAGE_COUNT,
    CONVERSATION_CONTACT_ID,
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

/* For a page of one contact's conversations: its part of each, `contact` and `contacts`, written
   once from a row that has the contact's columns, and then each conversation with it. */
void conversation_write_contact(struct buf *out, const struct str values[CONVERSATION_COLUMNS]);
void conversation_write_with(struct buf *out, const struct str values[CONVERSATION_COLUMNS],
                             struct str contact);

#endif
