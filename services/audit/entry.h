/*
 * entry - an entry of the audit log as its readers see it.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_ENTRY_H
#define SERVICES_AUDIT_ENTRY_H

#include "common/base/buf.h"
#include "common/db/db.h"

/* The columns of a statement that lists entries. */
enum entry_column {
    ENTRY_REQUEST_ID,
    ENTRY_API_KEY_ID,
    ENTRY_OPERATION,
    ENTRY_HTTP_STATUS,
    ENTRY_OUTCOME,
    ENTRY_DENIAL_REASON,
    ENTRY_CONVERSATION_ID,
    ENTRY_CONTACT_ID,
    ENTRY_CREATED_US, /* Unix microseconds */
    ENTRY_COLUMNS
};

/* Appends the audit_log object. */
void entry_write(const struct db_rows *rows, size_t row, struct buf *out);

#endif
