#include "common/actor/service.h"
#include "common/trail/trail.h"
#include "proto/subject.h"
#include "services/access/access.h"
#include "services/access/session.h"

static struct access access_state;

static const struct setting settings[] = {
    {.name = "RATE_LIMIT_DEFAULT",
     .type = SETTING_INT,
     .offset = offsetof(struct access, rate_limit_default),
     .fallback = "1667",
     .least = 1,
     .most = ACCESS_RATE_LIMIT_MOST,
     .meaning = "Requests per window of 10 seconds and key where the organization has no limit of "
                "its own; all keys of an organization together have 2.5 times as many"},
};

/* Nothing here is in the audit trail: that is the API's, and these are not its operations. What
   changes something is in the trail of changes. */
static const struct route routes[] = {
    {SUBJECT_ACCESS_AUTHENTICATE, OP_NONE, CHANGE_NONE, false, authenticate_judge, access_ask,
     authenticate_tell, NULL},
    {SUBJECT_ACCESS_QUOTA, OP_NONE, CHANGE_NONE, true, quota_judge, access_ask, access_tell, NULL},
    {SUBJECT_ACCESS_USED, OP_NONE, CHANGE_NONE, true, used_judge, access_ask, NULL, NULL},
    {SUBJECT_ACCESS_ORG_CREATE, OP_NONE, CHANGE_ORGANIZATION_CREATE, true, org_create_judge,
     access_ask, access_tell_change, NULL},
    {SUBJECT_ACCESS_ORG_GET, OP_NONE, CHANGE_NONE, false, org_get_judge, access_ask, access_tell,
     NULL},
    {SUBJECT_ACCESS_ORG_LIST, OP_NONE, CHANGE_NONE, false, org_list_judge, access_ask, access_tell,
     NULL},
    {SUBJECT_ACCESS_ORG_COUNT, OP_NONE, CHANGE_NONE, false, org_count_judge, access_ask,
     access_tell, NULL},
    {SUBJECT_ACCESS_ORG_SET, OP_NONE, CHANGE_ORGANIZATION_SET, true, org_set_judge, access_ask,
     access_tell_change, NULL},
    {SUBJECT_ACCESS_KEY_CREATE, OP_NONE, CHANGE_KEY_CREATE, true, key_create_judge, access_ask,
     access_tell_change, NULL},
    {SUBJECT_ACCESS_KEY_LIST, OP_NONE, CHANGE_NONE, false, key_list_judge, access_ask, access_tell,
     NULL},
    {SUBJECT_ACCESS_KEY_ROTATE, OP_NONE, CHANGE_KEY_ROTATE, true, key_rotate_judge, access_ask,
     access_tell_change, NULL},
    {SUBJECT_ACCESS_KEY_REVOKE, OP_NONE, CHANGE_KEY_REVOKE, true, key_revoke_judge, access_ask,
     access_tell_change, NULL},
    {SUBJECT_ACCESS_POLICY_GET, OP_NONE, CHANGE_NONE, false, policy_get_judge, access_ask,
     access_tell, NULL},
    {SUBJECT_ACCESS_POLICY_SET, OP_NONE, CHANGE_POLICY_SET, true, policy_set_judge, access_ask,
     access_tell_change, NULL},
    {SUBJECT_ACCESS_MEMBER_LIST, OP_NONE, CHANGE_NONE, false, member_list_judge, access_ask,
     access_tell, NULL},
    {SUBJECT_ACCESS_MEMBER_INVITE, OP_NONE, CHANGE_MEMBER_INVITE, true, member_invite_judge,
     access_ask, access_tell, NULL},
    {SUBJECT_ACCESS_MEMBER_SET, OP_NONE, CHANGE_MEMBER_SET, true, member_set_judge, access_ask,
     access_tell, NULL},
    {SUBJECT_ACCESS_MEMBER_REMOVE, OP_NONE, CHANGE_MEMBER_REMOVE, true, member_remove_judge,
     access_ask, access_tell, NULL},
    {SUBJECT_ACCESS_SESSION_CHECK, OP_NONE, CHANGE_NONE, false, session_check_judge, access_ask,
     session_check_tell, NULL},
    {SUBJECT_ACCESS_SESSION_LIST, OP_NONE, CHANGE_NONE, false, session_list_judge, access_ask,
     access_tell, NULL},
    {SUBJECT_ACCESS_SESSION_END, OP_NONE, CHANGE_SESSION_END, true, session_end_judge, access_ask,
     session_end_tell, NULL},
    {SUBJECT_ACCESS_SESSION_END_ALL, OP_NONE, CHANGE_SESSION_END_ALL, true, session_end_all_judge,
     access_ask, access_tell, NULL},
};

static const struct route usage_routes[] = {
    {SUBJECT_USAGE_READ, OP_NONE, CHANGE_NONE, false, usage_judge, usage_ask, usage_tell, NULL},
};

static struct service usage_service = {
    .name = "usage",
    .group = "access", /* as the bus knows the whole process */
    .mailbox = SUBJECT_USAGE,
    .routes = usage_routes,
    .n_routes = sizeof(usage_routes) / sizeof(usage_routes[0]),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .batch_most = 8,
    .actors = 1,
};

static const struct route session_routes[] = {
    {SUBJECT_SESSION_SIGN_IN, OP_NONE, CHANGE_SESSION_SIGN_IN, true, sign_in_judge, sign_in_ask,
     sign_in_tell, NULL},
    {SUBJECT_SESSION_CHANGE_PASSWORD, OP_NONE, CHANGE_PASSWORD_CHANGE, true, password_judge,
     password_ask, password_tell, NULL},
    {SUBJECT_SESSION_ACCEPT_INVITATION, OP_NONE, CHANGE_INVITATION_ACCEPT, true, invitation_judge,
     invitation_ask, invitation_tell, NULL},
    {SUBJECT_SESSION_USER_CREATE, OP_NONE, CHANGE_USER_CREATE, true, user_create_judge, access_ask,
     access_tell, NULL},
};

/* Alone in its transaction each: they keep it open while they hash, with counters of attempts
   locked in an order that only holds for one of them. */
static struct service session_service = {
    .name = "session",
    .group = "access",
    .mailbox = SUBJECT_SESSION,
    .routes = session_routes,
    .n_routes = sizeof(session_routes) / sizeof(session_routes[0]),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .ledger = &trail,
    .batch_most = 1,
    .actors = 1,
    .beside = &usage_service,
};

static struct service access_service = {
    .name = "access",
    .mailbox = SUBJECT_ACCESS,
    .routes = routes,
    .n_routes = sizeof(routes) / sizeof(routes[0]),
    .statements = access_sql,
    .n_statements = ACCESS_SQL_COUNT,
    .self = &access_state,
    .ledger = &trail,
    .on_idle = access_upkeep,
    .beside = &session_service,
};

static enum status open(struct service *service, void *config)
{
    uint8_t password[SHA256_BYTES];

    crypto_random(password, sizeof(password));
    crypto_password_hash((struct str){(const char *)password, sizeof(password)},
                         access_state.no_password_hash);
    return ST_OK;
}

int main(int argc, char **argv)
{
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = sizeof(settings) / sizeof(settings[0]),
        .config = &access_state,
        .open = open,
    };

    return service_main(argc, argv, &access_service, &extra);
}
