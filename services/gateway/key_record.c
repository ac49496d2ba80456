#include "services/gateway/key_record.h"

#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"

void key_record_release(struct key_record *record)
{
    free(record->addresses);
    record->addresses = NULL;
    record->n_addresses = 0;
}

bool key_record_lists(const struct key_record *record, const struct address *address)
{
    for (size_t i = 0; i < record->n_addresses; i++)
        if (address_equal(&record->addresses[i], address))
            return true;
    return false;
}

static bool read_uuid(const json_t *object, const char *name, char text[UUID_TEXT + 1])
{
    struct str value = json_member_text(object, name);
    struct uuid id;

    if (!uuid_parse(value, &id))
        return false;
    memcpy(text, value.p, UUID_TEXT);
    text[UUID_TEXT] = '\0';
    return true;
}

static bool read_bool(const json_t *object, const char *name, bool *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_boolean(value))
        return false;
    *out = json_is_true(value);
    return true;
}

static bool read_scope(const json_t *object, bool *may_write)
{
    struct str scope = json_member_text(object, "scope");

    *may_write = str_equal(scope, STR("full"));
    return *may_write || str_equal(scope, STR("read"));
}

static bool read_expiry(const json_t *object, int64_t *out)
{
    const json_t *value = json_object_get(object, "expires_at");

    *out = json_is_integer(value) ? json_integer_value(value) : INT64_MAX;
    return json_is_integer(value) || json_is_null(value);
}

static bool read_addresses(const json_t *object, struct key_record *record)
{
    const json_t *listed = json_object_get(object, "ip_allowlist");
    size_t n = json_array_size(listed);

    if (!json_is_array(listed) || n > KEY_ADDRESSES_MAX)
        return false;
    if (n == 0)
        return true;
    record->addresses = calloc(n, sizeof(*record->addresses));
    if (record->addresses == NULL)
        return false;
    for (; record->n_addresses < n; record->n_addresses++)
        if (!address_parse(json_text(json_array_get(listed, record->n_addresses)),
                           &record->addresses[record->n_addresses]))
            return false;
    return true;
}

static bool read_record(const json_t *object, struct key_record *record)
{
    return read_uuid(object, "organization_id", record->organization_id) &&
           read_uuid(object, "api_key_id", record->api_key_id) &&
           read_scope(object, &record->may_write) && read_expiry(object, &record->expires_at) &&
           read_bool(object, "plan_has_api", &record->plan_has_api) &&
           read_bool(object, "require_https", &record->require_https) &&
           read_bool(object, "ip_allowlist_enabled", &record->ip_allowlist_enabled) &&
           json_member_count(object, "key_limit", &record->limits.key) &&
           json_member_count(object, "organization_limit", &record->limits.organization) &&
           cell_read(json_member_text(object, "cell"), record->cell) &&
           read_addresses(object, record);
}

bool key_record_read(struct str json, struct key_record *out)
{
    struct key_record record = {0};
    json_t *object;
    bool good;

    if (!json_read(json, &object, NULL))
        return false;
    good = read_record(object, &record);
    json_free(object);
    if (!good) {
        key_record_release(&record);
        return false;
    }
    *out = record;
    return true;
}
