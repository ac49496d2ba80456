#include "common/base/cell.h"
#include "common/base/log.h"
#include "common/bus/bus.h"
#include "common/json/json.h"
#include "common/runtime/service.h"
#include "proto/subject.h"
#include "services/access/access.h"
#include "services/access/outbox.h"
#include "services/access/session.h"

static struct access access_state;

static const struct setting settings[] = {
    {.name = "RATE_LIMIT_DEFAULT",
     .type = SETTING_INT,
     .offset = offsetof(struct access, rate_limit_default),
     .fallback = "1667",
     .min = 1,
     .max = ACCESS_RATE_LIMIT_MAX,
     .meaning = "Requests per key and window of 10 seconds, if the organization has no limit of "
                "its own; all keys of an organization together may make 2.5 times as many"},
    {.name = "PASSWORD_COST",
     .type = SETTING_INT,
     .offset = offsetof(struct access, password_cost),
     .fallback = "15",
     .min = 10,
     .max = 16,
     .meaning =
         "Cost of hashing a password: scrypt with N = 2 to this power, r=8 and p=3. 15 takes 32 "
         "MiB for each of two hashes at a time in a process; one more doubles time and memory; "
         "less than 15 is for tests. A hash of a lower cost is replaced when its user signs in"},
    {.name = "CELL_NAMES",
     .type = SETTING_STRING,
     .offset = offsetof(struct access, cells),
     .fallback = CELL_MAIN,
     .meaning = "Names of the cells, separated by commas; a new organization is placed in the "
                "first one by default"},
};

/* These are not operations of the API, so the audit log has no entries for them; the log of changes
   gets those that change something, through the outbox. */
static const struct command_handler *const auth_handlers[] = {
    &access_authenticate,
    &access_quota,
};

static const struct command_handler *const handlers[] = {
    &access_report_usage,  &access_org_create,    &access_org_get,     &access_org_list,
    &access_org_count,     &access_org_set,       &access_key_create,  &access_key_list,
    &access_org_cell,      &access_cell_list,     &access_move_get,    &access_move_set,
    &access_key_rotate,    &access_key_revoke,    &access_policy_get,  &access_policy_set,
    &access_member_list,   &access_member_invite, &access_member_set,  &access_member_remove,
    &access_session_check, &access_session_list,  &access_session_end, &access_session_end_all,
};

static const struct command_handler *const usage_handlers[] = {
    &access_read_usage,
};

static struct service usage_service = {
    .name = "usage",
    .group = "access", /* the whole process is one group on the bus */
    .handlers = usage_handlers,
    .n_handlers = ARRAY_SIZE(usage_handlers),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .batch_max = 8,
    .actors = 1,
};

/* Gateways need these before they can serve a request, so they have their own actors and never wait
   for commands of people. */
static struct service auth_service = {
    .name = "admission",
    .group = "access",
    .handlers = auth_handlers,
    .n_handlers = ARRAY_SIZE(auth_handlers),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .next_in_process = &usage_service,
};

static const struct command_handler *const session_handlers[] = {
    &access_sign_in,
    &access_password,
    &access_invitation,
    &access_user_create,
};

/* Each has a transaction of its own, because it stays open while a password is hashed. Two at a
   time, 32 MiB each; an email that several organizations have takes a hash for each. */
static struct service session_service = {
    .name = "session",
    .group = "access",
    .handlers = session_handlers,
    .n_handlers = ARRAY_SIZE(session_handlers),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .audit_sink = &access_outbox,
    .batch_max = 1,
    .actors = 2,
    .next_in_process = &auth_service,
};

static struct service access_service = {
    .name = "access",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .audit_sink = &access_outbox,
    .on_idle = access_upkeep,
    .next_in_process = &session_service,
};

static enum status open(struct service *service, void *config)
{
    uint8_t password[SHA256_BYTES];

    if (!cell_list_is_sound(str_of(access_state.cells))) {
        LOG(LOG_ERROR, "CELL_NAMES must be names of cells, separated by commas");
        return ST_REFUSED;
    }
    access_busiest_open(&access_state);
    json_wipe_what_is_freed();
    bus_wipe_what_is_freed();
    crypto_password_set_cost((unsigned)access_state.password_cost);
    crypto_random(password, sizeof(password));
    crypto_password_hash((struct str){(const char *)password, sizeof(password)},
                         access_state.no_password_hash);
    return ST_OK;
}

static enum status start_outbox(const struct process *process, void *config)
{
    return outbox_start(process);
}

int main(int argc, char **argv)
{
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = ARRAY_SIZE(settings),
        .config = &access_state,
        .open = open,
        .start = start_outbox,
        .stop = outbox_stop,
    };

    return service_main(argc, argv, &access_service, &extra);
}
