#include "audit_sql.h"
#include "common/base/log.h"
#include "common/runtime/service.h"
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
     .meaning = "A second key whose cursors are also accepted, for changing keys"},
    {.name = "AUDIT_SIGNING_KEY",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, signing_key),
     .secret = true,
     .meaning = "Signs the seal of the audit log: 32 random characters or more, the same for all "
                "replicas"},
    {.name = "AUDIT_PUBLIC_KEYS",
     .type = SETTING_STRING,
     .offset = offsetof(struct audit_config, public_keys),
     .fallback = "",
     .meaning = "Public keys, in hex and separated by commas, of previous and next "
                "signing keys"},
    {.name = "AUDIT_RETENTION_MONTHS",
     .type = SETTING_INT,
     .offset = offsetof(struct audit_config, retention_months),
     .fallback = "0",
     .max = RETENTION_MONTHS_MAX,
     .meaning = "Months after which audit entries are deleted, unless an organization's "
                "minimum is longer: 3 or more; 0 = never"},
};

static const struct command_handler *const append_handlers[] = {
    &audit_append,
    &audit_record,
};

static const struct command_handler *const handlers[] = {
    &audit_list, &audit_entries, &audit_changes, &audit_verify, &audit_export, &audit_set_retention,
};

static struct audit audit;

static int64_t seal_lag_s(const void *self)
{
    return sealer_lag_s();
}

/* The gateway answers pings and refusals only after their entries are committed, and changes should
   be logged soon. So these have their own actors and never wait for a page, export or check. */
static struct service append_service = {
    .name = "append",
    .group = "audit", /* the whole process is one group on the bus */
    .handlers = append_handlers,
    .n_handlers = ARRAY_SIZE(append_handlers),
    .statements = audit_sql,
    .n_statements = AUDIT_SQL_COUNT,
    .self = &audit,
    .audit_sink = &audit_service_sink,
};

static struct service audit_service = {
    .name = "audit",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = audit_sql,
    .n_statements = AUDIT_SQL_COUNT,
    .self = &audit,
    .audit_sink = &audit_service_sink,
    .has_slow_lane = true,
    .on_idle = audit_upkeep,
    .lag_s = seal_lag_s,
    .next_in_process = &append_service,
};

static enum status open_audit(struct service *service, void *config)
{
    const struct audit_config *read = config;

    if (!cursor_keys_read(read->cursor_key, read->cursor_key_previous, &audit.keys)) {
        LOG(LOG_ERROR, "CURSOR_KEY and CURSOR_KEY_PREVIOUS must be at least 32 characters long");
        return ST_REFUSED;
    }
    if (read->retention_months > 0 && read->retention_months < RETENTION_MONTHS_MIN) {
        LOG(LOG_ERROR, "AUDIT_RETENTION_MONTHS must be 0 or at least 3");
        return ST_REFUSED;
    }
    audit.retention_months = read->retention_months;
    audit_upkeep_open(&audit);
    return audit_keys_read(read->signing_key, read->public_keys, &audit.signing) ? ST_OK
                                                                                 : ST_REFUSED;
}

static enum status start_sealer(const struct process *process, void *config)
{
    return sealer_start(process, &audit.signing, audit.retention_months);
}

int main(int argc, char **argv)
{
    static struct audit_config config;
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = ARRAY_SIZE(settings),
        .config = &config,
        .open = open_audit,
        .start = start_sealer,
        .stop = sealer_stop,
    };

    return service_main(argc, argv, &audit_service, &extra);
}
