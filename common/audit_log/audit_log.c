#include "common/audit_log/audit_log.h"

#include <stdlib.h>

#include "audit_log_sql.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"
#include "common/json/json.h"

/* -- entries ----------------------------------------------------------------------------------- */

const char *audit_log_outcome(int http_status)
{
    if (http_status < 300)
        return "allowed";
    if (http_status == 403 || http_status == 429)
        return "denied";
    return http_status < 500 ? "rejected" : "error";
}

enum { NAME_BYTES = 24 /* an estimate */ };

static void open_column(struct elements *column, enum audit_log_column which, size_t n,
                        struct arena *arena)
{
    switch (which) {
    case AUDIT_LOG_CREATED_AT:
        times_open(column, arena, n);
        break;
    case AUDIT_LOG_HTTP_STATUS:
        smallints_open(column, arena, n);
        break;
    case AUDIT_LOG_OPERATION:
    case AUDIT_LOG_OUTCOME:
    case AUDIT_LOG_DENIAL_REASON:
        texts_open(column, arena, n * NAME_BYTES);
        break;
    case AUDIT_LOG_ORGANIZATION_ID:
    case AUDIT_LOG_REQUEST_ID:
    case AUDIT_LOG_API_KEY_ID:
    case AUDIT_LOG_CONVERSATION_ID:
    case AUDIT_LOG_CONTACT_ID:
    case AUDIT_LOG_COLUMNS:
        ids_open(column, arena, n);
        break;
    }
}

static void add_id_or_null(struct elements *column, const struct uuid *id)
{
    ids_add(column, uuid_is_nil(id) ? NULL : id);
}

static void add_name_or_null(struct elements *column, const char *name)
{
    texts_add(column, name != NULL ? str_of(name) : STR_NONE);
}

static void add_value(struct elements *column, enum audit_log_column which,
                      const struct audit_log_entry *entry)
{
    const char *outcome = audit_log_outcome(entry->http_status);

    switch (which) {
    case AUDIT_LOG_ORGANIZATION_ID:
        ids_add(column, &entry->organization_id);
        break;
    case AUDIT_LOG_CREATED_AT:
        times_add(column, uuid_v7_ms(&entry->request_id) * 1000);
        break;
    case AUDIT_LOG_REQUEST_ID:
        ids_add(column, &entry->request_id);
        break;
    case AUDIT_LOG_API_KEY_ID:
        ids_add(column, &entry->api_key_id);
        break;
    case AUDIT_LOG_OPERATION:
        add_name_or_null(column, operation_name(entry->operation));
        break;
    case AUDIT_LOG_HTTP_STATUS:
        smallints_add(column, (int16_t)entry->http_status);
        break;
    case AUDIT_LOG_OUTCOME:
        add_name_or_null(column, outcome);
        break;
    case AUDIT_LOG_DENIAL_REASON:
        add_name_or_null(column, outcome[0] == 'd' ? entry->error_code : NULL);
        break;
    case AUDIT_LOG_CONVERSATION_ID:
        add_id_or_null(column, &entry->conversation_id);
        break;
    case AUDIT_LOG_CONTACT_ID:
        add_id_or_null(column, &entry->contact_id);
        break;
    case AUDIT_LOG_COLUMNS:
        break;
    }
}

void audit_log_add(struct db *db, int statement, const struct audit_log_entry *entries, size_t n,
                   struct arena *arena)
{
    struct params params = {.n = 0};

    for (int which = 0; which < AUDIT_LOG_COLUMNS; which++) {
        struct elements column;

        open_column(&column, (enum audit_log_column)which, n, arena);
        for (size_t i = 0; i < n; i++)
            add_value(&column, (enum audit_log_column)which, &entries[i]);
        params_add_elements(&params, &column);
    }
    db_add(db, statement, &params);
}

bool audit_log_entry_of(const struct command *command, struct audit_log_entry *out)
{
    if (command->handler->operation == OP_NONE || !outcome_is_audited(command->outcome))
        return false;
    *out = (struct audit_log_entry){
        .organization_id = command->caller.organization_id,
        .request_id = command->caller.request_id,
        .api_key_id = command->caller.api_key_id,
        .operation = command->handler->operation,
        .http_status = outcome_http_status(command->outcome),
        .error_code = outcome_code(command->outcome),
        .conversation_id = command->conversation_id,
        .contact_id = command->contact_id,
    };
    return true;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* The parameters of sql/append_changes.sql. */
enum column {
    ORGANIZATION_ID,
    ID,
    WHO,
    USER_ID,
    CHANGE,
    TARGET,
    DETAIL,
    ADDRESS,
    COLUMNS,
};

/* NULL: it is not JSON. */
static json_t *parsed(struct str text)
{
    json_t *value = NULL;
    char error[160];

    return text.n > 0 && json_read(text, &value, error) ? value : NULL;
}

static void add_logged_value(struct buf *out, const char *name, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const struct str shown = text != NULL ? str_of(text) : STR("null");

    json_add_key(out, name);
    if (shown.n <= CHANGE_LOG_VALUE_MAX)
        buf_add(out, shown);
    else if (json_is_array(value))
        buf_printf(out, "{\"elements\":%zu}", json_array_size(value));
    else
        buf_printf(out, "{\"bytes\":%zu}", shown.n);
    free(text);
}

static void add_members(struct buf *out, const json_t *object, const char *names,
                        struct arena *arena)
{
    struct str rest = str_of(names);

    while (rest.n > 0) {
        const char *name = arena_cstr(arena, str_cut(&rest, ' '));
        const json_t *value = json_object_get(object, name);

        if (value != NULL && !json_is_null(value))
            add_logged_value(out, name, value);
    }
}

struct change_entry change_entry_of(const struct command *command, struct arena *arena)
{
    const enum change change = command->handler->change;
    json_t *asked = parsed(command->body), *told = parsed(buf_str(&command->reply));
    struct change_entry entry = {.target = command->change_target};
    struct buf detail;

    if (entry.target.p == NULL)
        entry.target = arena_str(arena, json_member_text(asked, "id"));
    if (entry.target.p == NULL)
        entry.target = arena_str(arena, json_member_text(told, "id"));
    buf_init(&detail, arena, 256);
    if (command->change_detail.n > 0)
        buf_add(&detail, buf_str(&command->change_detail));
    else
        buf_char(&detail, '{');
    add_members(&detail, asked, change_asked(change), arena);
    add_members(&detail, told, change_told(change), arena);
    buf_char(&detail, '}');
    entry.detail = buf_str(&detail);
    json_free(asked);
    json_free(told);
    return entry;
}

/* A command whose target, such as a session, did not exist has no organization, and is not
   recorded. */
static bool is_change(const struct command *command)
{
    return command->handler->change != CHANGE_NONE && outcome_code(command->outcome) == NULL &&
           !command->is_no_change && !uuid_is_nil(&command->caller.organization_id);
}

static void add_row(struct buf columns[COLUMNS], const struct command *command, struct arena *arena)
{
    const struct caller *caller = &command->caller;
    const struct change_entry entry = change_entry_of(command, arena);
    const struct uuid id = uuid_v7(clock_us());

    array_add_id(&columns[ORGANIZATION_ID], &caller->organization_id);
    array_add_id(&columns[ID], &id);
    array_add(&columns[WHO], caller->user_email.n > 0 ? caller->user_email : STR("operator"));
    if (uuid_is_nil(&caller->user_id))
        array_add(&columns[USER_ID], STR_NONE);
    else
        array_add_id(&columns[USER_ID], &caller->user_id);
    array_add_plain(&columns[CHANGE], str_of(change_name(command->handler->change)));
    array_add(&columns[TARGET], entry.target);
    array_add(&columns[DETAIL], entry.detail);
    array_add(&columns[ADDRESS], caller->address);
}

void change_log_add(struct db *db, int statement, struct command *const *commands, size_t n,
                    struct arena *arena)
{
    struct buf columns[COLUMNS];
    struct params params = {.n = 0};
    size_t n_changes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_change(commands[i]))
            continue;
        for (int c = 0; n_changes == 0 && c < COLUMNS; c++)
            array_open(&columns[c], arena, 64);
        add_row(columns, commands[i], arena);
        n_changes++;
    }
    if (n_changes == 0)
        return;
    for (int c = 0; c < COLUMNS; c++)
        params_add(&params, array_close(&columns[c]));
    db_add(db, statement, &params);
}

/* -- the audit sink ---------------------------------------------------------------------------- */

void audit_log_write(struct db *db, const struct audit_statements *statements,
                     struct command *const *commands, size_t n, struct arena *arena,
                     audit_log_entry_fn entry_of)
{
    struct audit_log_entry *entries = ARENA_ARRAY(arena, struct audit_log_entry, n);
    size_t n_entries = 0;

    for (size_t i = 0; i < n; i++)
        if (entry_of(commands[i], &entries[n_entries]))
            n_entries++;
    if (n_entries > 0)
        audit_log_add(db, statements->entries, entries, n_entries, arena);
    change_log_add(db, statements->changes, commands, n, arena);
}

static void add(struct db *db, const struct audit_statements *statements,
                struct command *const *commands, size_t n, struct arena *arena)
{
    audit_log_write(db, statements, commands, n, arena, audit_log_entry_of);
}

const struct audit_sink audit_log = {.entries = &audit_log_sql[SQL_APPEND_ENTRIES],
                                     .changes = &audit_log_sql[SQL_APPEND_CHANGES],
                                     .add = add};
