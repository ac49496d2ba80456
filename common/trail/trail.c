#include "common/trail/trail.h"

#include "common/db/array.h"
#include "common/trail/changes.h"
#include "trail_sql.h"

const char *trail_outcome(int http_status)
{
    if (http_status < 300)
        return "allowed";
    if (http_status == 403 || http_status == 429)
        return "denied";
    return http_status < 500 ? "rejected" : "error";
}

/* -- one column of all entries ------------------------------------------------------------------
 */

static void add_id_or_null(struct buf *column, const struct uuid *id)
{
    if (uuid_is_nil(id))
        array_add(column, STR_NONE);
    else
        array_add_id(column, id);
}

/* Names from our own tables: lower case letters, dots and underscores need no quotes. */
static void add_name_or_null(struct buf *column, const char *name)
{
    if (name == NULL)
        array_add(column, STR_NONE);
    else
        array_add_plain(column, str_of(name));
}

static void add_value(struct buf *column, enum trail_column which, const struct trail_entry *entry)
{
    const char *outcome = trail_outcome(entry->http_status);

    switch (which) {
    case TRAIL_ORGANIZATION_ID:
        array_add_id(column, &entry->organization_id);
        break;
    case TRAIL_CREATED_MS:
        array_add_int(column, uuid_v7_ms(&entry->request_id));
        break;
    case TRAIL_REQUEST_ID:
        array_add_id(column, &entry->request_id);
        break;
    case TRAIL_API_KEY_ID:
        array_add_id(column, &entry->api_key_id);
        break;
    case TRAIL_OPERATION:
        add_name_or_null(column, operation_name(entry->operation));
        break;
    case TRAIL_HTTP_STATUS:
        array_add_int(column, entry->http_status);
        break;
    case TRAIL_OUTCOME:
        add_name_or_null(column, outcome);
        break;
    case TRAIL_DENIAL_REASON:
        add_name_or_null(column, outcome[0] == 'd' ? entry->error_code : NULL);
        break;
    case TRAIL_CONVERSATION_ID:
        add_id_or_null(column, &entry->conversation_id);
        break;
    case TRAIL_CONTACT_ID:
        add_id_or_null(column, &entry->contact_id);
        break;
    case TRAIL_COLUMNS:
        break;
    }
}

void trail_add(struct db *db, int statement, const struct trail_entry *entries, size_t n,
               struct arena *arena)
{
    db_param params[TRAIL_COLUMNS];

    for (int which = 0; which < TRAIL_COLUMNS; which++) {
        struct buf column;

        array_open(&column, arena, 2 + n * (UUID_TEXT + 1));
        for (size_t i = 0; i < n; i++)
            add_value(&column, (enum trail_column)which, &entries[i]);
        params[which] = array_close(&column);
    }
    db_add(db, statement, params, TRAIL_COLUMNS);
}

/* -- the ledger ------------------------------------------------------------------------------ */

bool trail_entry_of(const struct command *command, struct trail_entry *out)
{
    if (command->route->operation == OP_NONE || !outcome_is_audited(command->outcome))
        return false;
    *out = (struct trail_entry){
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

void trail_record(struct db *db, int statement, struct command *const *commands, size_t n,
                  struct arena *arena, trail_entry_fn entry_of)
{
    struct trail_entry *entries = ARENA_ARRAY(arena, struct trail_entry, n);
    size_t n_entries = 0;

    for (size_t i = 0; i < n; i++)
        if (entry_of(commands[i], &entries[n_entries]))
            n_entries++;
    if (n_entries > 0)
        trail_add(db, statement, entries, n_entries, arena);
    changes_add(db, statement + 1, commands, n, arena);
}

static void add(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena)
{
    trail_record(db, statement, commands, n, arena, trail_entry_of);
}

const struct ledger trail = {.entries = &trail_sql[SQL_APPEND_ENTRIES],
                             .changes = &trail_sql[SQL_APPEND_CHANGES],
                             .add = add};
