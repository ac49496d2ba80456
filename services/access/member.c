#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/crypto/crypto.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/access/access.h"
#include "services/access/passwords.h"
#include "services/access/session.h"

/*
 * member-list, member-invite, member-set, member-remove - the users of an organization.
 *
 * Answer   ok: {members: [...]}, or the member, with its invitation if it was just created; or
 *          parameter_invalid, parameter_not_found, not_found, conflict, insufficient_role,
 *          last_owner
 * Retry    member-invite creates another invitation each time, which makes the one before void; the
 *          others are idempotent, except that a member or invitation that is gone is not_found
 *
 * `by_role` is the role of the requesting user. Without it the caller is an operator, who may do
 * everything.
 */

static const char *const roles[] = {"owner", "admin", "member", NULL};

struct member {
    struct str id, email, role, by_role;
};

#define INPUT_ROLE(member_, must_be)                                                               \
    {                                                                                              \
        .name = #member_, .kind = FIELD_CHOICE, .required = (must_be), .choices = roles,           \
        .offset = offsetof(struct member, member_)                                                 \
    }

/* NULL (refused): `by_role` does not allow the command. */
static struct operator_query *query_for(struct command *command, enum access_sql statement)
{
    struct member *body = command->input;

    if (str_equal(body->by_role, STR("member")) ||
        (str_equal(body->by_role, STR("admin")) && str_equal(body->role, STR("owner")))) {
        access_refuse_role(command);
        return NULL;
    }
    body->id = input_exact_id(body->id);
    return access_for_organization(command, statement);
}

static enum status member_list_parse(struct command *command, void *service)
{
    const struct operator_list *body = command->input;

    params_add(&access_for_organization(command, SQL_LIST_MEMBERS)->params, body->before);
    return ST_OK;
}

const struct command_handler access_member_list = {
    .subject = SUBJECT_ACCESS_MEMBER_LIST,
    .needs_organization = true,
    .fields = operator_list_fields,
    .input_size = sizeof(struct operator_list),
    .may_be_empty = true,
    .parse = member_list_parse,
    .query = operator_query,
    .reply = access_reply,
};

static const struct field invite_fields[] = {
    INPUT(member, email, input_email, true),
    INPUT_ROLE(role, true),
    INPUT_ROLE(by_role, false),
    FIELDS_END,
};

static enum status member_invite_parse(struct command *command, void *service)
{
    const struct member *body = command->input;
    struct operator_query *query = query_for(command, SQL_INVITE_MEMBER);
    const struct uuid id = uuid_v7(clock_us());
    struct str hash;

    if (query == NULL)
        return ST_REFUSED;
    query->secret_name = "invitation";
    query->secret = session_secret_make(command->arena, &hash);
    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body->email);
    params_add(&query->params, body->role);
    params_add(&query->params, hash);
    params_add(&query->params, body->by_role);
    if (uuid_is_nil(&command->caller.user_id))
        params_add(&query->params, STR_NONE);
    else
        params_add_id(&query->params, command->arena, &command->caller.user_id);
    params_add(&query->params, command->caller.address);
    return ST_OK;
}

const struct command_handler access_member_invite = {
    .subject = SUBJECT_ACCESS_MEMBER_INVITE,
    .change = CHANGE_MEMBER_INVITE,
    .writes = true,
    .needs_organization = true,
    .fields = invite_fields,
    .input_size = sizeof(struct member),
    .parse = member_invite_parse,
    .query = operator_query,
    .reply = access_reply,
};

static const struct field set_fields[] = {
    INPUT_ID(member, id, true),
    INPUT_ROLE(role, true),
    INPUT_ROLE(by_role, false),
    FIELDS_END,
};

/* Without a role the member is removed. */
static enum status parse_change(struct command *command, void *service)
{
    const struct member *body = command->input;
    struct operator_query *query = query_for(command, SQL_CHANGE_MEMBER);

    if (query == NULL)
        return ST_REFUSED;
    access_lock(query);
    params_add(&query->params, body->id);
    params_add(&query->params, body->role);
    params_add(&query->params, body->by_role);
    return ST_OK;
}

const struct command_handler access_member_set = {
    .subject = SUBJECT_ACCESS_MEMBER_SET,
    .change = CHANGE_MEMBER_SET,
    .writes = true,
    .needs_organization = true,
    .fields = set_fields,
    .input_size = sizeof(struct member),
    .parse = parse_change,
    .query = operator_query,
    .reply = access_reply,
};

static const struct field remove_fields[] = {
    INPUT_ID(member, id, true),
    INPUT_ROLE(by_role, false),
    FIELDS_END,
};

const struct command_handler access_member_remove = {
    .subject = SUBJECT_ACCESS_MEMBER_REMOVE,
    .change = CHANGE_MEMBER_REMOVE,
    .writes = true,
    .needs_organization = true,
    .fields = remove_fields,
    .input_size = sizeof(struct member),
    .parse = parse_change,
    .query = operator_query,
    .reply = access_reply,
};

/*
 * accept-invitation - the invited user chooses a password and is signed in.
 *
 * Answer   as sign-in; unauthorized if the invitation is not valid, or no longer
 * Retry    a second call finds the invitation used: sign in instead
 */

#define USER_AGENT_MAX 4096

struct invitation {
    struct str token, password, address, user_agent;
    struct str token_hash; /* in hex */
    struct password_attempts attempts;
    size_t found;
};

static const struct field invitation_fields[] = {
    INPUT_TEXT(invitation, token, 1, 255),
    INPUT_TEXT(invitation, password, PASSWORD_MIN, PASSWORD_MAX),
    INPUT(invitation, address, input_address, true),
    INPUT_TEXT(invitation, user_agent, 0, USER_AGENT_MAX),
    FIELDS_END,
};

static enum status invitation_parse(struct command *command, void *service)
{
    struct invitation *body = command->input;
    char *hex = arena_alloc(command->arena, 2 * SHA256_BYTES + 1);
    uint8_t hash[SHA256_BYTES];

    crypto_sha256(body->token, hash);
    hex_write(hash, sizeof(hash), hex);
    body->token_hash = str_of(hex);
    password_attempts_of_address(&body->attempts, command->arena, body->address);
    return ST_OK;
}

static void invitation_query(struct command *command, struct db *db, void *service)
{
    struct invitation *body = command->input;

    password_attempts_ask(&body->attempts, command->arena, db);
    body->found = db_add(db, SQL_FIND_INVITATION, PARAMS(body->token_hash));
}

static enum status refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_UNAUTHORIZED, NULL,
                          "The invitation was used, has expired or was replaced");
}

/* Whether two texts are the same address, in whatever spelling. */
static bool is_same_address(struct str a, struct str b)
{
    struct address first, second;

    return address_parse(a, &first) && address_parse(b, &second) && address_equal(&first, &second);
}

/* The inviting user has seen the link and could accept it in the other's name. So the change
   records who invited, and whether the invitation was accepted from the inviter's address. */
static void note_inviter(struct command *command, const struct invitation *body,
                         const struct db_rows *rows)
{
    command_note(command, "invited_by", db_value(rows, 0, FIND_INVITATION_INVITED_BY));
    if (is_same_address(db_value(rows, 0, FIND_INVITATION_INVITED_FROM), body->address))
        command_note(command, "warning", STR("accepted from the inviter's address"));
}

static enum status accept(struct command *command, struct db *db, const struct invitation *body)
{
    const struct db_rows *rows = db_result(db, body->found);
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);
    struct str organization_id, user_id;
    enum status st;
    size_t accepted;

    if (db_rows_count(rows) == 0) {
        password_attempts_note(&body->attempts, command->arena, db);
        return refuse(command);
    }
    if (password_is_easy(body->password, db_value(rows, 0, FIND_INVITATION_EMAIL)))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", PASSWORD_EASY);
    note_inviter(command, body, rows);
    crypto_password_hash(body->password, hash);
    organization_id = db_value(rows, 0, FIND_INVITATION_ORGANIZATION_ID);
    user_id = db_value(rows, 0, FIND_INVITATION_USER_ID);
    accepted = db_add(db, SQL_ACCEPT_INVITATION,
                      PARAMS(organization_id, user_id, body->token_hash, str_of(hash)));
    st = db_run(db);
    if (st != ST_OK)
        return st;
    if (db_rows_count(db_result(db, accepted)) == 0)
        return refuse(command);
    return session_open(command, db,
                        &(struct session_of){
                            .organization_id = organization_id,
                            .user_id = user_id,
                            .email = db_value(rows, 0, FIND_INVITATION_EMAIL),
                            .password_hash = str_of(hash),
                            .address = body->address,
                            .network = password_attempts_network(command->arena, body->address),
                            .user_agent = body->user_agent,
                        });
}

static enum status invitation_reply(struct command *command, struct db *db, void *service)
{
    const struct invitation *body = command->input;

    return password_attempts_are_full(&body->attempts, db, PASSWORD_ATTEMPT_ADDRESS)
               ? password_attempts_refuse(&body->attempts, command)
               : accept(command, db, body);
}

const struct command_handler access_invitation = {
    .subject = SUBJECT_SESSION_ACCEPT_INVITATION,
    .change = CHANGE_INVITATION_ACCEPT,
    .writes = true,
    .has_secrets = true,
    .fields = invitation_fields,
    .input_size = sizeof(struct invitation),
    .parse = invitation_parse,
    .query = invitation_query,
    .reply = invitation_reply,
};

/*
 * user-create - creates a user of the dashboard.
 *
 * Answer   ok: {id, email, role}, and the password if none was given; or parameter_invalid,
 *          parameter_not_found, not_found, conflict
 * Retry    a second call finds the email taken
 *
 * Served by the mailbox v1.session, because it hashes a password.
 */

#define PASSWORD_MADE 20 /* base62: 119 bits */

struct user_create {
    struct str email, role, password;
};

static const struct field user_fields[] = {
    {.name = "email",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = input_email,
     .offset = offsetof(struct user_create, email)},
    {.name = "role",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = roles,
     .offset = offsetof(struct user_create, role)},
    {.name = "password",
     .kind = FIELD_TEXT,
     .min = PASSWORD_MIN,
     .max = PASSWORD_MAX,
     .offset = offsetof(struct user_create, password)},
    FIELDS_END,
};

static struct str make_password(struct arena *arena)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char *text = arena_alloc(arena, PASSWORD_MADE + 1);

    for (size_t n = 0; n < PASSWORD_MADE;) {
        uint8_t byte;

        crypto_random(&byte, 1);
        if (byte < 4 * 62) /* higher values would favour the first digits */
            text[n++] = digits[byte % 62];
    }
    return (struct str){text, PASSWORD_MADE};
}

static enum status user_create_parse(struct command *command, void *service)
{
    struct operator_query *query = access_for_organization(command, SQL_CREATE_USER);
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);
    const struct uuid id = uuid_v7(clock_us());
    struct user_create *body = command->input;

    if (body->password.p != NULL && password_is_easy(body->password, body->email))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", PASSWORD_EASY);
    if (body->password.p == NULL) {
        query->secret_name = "password";
        query->secret = body->password = make_password(command->arena);
    }
    crypto_password_hash(body->password, hash);
    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body->email);
    params_add(&query->params, body->role);
    params_add(&query->params, str_of(hash));
    return ST_OK;
}

const struct command_handler access_user_create = {
    .subject = SUBJECT_SESSION_USER_CREATE,
    .change = CHANGE_USER_CREATE,
    .writes = true,
    .needs_organization = true,
    .has_secrets = true,
    .fields = user_fields,
    .input_size = sizeof(struct user_create),
    .parse = user_create_parse,
    .query = operator_query,
    .reply = access_reply,
};
