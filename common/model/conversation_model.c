#include "common/model/conversation_model.h"

#include "common/base/ascii.h"
#include "common/json/json.h"

/* -- statuses ---------------------------------------------------------------------------------- */

#define SETTABLE "active", "waiting", "human_takeover", "resolved", "archived"
#define LEGACY   "closed"

const char *const conversation_status_names[] = {SETTABLE, NULL};
const char *const conversation_stored_statuses[CONVERSATION_STORED_STATUSES] = {SETTABLE, LEGACY};
const char *const conversation_state_names[] = {"open", "closed", NULL};

struct str conversation_status_shown(struct str stored)
{
    return str_equal(stored, STR(LEGACY)) ? STR("resolved") : stored;
}

bool conversation_status_is_open(struct str status)
{
    return str_equal(status, STR("active")) || str_equal(status, STR("waiting")) ||
           str_equal(status, STR("human_takeover"));
}

struct str conversation_state(struct str status)
{
    return conversation_status_is_open(status) ? STR("open") : STR("closed");
}

/* -- custom attributes ------------------------------------------------------------------------- */

static bool has_key_characters(struct str key)
{
    if (key.n == 0 || !ascii_is_letter(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        const char c = key.p[i];

        if (!ascii_is_alphanumeric(c) && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

static bool is_reserved(struct str key)
{
    const struct str prefix = STR("service_");

    return key.n >= prefix.n && str_equal_nocase((struct str){key.p, prefix.n}, prefix);
}

const char *attribute_key_error(struct str key)
{
    if (!has_key_characters(key))
        return "must begin with a letter and consist of letters, digits, '_', '-' and '.'";
    if (key.n > ATTRIBUTE_KEY_MAX)
        return "must be a key of at most 64 characters";
    if (is_reserved(key))
        return "must not use the reserved prefix service_";
    return NULL;
}

/* -- JSON -------------------------------------------------------------------------------------- */

/* `before` is the text between the previous value and this one. A page of a search has thousands of
   values, so the text common to all of them is copied as a whole. */
static void add_text(struct buf *out, struct str before, struct str text)
{
    buf_add(out, before);
    json_add_string(out, text);
}

/* An id from PostgreSQL: nothing in it needs escaping. */
static void add_id(struct buf *out, struct str before, struct str id)
{
    buf_add(out, before);
    buf_char(out, '"');
    buf_add(out, id);
    buf_char(out, '"');
}

/* A number from PostgreSQL; absent is null. */
static void add_raw(struct buf *out, struct str before, struct str json)
{
    buf_add(out, before);
    buf_add(out, json.p != NULL ? json : STR("null"));
}

void conversation_write_contact(struct buf *out, const struct str values[CONVERSATION_COLUMNS])
{
    const struct str id = values[CONVERSATION_CONTACT_ID];
    const struct str external_id = values[CONVERSATION_CONTACT_EXTERNAL_ID];

    if (id.p == NULL) {
        buf_add(out, STR(",\"contact\":null,"
                         "\"contacts\":{\"type\":\"contact.list\",\"contacts\":[]}"));
        return;
    }
    add_id(out, STR(",\"contact\":{\"type\":\"contact\",\"id\":"), id);
    add_text(out, STR(",\"external_id\":"), external_id);
    add_text(out, STR(",\"name\":"), values[CONVERSATION_CONTACT_NAME]);
    add_text(out, STR(",\"email\":"), values[CONVERSATION_CONTACT_EMAIL]);
    add_text(out, STR(",\"phone\":"), values[CONVERSATION_CONTACT_PHONE]);
    add_id(out,
           STR("},\"contacts\":{\"type\":\"contact.list\",\"contacts\":["
               "{\"type\":\"contact\",\"id\":"),
           id);
    add_text(out, STR(",\"external_id\":"), external_id);
    buf_add(out, STR("}]}"));
}

void conversation_write_with(struct buf *out, const struct str values[CONVERSATION_COLUMNS],
                             struct str contact)
{
    const struct str channel = values[CONVERSATION_CHANNEL];
    const bool is_api = str_equal(channel, STR("api"));
    const struct str status = values[CONVERSATION_STATUS];

    add_id(out, STR("{\"type\":\"conversation\",\"id\":"), values[CONVERSATION_ID]);
    add_text(out, STR(",\"external_id\":"), is_api ? values[CONVERSATION_EXTERNAL_ID] : STR_NONE);
    add_raw(out, STR(",\"created_at\":"), values[CONVERSATION_CREATED_AT]);
    add_raw(out, STR(",\"updated_at\":"), values[CONVERSATION_UPDATED_AT]);
    add_raw(out, STR(",\"last_message_at\":"), values[CONVERSATION_LAST_MESSAGE_AT]);
    add_text(out, STR(",\"channel\":"), channel);
    add_text(out, STR(",\"source\":{\"type\":"), channel);
    buf_add(out, conversation_status_is_open(status)
                     ? STR("},\"state\":\"open\",\"open\":true")
                     : STR("},\"state\":\"closed\",\"open\":false"));
    add_text(out, STR(",\"status\":"), conversation_status_shown(status));
    buf_add(out, STR(",\"custom_attributes\":"));
    json_add_compact(out, values[CONVERSATION_CUSTOM_ATTRIBUTES]);
    add_raw(out, STR(",\"message_count\":"), values[CONVERSATION_MESSAGE_COUNT]);
    buf_add(out, contact);
    buf_char(out, '}');
}

void conversation_write_values(struct buf *out, const struct str values[CONVERSATION_COLUMNS])
{
    struct buf contact;

    buf_init(&contact, out->arena, 512);
    conversation_write_contact(&contact, values);
    conversation_write_with(out, values, buf_str(&contact));
}

void conversation_write(struct buf *out, const struct db_rows *rows, size_t row, int first)
{
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, row, first + i);
    conversation_write_values(out, values);
}
