#include "common/audit_log/audit_log.h"

#include "audit_log_sql.h"
#include "common/audit_log/change_log.h"
#include "common/db/array.h"

const char *audit_log_outcome(int http_status)
{
    if (http_status < 300)
        return "allowed";
    if (http_status == 403 || http_status == 429)
        return "denied";
    return http_status < 500 ? "rejected" : "error";
}

/* -- one column of all entries ------------------------------------------------------------------
 */

enum {
    IDS = 1 << AUDIT_LOG_ORGANIZATION_ID | 1 << AUDIT_LOG_REQUEST_ID | 1 << AUDIT_LOG_API_KEY_ID |
          1 << AUDIT_LOG_CONVERSATION_ID | 1 << AUDIT_LOG_CONTACT_ID,
};

static void add_id_or_null(struct buf *column, const struct uuid *id)
{
    ids_add(column, uuid_is_nil(id) ? NULL : id);
}

/* Names from our own tables: lower case letters, dots and underscores need no quotes. */
static void add_name_or_null(struct buf *column, const char *name)
{
    if (name == NULL)
        array_add(column, STR_NONE);
    else
        array_add_plain(column, str_of(name));
}

static void add_value(struct buf *column, enum audit_log_column which,
                      const struct audit_log_entry *entry)
{
    const char *outcome = audit_log_outcome(entry->http_status);

    switch (which) {
    case AUDIT_LOG_ORGANIZATION_ID:
        ids_add(column, &entry->organization_id);
        break;
    case AUDIT_LOG_CREATED_MS:
        array_add_int(column, uuid_v7_ms(&entry->request_id));
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
        array_add_int(column, entry->http_status);
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
    db_param params[AUDIT_LOG_COLUMNS];

    for (int which = 0; which < AUDIT_LOG_COLUMNS; which++) {
        const bool is_ids = (IDS >> which & 1) != 0;
        struct buf column;

        if (is_ids)
            ids_open(&column, arena, n);
        else
            array_open(&column, arena, 2 + n * 24);
        for (size_t i = 0; i < n; i++)
            add_value(&column, (enum audit_log_column)which, &entries[i]);
        params[which] = is_ids ? ids_close(&column) : array_close(&column);
    }
    db_add_binary(db, statement, params, AUDIT_LOG_COLUMNS, IDS);
}

/* -- the audit sink -------------------------------------------------------------------------- */

bool audit_log_entry_of(const struct command *command, struct audit_log_entry *out)
{
    if (command->route->operation == OP_NONE || !outcome_is_audited(command->outcome))
        return false;
    *out = (struct audit_log_entry){
        .organization_id = command->caller.organization_id,
        .request_id = command->caller.request_id,
        .api_key_id = command->caller.api_key_id,
        .operation = command->route->operation,
        .http_status = outcome_http_status(command->outcome),
        .error_code = outcome_code(command->outcome),
        .conversation_id = command->conversation_id,
        .contact_id = command->contact_id,
    };
    return true;
}

void audit_log_write(struct db *db, int statement, struct command *const *commands, size_t n,
                     struct arena *arena, audit_log_entry_fn entry_of)
{
    struct audit_log_entry *entries = ARENA_ARRAY(arena, struct audit_log_entry, n);
    size_t n_entries = 0;

    for (size_t i = 0; i < n; i++)
        if (entry_of(commands[i], &entries[n_entries]))
            n_entries++;
    if (n_entries > 0)
        audit_log_add(db, statement, entries, n_entries, arena);
    change_log_add(db, statement + 1, commands, n, arena);
}

static void add(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena)
{
    audit_log_write(db, statement, commands, n, arena, audit_log_entry_of);
}

const struct audit_sink audit_log = {.entries = &audit_log_sql[SQL_APPEND_ENTRIES],
                                     .changes = &audit_log_sql[SQL_APPEND_CHANGES],
                                     .add = add};
