/*
 * member-list, member-invite, member-set, member-remove - the users of an organization.
 *
 * Answer   ok: {members: [...]}, or the member, with its invitation when it was just made; or
 *          parameter_invalid, parameter_not_found, not_found, conflict, insufficient_role,
 *          last_owner
 * Retry    member-invite makes another invitation each time, and the one before is void; the others
 *          are idempotent, but for what is gone being not_found
 *
 * `by_role` is the role of who asks. Without it an operator asks, who may do everything.
 */
#include "common/base/clock.h"
#include "services/access/access.h"
#include "services/access/inputs.h"
#include "services/access/session.h"

static const char *const roles[] = {"owner", "admin", "member", NULL};

struct member {
    struct str id, email, role, by_role;
};

#define INPUT_ROLE(member_, must_be)                                                               \
    {                                                                                              \
        .name = #member_, .kind = FIELD_CHOICE, .required = (must_be), .choices = roles,           \
        .offset = offsetof(struct member, member_)                                                 \
    }

/* A new ask once the body has been read and `by_role` may do such things at all; else NULL. */
static struct access_query *ask_for(struct command *command, enum access_sql statement,
                                    const struct field *fields, size_t n, struct member *body)
{
    struct access_query *query = access_for_organization(command, statement);

    *body = (struct member){0};
    if (query == NULL)
        return NULL;
    if (!fields_read_body(command->body, fields, n, body, &command->errors)) {
        command_refuse_all(command, fields_outcome(&command->errors));
        return NULL;
    }
    if (str_equal(body->by_role, STR("member")) ||
        (str_equal(body->by_role, STR("admin")) && str_equal(body->role, STR("owner")))) {
        access_refuse_role(command);
        return NULL;
    }
    body->id = input_exact_id(body->id);
    return query;
}

enum status access_member_list_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_LIST_MEMBERS);

    return query != NULL ? access_list_before(command, query) : ST_REFUSED;
}

static const struct field invite_fields[] = {
    INPUT(member, email, input_email, true),
    INPUT_ROLE(role, true),
    INPUT_ROLE(by_role, false),
};

enum status access_member_invite_parse(struct command *command, void *service)
{
    struct member body;
    struct access_query *query = ask_for(command, SQL_INVITE_MEMBER, invite_fields, 3, &body);
    const struct uuid id = uuid_v7(clock_us());
    struct str hash;

    if (query == NULL)
        return ST_REFUSED;
    query->secret_name = "invitation";
    query->secret = session_secret_make(command->arena, &hash);
    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body.email);
    params_add(&query->params, body.role);
    params_add(&query->params, hash);
    params_add(&query->params, body.by_role);
    if (uuid_is_nil(&command->caller.user_id))
        params_add(&query->params, STR_NONE);
    else
        params_add_id(&query->params, command->arena, &command->caller.user_id);
    params_add(&query->params, command->caller.address);
    return ST_OK;
}

static const struct field set_fields[] = {
    INPUT_ID(member, id, true),
    INPUT_ROLE(role, true),
    INPUT_ROLE(by_role, false),
};

/* Without a role the member is removed. */
static enum status parse_change(struct command *command, const struct field *fields, size_t n)
{
    struct member body;
    struct access_query *query = ask_for(command, SQL_CHANGE_MEMBER, fields, n, &body);

    if (query == NULL)
        return ST_REFUSED;
    query->locks = true;
    params_add(&query->params, body.id);
    params_add(&query->params, body.role);
    params_add(&query->params, body.by_role);
    return ST_OK;
}

enum status access_member_set_parse(struct command *command, void *service)
{
    return parse_change(command, set_fields, 3);
}

static const struct field remove_fields[] = {
    INPUT_ID(member, id, true),
    INPUT_ROLE(by_role, false),
};

enum status access_member_remove_parse(struct command *command, void *service)
{
    return parse_change(command, remove_fields, 2);
}
