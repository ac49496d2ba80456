/*
 * access - the service of organizations, their API keys, policies, quotas and users.
 *
 * What     Each command is one statement that returns a result and the finished JSON, or no row if
 *          the organization or what the command names in it does not exist. So a command is little
 *          more than its parse hook; all share the query and reply hooks, except those that hash a
 *          password (passwords.h, session.h) and read-usage. The common parts are here.
 * Threads  struct access is read-only after start, except for the state of access_upkeep(), which
 *          only the first actor's thread uses.
 */
#ifndef SERVICES_ACCESS_ACCESS_H
#define SERVICES_ACCESS_ACCESS_H

#include "access_sql.h"
#include "common/actor/operator_command.h"
#include "common/base/metrics.h"
#include "common/crypto/crypto.h"
#include "common/json/fields.h"
#include "proto/outcome.h"

#define ACCESS_RATE_LIMIT_MAX 1000000 /* requests in one window of one key */

struct access {
    int64_t rate_limit_default;
    int64_t password_cost;
    const char *cells; /* names, separated by commas; new organizations go into the first */
    int64_t upkeep_due_us, busiest_due_us; /* clock_mono_us() */
    struct metric *busiest, *answers;
    int64_t cleaned_s; /* Unix seconds of the last upkeep that left nothing; 0: none yet */
    char no_password_hash[CRYPTO_PASSWORD_TEXT]; /* of a random password, for unknown emails */
};

/* -- the commands ------------------------------------------------------------------------------ */

extern const struct command_handler access_authenticate;
extern const struct command_handler access_quota;
extern const struct command_handler access_report_usage;
extern const struct command_handler access_read_usage;
extern const struct command_handler access_org_create;
extern const struct command_handler access_org_get;
extern const struct command_handler access_org_cell;
extern const struct command_handler access_org_list;
extern const struct command_handler access_org_count;
extern const struct command_handler access_org_set;
extern const struct command_handler access_cell_list;
extern const struct command_handler access_move_get;
extern const struct command_handler access_move_set;
extern const struct command_handler access_key_create;
extern const struct command_handler access_key_list;
extern const struct command_handler access_key_rotate;
extern const struct command_handler access_key_revoke;
extern const struct command_handler access_policy_get;
extern const struct command_handler access_policy_set;
extern const struct command_handler access_member_list;
extern const struct command_handler access_member_invite;
extern const struct command_handler access_member_set;
extern const struct command_handler access_member_remove;
extern const struct command_handler access_invitation;
extern const struct command_handler access_user_create;
extern const struct command_handler access_session_check;
extern const struct command_handler access_session_list;
extern const struct command_handler access_session_end;
extern const struct command_handler access_session_end_all;
extern const struct command_handler access_sign_in;
extern const struct command_handler access_password;

/* -- query and reply --------------------------------------------------------------------------- */

enum status access_reply(struct command *command, struct db *db, void *service);
/* The same; after a change, a notice makes gateways forget the organization's data. */
enum status access_reply_change(struct command *command, struct db *db, void *service);
/* In these two, no row means an invalid key or session, not an absent resource. */
enum status access_authenticate_reply(struct command *command, struct db *db, void *service);
enum status access_session_check_reply(struct command *command, struct db *db, void *service);

/* -- for the parse hooks ----------------------------------------------------------------------- */

/* A new query with the organization as its first parameter; sets the command's lock_order. */
struct operator_query *access_for_organization(struct command *command, enum access_sql statement);
/* The query locks the organization before its statement begins. */
void access_lock(struct operator_query *query);

/* The number of an organization's advisory lock for grants, and the lock_order of its grants, which
   comes before that of all queries of access_for_organization(). */
uint64_t access_order_of_grants(const struct uuid *organization_id);
enum status access_refuse_role(struct command *command);

/* -- members of a body that several commands have ---------------------------------------------- */

/* For fields of the kind FIELD_CUSTOM. Pure. */

/* Each writes a struct str. */
void input_email(json_t *value, const char *path, void *slot, struct errors *errors);
void input_hash(json_t *value, const char *path, void *slot, struct errors *errors);
void input_address(json_t *value, const char *path, void *slot, struct errors *errors);

/* Ids are case-sensitive: one in capitals is well-formed but names nothing, so it becomes the nil
   UUID. */
struct str input_exact_id(struct str id);

#define INPUT(type, member, reader, must_be)                                                       \
    {                                                                                              \
        .name = #member, .kind = FIELD_CUSTOM, .required = (must_be), .read = (reader),            \
        .offset = offsetof(struct type, member)                                                    \
    }
#define INPUT_ID(type, member, must_be)                                                            \
    {                                                                                              \
        .name = #member, .kind = FIELD_UUID, .required = (must_be),                                \
        .offset = offsetof(struct type, member)                                                    \
    }
#define INPUT_TEXT(type, member, from, to)                                                         \
    {                                                                                              \
        .name = #member, .kind = FIELD_TEXT, .required = true, .min = (from), .max = (to),         \
        .offset = offsetof(struct type, member)                                                    \
    }

/* -- usage ------------------------------------------------------------------------------------- */

/* A percentile of the requests' latency in microseconds, estimated from counts in the buckets of
   proto/usage.def: interpolated within its bucket; for the last bucket, which has no upper bound,
   the lower bound. `percent` is 1 to 100. Returns -1 if nothing was counted. */
int64_t percentile_us(const int64_t counts[USAGE_BUCKETS], int percent);

/* -- upkeep ------------------------------------------------------------------------------------ */

/* Deletes what has expired: quota windows, attempts, sessions, sign-in networks, usage. Also keeps
   the metrics of the busiest organizations. */
void access_upkeep(struct db *db, struct arena *arena, void *service);

/* Metrics that show which organizations fill the audit log: answers in the last ten minutes, as
   gateways report them (report-usage), of a few organizations and of all. Read once a minute. */
void access_busiest_open(struct access *self); /* before threads start */
MUST_CHECK enum status access_busiest_read(struct db *db, struct arena *arena, struct access *self);

#endif
