/*
 * record - the ledger of the audit service.
 *
 * Where other services fail on a second entry for a request, this one leaves the first as it is:
 * the gateway may report again, and may have reported before a late list comes round.
 */
#include "audit_sql.h"
#include "services/audit/audit.h"
#include "trail_sql.h"

/* What the gateway reports is an entry of its own making. */
static bool entry_of(const struct command *command, struct trail_entry *out)
{
    if (command->route->judge != audit_append_judge)
        return trail_entry_of(command, out);
    if (command->state == NULL)
        return false;
    *out = *(const struct trail_entry *)command->state;
    return true;
}

static void add(struct db *db, int statement, struct command *const *commands, size_t n,
                struct arena *arena)
{
    trail_record(db, statement, commands, n, arena, entry_of);
}

const struct ledger audit_ledger = {.entries = &audit_sql[SQL_RECORD_ENTRIES],
                                    .changes = &trail_sql[SQL_APPEND_CHANGES],
                                    .add = add};
