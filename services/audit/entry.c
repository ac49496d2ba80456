#include "services/audit/entry.h"

#include "common/wire/json.h"

void entry_write(const struct db_rows *rows, size_t row, struct buf *out)
{
    buf_char(out, '{');
    json_add_text(out, "type", STR("audit_log"));
    json_add_text(out, "id", db_value(rows, row, ENTRY_REQUEST_ID));
    json_add_text(out, "request_id", db_value(rows, row, ENTRY_REQUEST_ID));
    json_add_text(out, "api_key_id", db_value(rows, row, ENTRY_API_KEY_ID));
    json_add_text(out, "operation", db_value(rows, row, ENTRY_OPERATION));
    json_add_integer(out, "http_status", db_value_int(rows, row, ENTRY_HTTP_STATUS));
    json_add_text(out, "outcome", db_value(rows, row, ENTRY_OUTCOME));
    json_add_text(out, "denial_reason", db_value(rows, row, ENTRY_DENIAL_REASON));
    json_add_text(out, "conversation_id", db_value(rows, row, ENTRY_CONVERSATION_ID));
    json_add_text(out, "contact_id", db_value(rows, row, ENTRY_CONTACT_ID));
    json_add_integer(out, "created_at", db_value_int(rows, row, ENTRY_CREATED_US) / 1000000);
    buf_char(out, '}');
}
