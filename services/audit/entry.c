#include "services/audit/entry.h"

#include "common/wire/json.h"

static void add_text(struct buf *out, const char *key, struct str value)
{
    json_add_key(out, key);
    json_add_string(out, value);
}

static void add_integer(struct buf *out, const char *key, int64_t value)
{
    json_add_key(out, key);
    buf_int(out, value);
}

void entry_write(const struct db_rows *rows, size_t row, struct buf *out)
{
    buf_char(out, '{');
    add_text(out, "type", STR("audit_log"));
    add_text(out, "id", db_value(rows, row, ENTRY_REQUEST_ID));
    add_text(out, "request_id", db_value(rows, row, ENTRY_REQUEST_ID));
    add_text(out, "api_key_id", db_value(rows, row, ENTRY_API_KEY_ID));
    add_text(out, "operation", db_value(rows, row, ENTRY_OPERATION));
    add_integer(out, "http_status", db_value_int(rows, row, ENTRY_HTTP_STATUS));
    add_text(out, "outcome", db_value(rows, row, ENTRY_OUTCOME));
    add_text(out, "denial_reason", db_value(rows, row, ENTRY_DENIAL_REASON));
    add_text(out, "conversation_id", db_value(rows, row, ENTRY_CONVERSATION_ID));
    add_text(out, "contact_id", db_value(rows, row, ENTRY_CONTACT_ID));
    add_integer(out, "created_at", db_value_int(rows, row, ENTRY_CREATED_AT_S));
    buf_char(out, '}');
}
