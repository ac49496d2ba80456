#include "audit_sql.h"
#include "common/actor/service.h"
#include "common/base/log.h"
#include "proto/subject.h"
#include "services/audit/audit.h"
#include "services/audit/sealer.h"

struct audit_config {
    const char *cursor_key;
    const char *cursor_key_previous;
    const char *signing_key;
    const char *public_keys;
    int64_t retention_months;
};

static const struct setting settings[] = {
    {.name = "CURSOR_KEY",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, cursor_key),
     .secret = true,
     .meaning =
         "Signs the cursors of lists: 32 random characters or more, the same for all replicas"},
    {.name = "CURSOR_KEY_PREVIOUS",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, cursor_key_previous),
     .fallback = "",
     .secret = true,
     .meaning = "A second key whose cursors are accepted as well, while keys are changed"},
    {.name = "AUDIT_SIGNING_KEY",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, signing_key),
     .secret = true,
     .meaning = "Signs the seal of the audit trail: 32 random characters or more, the same for all "
                "replicas"},
    {.name = "AUDIT_PUBLIC_KEYS",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, public_keys),
     .fallback = "",
     .meaning = "Public keys, in hex between commas, of signing keys that were used before"},
    {.name = "AUDIT_RETENTION_MONTHS",
     .type = SETTING_INT,
     .offset = offsetof(struct audit_config, retention_months),
     .fallback = "0",
     .most = RETENTION_MONTHS_MOST,
     .meaning = "Months after which the audit trail is dropped, where no organization's minimum is "
                "longer: 3 or more; 0 = it is kept for ever"},
};

static const struct route routes[] = {
    {.subject = SUBJECT_AUDIT_APPEND,
     .operation = OP_NONE,
     .writes = true,
     .judge = audit_append_judge},
    {.subject = SUBJECT_AUDIT_LIST,
     .operation = OP_AUDIT_LIST,
     .judge = audit_list_judge,
     .ask = audit_list_ask,
     .tell = audit_list_tell},
    {.subject = SUBJECT_AUDIT_ENTRIES,
     .operation = OP_NONE,
     .judge = audit_entries_judge,
     .ask = audit_list_ask,
     .tell = audit_list_tell},
    {.subject = SUBJECT_AUDIT_CHANGES,
     .operation = OP_NONE,
     .judge = audit_changes_judge,
     .ask = audit_changes_ask,
     .tell = audit_changes_tell},
    {.subject = SUBJECT_AUDIT_VERIFY,
     .operation = OP_NONE,
     .judge = audit_verify_judge,
     .ask = audit_verify_ask,
     .tell = audit_verify_tell},
    {.subject = SUBJECT_AUDIT_EXPORT,
     .operation = OP_NONE,
     .judge = audit_export_judge,
     .ask = audit_export_ask,
     .tell = audit_export_tell},
    {.subject = SUBJECT_AUDIT_RETAIN,
     .operation = OP_NONE,
     .change = CHANGE_AUDIT_RETAIN,
     .writes = true,
     .judge = audit_retain_judge,
     .ask = audit_retain_ask,
     .tell = audit_retain_tell},
};

/* The last statement is the ledger's: the actor registers it behind the service's own. */
_Static_assert(SQL_RECORD_ENTRIES == AUDIT_SQL_COUNT - 1, "the ledger's statement must come last");

static struct audit audit;

static struct service audit_service = {
    .name = "audit",
    .mailbox = SUBJECT_AUDIT,
    .routes = routes,
    .n_routes = sizeof(routes) / sizeof(routes[0]),
    .statements = audit_sql,
    .n_statements = SQL_RECORD_ENTRIES,
    .self = &audit,
    .looks_up_organizations = true,
    .ledger = &audit_ledger,
    .on_idle = audit_upkeep,
};

static enum status open_audit(struct service *service, void *config)
{
    const struct audit_config *read = config;

    if (!cursor_keys_read(read->cursor_key, read->cursor_key_previous, &audit.keys)) {
        LOG(LOG_ERROR, "CURSOR_KEY and CURSOR_KEY_PREVIOUS must be at least 32 characters long");
        return ST_REFUSED;
    }
    if (read->retention_months > 0 && read->retention_months < RETENTION_MONTHS_LEAST) {
        LOG(LOG_ERROR, "AUDIT_RETENTION_MONTHS must be 0 or at least 3");
        return ST_REFUSED;
    }
    audit.retention_months = read->retention_months;
    audit_upkeep_open(&audit);
    return audit_keys_read(read->signing_key, read->public_keys, &audit.signing) ? ST_OK
                                                                                 : ST_REFUSED;
}

static enum status start_sealer(const struct service_process *process, void *config)
{
    return sealer_start(process, audit.signing.own, audit.retention_months);
}

int main(int argc, char **argv)
{
    static struct audit_config config;
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = sizeof(settings) / sizeof(settings[0]),
        .config = &config,
        .open = open_audit,
        .start = start_sealer,
        .stop = sealer_stop,
    };

    return service_main(argc, argv, &audit_service, &extra);
}
