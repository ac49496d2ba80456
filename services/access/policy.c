/*
 * policy-get, policy-set - what an organization demands of a request beyond a key.
 *
 * Answer   ok: {require_https, ip_allowlist_enabled, ip_allowlist}; or parameter_invalid,
 *          not_found, would_lock_out when the list would be on without the editor's address and
 *          that has not been confirmed
 * Notice   v1.notice.access after a change
 * Retry    idempotent. A list that is given replaces the whole list
 */
#include "common/base/address.h"
#include "common/db/array.h"
#include "common/wire/fields.h"
#include "services/access/access.h"
#include "services/access/inputs.h"

#define ADDRESSES_MAX 1000

static void allowlist_read(json_t *value, const char *path, void *slot, struct errors *errors);

struct policy_set {
    struct field_bool require_https, ip_allowlist_enabled, confirmed;
    struct str editor_address;
    struct str ip_allowlist; /* as PostgreSQL writes an array */
};

static const struct field fields[] = {
    {.name = "require_https",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct policy_set, require_https)},
    {.name = "ip_allowlist_enabled",
     .kind = FIELD_BOOL,
     .offset = offsetof(struct policy_set, ip_allowlist_enabled)},
    {.name = "ip_allowlist",
     .kind = FIELD_CUSTOM,
     .read = allowlist_read,
     .offset = offsetof(struct policy_set, ip_allowlist)},
    {.name = "confirmed", .kind = FIELD_BOOL, .offset = offsetof(struct policy_set, confirmed)},
    INPUT(policy_set, editor_address, input_address, false),
};

static bool holds(const struct address *list, size_t n, const struct address *address)
{
    for (size_t i = 0; i < n; i++) {
        if (address_equal(&list[i], address))
            return true;
    }
    return false;
}

static struct str array_text(struct arena *arena, const struct address *list, size_t n)
{
    char text[ADDRESS_TEXT];
    struct buf array;

    array_open(&array, arena, 64);
    for (size_t i = 0; i < n; i++) {
        address_format(&list[i], text);
        array_add_plain(&array, str_of(text));
    }
    return array_close(&array);
}

/* Every address in its canonical form, none twice, in the order of their first mention. */
static void allowlist_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    size_t given = json_array_size(value), n = 0;
    struct address *list;

    if (!json_is_array(value) || given > ADDRESSES_MAX) {
        errors_add(errors, "parameter_invalid", path, "must be an array of at most %d addresses",
                   ADDRESSES_MAX);
        return;
    }
    list = ARENA_ARRAY(errors->arena, struct address, given + 1);
    for (size_t i = 0; i < given; i++) {
        struct address address;

        if (!address_parse(json_text(json_array_get(value, i)), &address))
            errors_add(errors, "parameter_invalid", arena_printf(errors->arena, "%s[%zu]", path, i),
                       "must be one exact IPv4 or IPv6 address");
        else if (!holds(list, n, &address))
            list[n++] = address;
    }
    *(struct str *)slot = array_text(errors->arena, list, n);
}

static struct str bool_text(struct field_bool field)
{
    if (!field.given)
        return STR_NONE;
    return field.value ? STR("true") : STR("false");
}

enum status access_policy_get_parse(struct command *command, void *service)
{
    return access_for_organization(command, SQL_READ_POLICY) != NULL ? ST_OK : ST_REFUSED;
}

enum status access_policy_set_parse(struct command *command, void *service)
{
    struct access_query *query = access_for_organization(command, SQL_CHANGE_POLICY);
    struct policy_set body = {0};

    if (query == NULL)
        return ST_REFUSED;
    if (!fields_read_body(command->body, fields, 5, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (!body.require_https.given && !body.ip_allowlist_enabled.given &&
        body.ip_allowlist.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "require_https, ip_allowlist_enabled or ip_allowlist is required");
    params_add(&query->params, bool_text(body.require_https));
    params_add(&query->params, bool_text(body.ip_allowlist_enabled));
    params_add(&query->params, body.ip_allowlist);
    params_add(&query->params, body.confirmed.value ? STR_NONE : body.editor_address);
    return ST_OK;
}
