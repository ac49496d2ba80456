/*
 * user-create - a user of the dashboard.
 *
 * Answer   ok: {id, email, role}, and the password when it was made here; or parameter_invalid,
 *          parameter_not_found, not_found, conflict
 * Retry    a second call finds the email taken
 *
 * Served by the mailbox v1.session, since it hashes a password.
 */
#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "common/wire/fields.h"
#include "services/access/access.h"
#include "services/access/inputs.h"

#define PASSWORD_MADE 20 /* base62: 119 bits */

static const char *const roles[] = {"owner", "admin", "member", NULL};

struct user_create {
    struct str email, role, password;
};

static const struct field fields[] = {
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
};

static struct str make_password(struct arena *arena)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char *text = arena_alloc(arena, PASSWORD_MADE + 1);

    for (size_t n = 0; n < PASSWORD_MADE;) {
        uint8_t byte;

        crypto_random(&byte, 1);
        if (byte < 4 * 62) /* the rest would favour the first digits */
            text[n++] = digits[byte % 62];
    }
    return (struct str){text, PASSWORD_MADE};
}

enum status access_user_create_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_CREATE_USER);
    char *hash = arena_alloc(command->arena, CRYPTO_PASSWORD_TEXT);
    const struct uuid id = uuid_v7(clock_us());
    struct user_create body = {0};

    command->arena->wipes = true;
    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 3, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (body.password.p != NULL && password_is_easy(body.password, body.email)) {
        crypto_wipe((char *)body.password.p, body.password.n);
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "password", PASSWORD_EASY);
    }
    if (body.password.p == NULL) {
        query->secret_name = "password";
        query->secret = body.password = make_password(command->arena);
    }
    crypto_password_hash(body.password, hash);
    if (query->secret_name == NULL)
        crypto_wipe((char *)body.password.p, body.password.n);

    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body.email);
    params_add(&query->params, body.role);
    params_add(&query->params, str_of(hash));
    return ST_OK;
}
