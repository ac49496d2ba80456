/*
 * access - the service that knows organizations, their API keys, policy, quotas and users.
 *
 * What     Each command is one statement that answers with a verdict and the finished JSON, or with
 *          no row when the organization or the thing named in it does not exist. So a command is
 *          little more than its judge(); asking and telling are the same for all, those apart that
 *          hash a password (session.h).
 * Threads  struct access is read-only after start, except for what access_upkeep() keeps, which
 * only the first actor's thread touches.
 */
#ifndef SERVICES_ACCESS_ACCESS_H
#define SERVICES_ACCESS_ACCESS_H

#include "access_sql.h"
#include "common/actor/actor.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"

#define ACCESS_RATE_LIMIT_MOST 1000000 /* requests in one window of one key */

struct access {
    int64_t rate_limit_default;
    int64_t upkeep_due_us;                       /* clock_mono_us() */
    char no_password_hash[CRYPTO_PASSWORD_TEXT]; /* nobody knows of what */
};

/* A judged command: what to ask the database, and what its answer alone does not hold. */
struct access_ask {
    enum access_sql statement;
    struct params params;
    /* Told to the caller this once, as the answer's last member; never sent to the database. */
    const char *secret_name;
    struct str secret;
    struct str secret_of_reader; /* instead of it, when the row's third column says read */
    bool locks;                  /* the organization, before the statement begins */
    size_t index;                /* of the statement in the batch */
};

/* -- judge: one a subject -------------------------------------------------------------------- */

enum status authenticate_judge(struct command *command, void *service);
enum status quota_judge(struct command *command, void *service);
enum status used_judge(struct command *command, void *service);
enum status usage_judge(struct command *command, void *service);
enum status org_create_judge(struct command *command, void *service);
enum status org_get_judge(struct command *command, void *service);
enum status org_list_judge(struct command *command, void *service);
enum status org_count_judge(struct command *command, void *service);
enum status org_set_judge(struct command *command, void *service);
enum status key_create_judge(struct command *command, void *service);
enum status key_list_judge(struct command *command, void *service);
enum status key_rotate_judge(struct command *command, void *service);
enum status key_revoke_judge(struct command *command, void *service);
enum status policy_get_judge(struct command *command, void *service);
enum status policy_set_judge(struct command *command, void *service);
enum status member_list_judge(struct command *command, void *service);
enum status member_invite_judge(struct command *command, void *service);
enum status member_set_judge(struct command *command, void *service);
enum status member_remove_judge(struct command *command, void *service);
enum status session_check_judge(struct command *command, void *service);
enum status session_list_judge(struct command *command, void *service);
enum status session_end_judge(struct command *command, void *service);
enum status session_end_all_judge(struct command *command, void *service);
enum status user_create_judge(struct command *command, void *service);

/* -- ask and tell ---------------------------------------------------------------------------- */

void access_ask(struct command *command, struct db *db, void *service);
enum status access_tell(struct command *command, struct db *db, void *service);
/* The same; and gateways are told to forget what they know of the organization. */
enum status access_tell_change(struct command *command, struct db *db, void *service);
/* No row means an unknown key here, not an absent resource. */
enum status authenticate_tell(struct command *command, struct db *db, void *service);
enum status session_check_tell(struct command *command, struct db *db, void *service);
enum status session_end_tell(struct command *command, struct db *db, void *service);

void usage_ask(struct command *command, struct db *db, void *service);
enum status usage_tell(struct command *command, struct db *db, void *service);

/* -- for the judges -------------------------------------------------------------------------- */

/* A new ask with the organization as its first parameter, in its place in the order of locks; NULL
   when the header was missing, and the command is refused then. */
struct access_ask *access_for_organization(struct command *command, enum access_sql statement);

/* One number for an organization, of its advisory lock and of its grants' place in the order of
   locks: before all that access_for_organization() makes. */
uint64_t access_order_of_grants(const struct uuid *organization_id);
enum status access_refuse_role(struct command *command);

/* For a list: reads the body, {"before"?: id}, and appends that id as a parameter. */
enum status access_list_before(struct command *command, struct access_ask *ask);

/* Writes the database's object as the reply, with the secret as its last member unless `name` is
   NULL. */
void access_write(struct command *command, struct str object, const char *name, struct str secret);

/* Forgets what is over: windows, attempts, sessions, usage. */
void access_upkeep(struct db *db, struct arena *arena, void *service);

#endif
