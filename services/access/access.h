/*
 * access - the service that knows organizations, their API keys, policy, quotas and users.
 *
 * What     Each command is one statement that answers with a result and the finished JSON, or with
 *          no row when the organization or the thing named in it does not exist. So a command is
 *          little more than its parse hook; query and reply are the same for all, those apart that
 *          hash a password (session.h).
 * Threads  struct access is read-only after start, except for what access_upkeep() keeps, which
 *          only the first actor's thread touches.
 */
#ifndef SERVICES_ACCESS_ACCESS_H
#define SERVICES_ACCESS_ACCESS_H

#include "access_sql.h"
#include "common/actor/actor.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"

#define ACCESS_RATE_LIMIT_MAX 1000000 /* requests in one window of one key */

struct access {
    int64_t rate_limit_default;
    int64_t password_cost;
    int64_t upkeep_due_us;                       /* clock_mono_us() */
    char no_password_hash[CRYPTO_PASSWORD_TEXT]; /* of an unknown password */
};

/* A parsed command: what to query, and what the rows alone do not hold. */
struct access_query {
    enum access_sql statement;
    struct params params;
    /* Shown to the caller this once, as the answer's last member; never sent to the database. */
    const char *secret_name;
    struct str secret;
    struct str secret_of_reader; /* instead of it, when the row's third column says read */
    bool locks;                  /* the organization, before the statement begins */
    size_t index;                /* of the statement in the batch */
};

/* -- parse: one a subject -------------------------------------------------------------------- */

enum status access_authenticate_parse(struct command *command, void *service);
enum status access_quota_parse(struct command *command, void *service);
enum status access_report_usage_parse(struct command *command, void *service);
enum status access_read_usage_parse(struct command *command, void *service);
enum status access_org_create_parse(struct command *command, void *service);
enum status access_org_get_parse(struct command *command, void *service);
enum status access_org_list_parse(struct command *command, void *service);
enum status access_org_count_parse(struct command *command, void *service);
enum status access_org_set_parse(struct command *command, void *service);
enum status access_key_create_parse(struct command *command, void *service);
enum status access_key_list_parse(struct command *command, void *service);
enum status access_key_rotate_parse(struct command *command, void *service);
enum status access_key_revoke_parse(struct command *command, void *service);
enum status access_policy_get_parse(struct command *command, void *service);
enum status access_policy_set_parse(struct command *command, void *service);
enum status access_member_list_parse(struct command *command, void *service);
enum status access_member_invite_parse(struct command *command, void *service);
enum status access_member_set_parse(struct command *command, void *service);
enum status access_member_remove_parse(struct command *command, void *service);
enum status access_session_check_parse(struct command *command, void *service);
enum status access_session_list_parse(struct command *command, void *service);
enum status access_session_end_parse(struct command *command, void *service);
enum status access_session_end_all_parse(struct command *command, void *service);
enum status access_user_create_parse(struct command *command, void *service);

/* -- query and reply ------------------------------------------------------------------------- */

void access_query(struct command *command, struct db *db, void *service);
enum status access_reply(struct command *command, struct db *db, void *service);
/* The same; and gateways are told to forget what they know of the organization, if it changed. */
enum status access_reply_change(struct command *command, struct db *db, void *service);
/* No row means an unknown key here, not an absent resource. */
enum status access_authenticate_reply(struct command *command, struct db *db, void *service);
enum status access_session_check_reply(struct command *command, struct db *db, void *service);
enum status access_session_end_reply(struct command *command, struct db *db, void *service);

void access_read_usage_query(struct command *command, struct db *db, void *service);
enum status access_read_usage_reply(struct command *command, struct db *db, void *service);

/* -- for the parse hooks --------------------------------------------------------------------- */

/* A new query with the organization as its first parameter, in its place in the order of locks;
   NULL when the header was missing, and the command is refused then. */
struct access_query *access_for_organization(struct command *command, enum access_sql statement);

/* One number for an organization, of its advisory lock and of its grants' place in the order of
   locks: before all that access_for_organization() makes. */
uint64_t access_order_of_grants(const struct uuid *organization_id);
enum status access_refuse_role(struct command *command);

/* For a list: reads the body, {"before"?: id}, and appends that id as a parameter. */
enum status access_list_before(struct command *command, struct access_query *query);

/* Writes the database's object as the reply, with the secret as its last member unless `name` is
   NULL. */
void access_write(struct command *command, struct str object, const char *name, struct str secret);

/* Forgets what is over: windows, attempts, sessions, usage. */
void access_upkeep(struct db *db, struct arena *arena, void *service);

#endif
