/*
 * record - the ledger of the audit service.
 *
 * Where other services fail on a second entry for a request, this one leaves the first as it is:
 * the gateway may report again, and may have reported before a late list comes round.
 */
#include "audit_sql.h"
#include "common/trail/changes.h"
#include "services/audit/audit.h"
#include "trail_sql.h"

static bool entry_of(const struct command *command, struct trail_entry *out)
{
    if (command->route->operation == OP_NONE) {
        /* Operators' commands are not requests to the API. */
        if (command->route->judge != audit_append_judge || command->state == NULL)
            return false;
        *out = *(const struct trail_entry *)command->state;
        return true;
    }
    if (!outcome_is_audited(command->outcome))
        return false;
    *out = (struct trail_entry){
        .organization_id = command->caller.organization_id,
        .request_id = command->caller.request_id,
        .api_key_id = command->caller.api_key_id,
        .operation = command->route->operation,
        .http_status = outcome_http_status(command->outcome),
        .error_code = outcome_code(command->outcome),
    };
    return true;
}

static void add(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena)
{
    struct trail_entry *entries = ARENA_ARRAY(arena, struct trail_entry, n);
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (entry_of(commands[i], &entries[count]))
            count++;
    }
    if (count > 0)
        trail_add(db, statement, entries, count, arena);
    changes_add(db, statement + 1, commands, n, arena);
}

const struct ledger audit_ledger = {.entries = &audit_sql[SQL_RECORD_ENTRIES],
                                    .changes = &trail_sql[SQL_APPEND_CHANGES],
                                    .add = add};
