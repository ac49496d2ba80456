#include "services/audit/audit.h"

#include "audit_log_sql.h"
#include "audit_sql.h"
#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"

/*
 * audit.append - one entry for a request that ended in the gateway.
 *
 * Answer   ok, or parameter_invalid naming a header: a bug of the sender
 * Retry    safe: an entry that exists already is left as it is, and the reply says so (Recorded)
 */

/* The code as a constant, which outlives the message; NULL = unknown. */
static const char *code_of(struct str text)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        const char *code = outcome_code((enum outcome)i);

        if (code != NULL && str_equal(text, str_of(code)))
            return code;
    }
    return NULL;
}

const char *audit_append_read(const struct caller *caller, const struct audit_append_fields *fields,
                              struct audit_log_entry *out)
{
    struct audit_log_entry entry = {.organization_id = caller->organization_id,
                                    .request_id = caller->request_id,
                                    .api_key_id = caller->api_key_id};
    uint64_t status;

    if (uuid_is_nil(&caller->request_id))
        return HEADER_REQUEST_ID;
    if (uuid_is_nil(&caller->organization_id))
        return HEADER_ORGANIZATION;
    if (uuid_is_nil(&caller->api_key_id))
        return HEADER_API_KEY;
    if (fields->operation.n == 0 || !operation_of(fields->operation, &entry.operation))
        return HEADER_OPERATION;
    if (!str_to_u64(fields->http_status, 599, &status) || status < 200)
        return HEADER_STATUS;
    entry.http_status = (int)status;
    entry.error_code = code_of(fields->code);
    if ((entry.error_code != NULL) == (status < 300))
        return HEADER_CODE;
    if (fields->resource_id.p != NULL && !uuid_parse(fields->resource_id, &entry.conversation_id))
        return HEADER_RESOURCE;
    if (fields->contact_id.p != NULL && !uuid_parse(fields->contact_id, &entry.contact_id))
        return HEADER_CONTACT;
    *out = entry;
    return NULL;
}

static enum status append_parse(struct command *command, void *service)
{
    struct audit_log_entry *entry = ARENA_NEW(command->arena, struct audit_log_entry);
    const struct audit_append_fields fields = {
        .operation = bus_message_header(command->message, HEADER_OPERATION),
        .http_status = bus_message_header(command->message, HEADER_STATUS),
        .code = bus_message_header(command->message, HEADER_CODE),
        .resource_id = command->resource_id,
        .contact_id = bus_message_header(command->message, HEADER_CONTACT),
    };
    const char *wrong = audit_append_read(&command->caller, &fields, entry);

    if (wrong != NULL)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, wrong, "is missing or malformed");
    command->state = entry;
    return ST_OK;
}

const struct command_handler audit_append = {
    .subject = SUBJECT_AUDIT_APPEND,
    .writes = true,
    .parse = append_parse,
};

/*
 * record - the audit sink of the audit service.
 *
 * In other services a second entry for a request fails; here the first one is left as it is. The
 * gateway may repeat a report, and may report a list as timed out before the list itself is
 * recorded.
 */

/* For append, the entry that the gateway reported. */
static bool entry_of(const struct command *command, struct audit_log_entry *out)
{
    if (command->handler != &audit_append)
        return audit_log_entry_of(command, out);
    if (command->state == NULL)
        return false;
    *out = *(const struct audit_log_entry *)command->state;
    return true;
}

static void add(struct db *db, const struct audit_statements *statements,
                struct command *const *commands, size_t n, struct arena *arena)
{
    audit_log_write(db, statements, commands, n, arena, entry_of);
}

/* An entry that was not inserted existed already: the reply tells the gateway. */
static void on_commit(const struct db_rows *rows, struct command *const *commands, size_t n)
{
    size_t row = 0;

    for (size_t i = 0; i < n; i++) {
        struct audit_log_entry entry;
        struct uuid made;

        if (!entry_of(commands[i], &entry))
            continue;
        if (row < db_rows_count(rows) &&
            uuid_parse(db_value(rows, row, RECORD_ENTRIES_REQUEST_ID), &made) &&
            uuid_equal(&made, &entry.request_id))
            row++;
        else
            commands[i]->is_recorded_already = commands[i]->handler == &audit_append;
    }
}

const struct audit_sink audit_service_sink = {.entries = &audit_sql[SQL_RECORD_ENTRIES],
                                              .changes = &audit_log_sql[SQL_APPEND_CHANGES],
                                              .add = add,
                                              .on_commit = on_commit};
