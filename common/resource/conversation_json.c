#include "common/resource/conversation_json.h"

#include "common/wire/json.h"

const char *conversation_state(struct str status)
{
    return str_equal(status, STR("active")) || str_equal(status, STR("waiting")) ||
                   str_equal(status, STR("human_takeover"))
               ? "open"
               : "closed";
}

static void add_text(struct buf *out, const char *key, struct str text)
{
    json_add_key(out, key);
    json_add_string(out, text);
}

/* A number or an object that PostgreSQL has written; absent is null. */
static void add_raw(struct buf *out, const char *key, struct str json)
{
    json_add_key(out, key);
    buf_add(out, json.p != NULL ? json : STR("null"));
}

static void add_source(struct buf *out, struct str channel)
{
    json_add_key(out, "source");
    buf_char(out, '{');
    add_text(out, "type", channel);
    buf_char(out, '}');
}

static void add_contact(struct buf *out, const struct str values[CONVERSATION_COLUMNS])
{
    json_add_key(out, "contact");
    if (values[CONVERSATION_CONTACT_ID].p == NULL) {
        buf_add(out, STR("null"));
        return;
    }
    buf_char(out, '{');
    add_text(out, "type", STR("contact"));
    add_text(out, "id", values[CONVERSATION_CONTACT_ID]);
    add_text(out, "external_id", values[CONVERSATION_CONTACT_EXTERNAL_ID]);
    add_text(out, "name", values[CONVERSATION_CONTACT_NAME]);
    add_text(out, "email", values[CONVERSATION_CONTACT_EMAIL]);
    add_text(out, "phone", values[CONVERSATION_CONTACT_PHONE]);
    buf_char(out, '}');
}

static void add_contacts(struct buf *out, const struct str values[CONVERSATION_COLUMNS])
{
    json_add_key(out, "contacts");
    buf_char(out, '{');
    add_text(out, "type", STR("contact.list"));
    json_add_key(out, "contacts");
    buf_char(out, '[');
    if (values[CONVERSATION_CONTACT_ID].p != NULL) {
        buf_char(out, '{');
        add_text(out, "type", STR("contact"));
        add_text(out, "id", values[CONVERSATION_CONTACT_ID]);
        add_text(out, "external_id", values[CONVERSATION_CONTACT_EXTERNAL_ID]);
        buf_char(out, '}');
    }
    buf_add(out, STR("]}"));
}

void conversation_write_values(struct buf *out, const struct str values[CONVERSATION_COLUMNS])
{
    const struct str channel = values[CONVERSATION_CHANNEL];
    const bool is_api = str_equal(channel, STR("api"));
    const bool is_legacy = str_equal(values[CONVERSATION_STATUS], STR("closed"));
    const struct str status = is_legacy ? STR("resolved") : values[CONVERSATION_STATUS];
    const char *const state = conversation_state(status);

    buf_char(out, '{');
    add_text(out, "type", STR("conversation"));
    add_text(out, "id", values[CONVERSATION_ID]);
    add_text(out, "external_id", is_api ? values[CONVERSATION_EXTERNAL_ID] : STR_NONE);
    add_raw(out, "created_at", values[CONVERSATION_CREATED_AT]);
    add_raw(out, "updated_at", values[CONVERSATION_UPDATED_AT]);
    add_raw(out, "last_message_at", values[CONVERSATION_LAST_MESSAGE_AT]);
    add_text(out, "channel", channel);
    add_source(out, channel);
    add_text(out, "state", str_of(state));
    add_raw(out, "open", state[0] == 'o' ? STR("true") : STR("false"));
    add_text(out, "status", status);
    add_raw(out, "custom_attributes", values[CONVERSATION_CUSTOM_ATTRIBUTES]);
    add_raw(out, "message_count", values[CONVERSATION_MESSAGE_COUNT]);
    add_contact(out, values);
    add_contacts(out, values);
    buf_char(out, '}');
}

void conversation_write(struct buf *out, const struct db_rows *rows, size_t row, int first)
{
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, row, first + i);
    conversation_write_values(out, values);
}
