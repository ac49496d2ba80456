/*
 * record - the audit sink of the audit service.
 *
 * Where other services fail on a second entry for a request, this one leaves the first as it is:
 * the gateway may report again, and may have reported before a late list comes round.
 */
#include "audit_log_sql.h"
#include "audit_sql.h"
#include "services/audit/audit.h"

/* The gateway reports an entry that it has made. */
static bool entry_of(const struct command *command, struct audit_log_entry *out)
{
    if (command->route->parse != audit_append_parse)
        return audit_log_entry_of(command, out);
    if (command->state == NULL)
        return false;
    *out = *(const struct audit_log_entry *)command->state;
    return true;
}

static void add(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena)
{
    audit_log_write(db, statement, commands, n, arena, entry_of);
}

/* An entry that was not made has found another one there: the gateway is told. */
static void on_commit(const struct db_rows *rows, struct command *const *commands, size_t n)
{
    size_t row = 0;

    for (size_t i = 0; i < n; i++) {
        struct audit_log_entry entry;
        struct uuid made;

        if (!entry_of(commands[i], &entry))
            continue;
        if (row < db_rows_count(rows) && uuid_parse(db_value(rows, row, 0), &made) &&
            uuid_equal(&made, &entry.request_id))
            row++;
        else
            commands[i]->is_recorded_already = commands[i]->route->parse == audit_append_parse;
    }
}

const struct audit_sink audit_service_sink = {.entries = &audit_sql[SQL_RECORD_ENTRIES],
                                              .changes = &audit_log_sql[SQL_APPEND_CHANGES],
                                              .add = add,
                                              .on_commit = on_commit};
