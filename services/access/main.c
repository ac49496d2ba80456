#include "common/audit_log/audit_log.h"
#include "common/bus/bus.h"
#include "common/json/json.h"
#include "common/runtime/service.h"
#include "proto/subject.h"
#include "services/access/access.h"
#include "services/access/session.h"

static struct access access_state;

static const struct setting settings[] = {
    {.name = "RATE_LIMIT_DEFAULT",
     .type = SETTING_INT,
     .offset = offsetof(struct access, rate_limit_default),
     .fallback = "1667",
     .min = 1,
     .max = ACCESS_RATE_LIMIT_MAX,
     .meaning = "Requests per window of 10 seconds and key where the organization has no "
                "own limit; all keys of an organization together have 2.5 times as many"},
    {.name = "PASSWORD_COST",
     .type = SETTING_INT,
     .offset = offsetof(struct access, password_cost),
     .fallback = "15",
     .min = 10,
     .max = 16,
     .meaning =
         "Hashing a password takes 2 to this number rounds of scrypt, with r=8 and p=3: one more "
         "takes twice as long, and twice as much memory as 32 MiB, twice a process; less than 15 "
         "is for tests. A hash of a lower cost is replaced when its user signs in"},
};

/* Nothing here is in the audit log: that is the API's, and these are not its operations. What
   changes something is in the log of changes. */
static const struct route auth_routes[] = {
    {SUBJECT_ACCESS_AUTHENTICATE, OP_NONE, CHANGE_NONE, false, access_authenticate_parse,
     access_query, access_authenticate_reply, NULL},
    {SUBJECT_ACCESS_QUOTA, OP_NONE, CHANGE_NONE, true, access_quota_parse, access_query,
     access_reply, NULL},
};

static const struct route routes[] = {
    {SUBJECT_ACCESS_USED, OP_NONE, CHANGE_NONE, true, access_report_usage_parse, access_query, NULL,
     NULL},
    {SUBJECT_ACCESS_ORG_CREATE, OP_NONE, CHANGE_ORGANIZATION_CREATE, true, access_org_create_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_ORG_GET, OP_NONE, CHANGE_NONE, false, access_org_get_parse, access_query,
     access_reply, NULL},
    {SUBJECT_ACCESS_ORG_LIST, OP_NONE, CHANGE_NONE, false, access_org_list_parse, access_query,
     access_reply, NULL},
    {SUBJECT_ACCESS_ORG_COUNT, OP_NONE, CHANGE_NONE, false, access_org_count_parse, access_query,
     access_reply, NULL},
    {SUBJECT_ACCESS_ORG_SET, OP_NONE, CHANGE_ORGANIZATION_SET, true, access_org_set_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_KEY_CREATE, OP_NONE, CHANGE_KEY_CREATE, true, access_key_create_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_KEY_LIST, OP_NONE, CHANGE_NONE, false, access_key_list_parse, access_query,
     access_reply, NULL},
    {SUBJECT_ACCESS_KEY_ROTATE, OP_NONE, CHANGE_KEY_ROTATE, true, access_key_rotate_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_KEY_REVOKE, OP_NONE, CHANGE_KEY_REVOKE, true, access_key_revoke_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_POLICY_GET, OP_NONE, CHANGE_NONE, false, access_policy_get_parse, access_query,
     access_reply, NULL},
    {SUBJECT_ACCESS_POLICY_SET, OP_NONE, CHANGE_POLICY_SET, true, access_policy_set_parse,
     access_query, access_reply_change, NULL},
    {SUBJECT_ACCESS_MEMBER_LIST, OP_NONE, CHANGE_NONE, false, access_member_list_parse,
     access_query, access_reply, NULL},
    {SUBJECT_ACCESS_MEMBER_INVITE, OP_NONE, CHANGE_MEMBER_INVITE, true, access_member_invite_parse,
     access_query, access_reply, NULL},
    {SUBJECT_ACCESS_MEMBER_SET, OP_NONE, CHANGE_MEMBER_SET, true, access_member_set_parse,
     access_query, access_reply, NULL},
    {SUBJECT_ACCESS_MEMBER_REMOVE, OP_NONE, CHANGE_MEMBER_REMOVE, true, access_member_remove_parse,
     access_query, access_reply, NULL},
    {SUBJECT_ACCESS_SESSION_CHECK, OP_NONE, CHANGE_NONE, false, access_session_check_parse,
     access_query, access_session_check_reply, NULL},
    {SUBJECT_ACCESS_SESSION_LIST, OP_NONE, CHANGE_NONE, false, access_session_list_parse,
     access_query, access_reply, NULL},
    {SUBJECT_ACCESS_SESSION_END, OP_NONE, CHANGE_SESSION_END, true, access_session_end_parse,
     access_query, access_session_end_reply, NULL},
    {SUBJECT_ACCESS_SESSION_END_ALL, OP_NONE, CHANGE_SESSION_END_ALL, true,
     access_session_end_all_parse, access_query, access_reply, NULL},
};

static const struct route usage_routes[] = {
    {SUBJECT_USAGE_READ, OP_NONE, CHANGE_NONE, false, access_read_usage_parse,
     access_read_usage_query, access_read_usage_reply, NULL},
};

static struct service usage_service = {
    .name = "usage",
    .group = "access", /* as the bus knows the whole process */
    .routes = usage_routes,
    .n_routes = ARRAY_SIZE(usage_routes),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .batch_max = 8,
    .actors = 1,
};

/* What gateways wait for before they know whom they serve waits for nothing that people ask for. */
static struct service auth_service = {
    .name = "admission",
    .group = "access",
    .routes = auth_routes,
    .n_routes = ARRAY_SIZE(auth_routes),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .next_in_process = &usage_service,
};

static const struct route session_routes[] = {
    {SUBJECT_SESSION_SIGN_IN, OP_NONE, CHANGE_SESSION_SIGN_IN, true, access_sign_in_parse,
     access_sign_in_query, access_sign_in_reply, NULL},
    {SUBJECT_SESSION_CHANGE_PASSWORD, OP_NONE, CHANGE_PASSWORD_CHANGE, true, access_password_parse,
     access_password_query, access_password_reply, NULL},
    {SUBJECT_SESSION_ACCEPT_INVITATION, OP_NONE, CHANGE_INVITATION_ACCEPT, true,
     access_invitation_parse, access_invitation_query, access_invitation_reply, NULL},
    {SUBJECT_SESSION_USER_CREATE, OP_NONE, CHANGE_USER_CREATE, true, access_user_create_parse,
     access_query, access_reply, NULL},
};

/* Alone in its transaction each: they keep it open while they hash. Two at a time, 32 MiB each: one
   whose email is known in many organizations takes as many hashes. */
static struct service session_service = {
    .name = "session",
    .group = "access",
    .routes = session_routes,
    .n_routes = ARRAY_SIZE(session_routes),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .audit_sink = &audit_log,
    .batch_max = 1,
    .actors = 2,
    .next_in_process = &auth_service,
};

static struct service access_service = {
    .name = "access",
    .routes = routes,
    .n_routes = ARRAY_SIZE(routes),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .audit_sink = &audit_log,
    .on_idle = access_upkeep,
    .next_in_process = &session_service,
};

static enum status open(struct service *service, void *config)
{
    uint8_t password[SHA256_BYTES];

    json_wipe_what_is_freed();
    bus_wipe_what_is_freed();
    crypto_password_set_cost((unsigned)access_state.password_cost);
    crypto_random(password, sizeof(password));
    crypto_password_hash((struct str){(const char *)password, sizeof(password)},
                         access_state.no_password_hash);
    return ST_OK;
}

int main(int argc, char **argv)
{
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = ARRAY_SIZE(settings),
        .config = &access_state,
        .open = open,
    };

    return service_main(argc, argv, &access_service, &extra);
}
