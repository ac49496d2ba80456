#include "services/access/inputs.h"

#include <string.h>

#include "common/base/address.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/wire/json.h"
#include "common/wire/text.h"

/* Something, one @, something; no blanks and no control characters anywhere. */
static bool is_email(struct str text)
{
    struct str rest = text, local;

    if (text.p == NULL || text_length(text) > 255)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
            return false;
    }
    local = str_cut(&rest, '@');
    return local.n > 0 && rest.p != NULL && rest.n > 0 && memchr(rest.p, '@', rest.n) == NULL &&
           !text_has_outer_space(text);
}

void input_email(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct str text = json_text(value);

    if (!is_email(text)) {
        errors_add(errors, "parameter_invalid", path,
                   "must be an email address of at most 255 characters");
        return;
    }
    *(struct str *)slot = text_lower(errors->arena, text);
}

void input_hash(json_t *value, const char *path, void *slot, struct errors *errors)
{
    uint8_t hash[SHA256_BYTES];
    struct str text = json_text(value);

    if (!crypto_unhex(text, hash, sizeof(hash))) {
        errors_add(errors, "parameter_invalid", path,
                   "must be a SHA-256 in lower-case hexadecimal digits");
        return;
    }
    *(struct str *)slot = arena_str(errors->arena, text);
}

void input_address(json_t *value, const char *path, void *slot, struct errors *errors)
{
    char *text = arena_alloc(errors->arena, ADDRESS_TEXT);
    struct address address;

    if (!address_parse(json_text(value), &address)) {
        errors_add(errors, "parameter_invalid", path, "must be one exact IPv4 or IPv6 address");
        return;
    }
    address_format(&address, text);
    *(struct str *)slot = str_of(text);
}

struct str input_exact_id(struct str id)
{
    struct uuid parsed;

    return id.p == NULL || uuid_parse(id, &parsed) ? id
                                                   : STR("00000000-0000-0000-0000-000000000000");
}
