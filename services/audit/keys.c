#include "services/audit/keys.h"

#include "common/base/log.h"
#include "common/crypto/crypto.h"

static bool read_previous(struct str list, struct audit_keys *out)
{
    while (list.n > 0) {
        struct str hex = str_trim_ows(str_cut(&list, ','));

        if (out->n == AUDIT_KEYS_MAX || !signing_public_read(hex, &out->known[out->n]))
            return false;
        out->n++;
    }
    return true;
}

bool audit_keys_read(const char *secret, const char *previous, struct audit_keys *out)
{
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    *out = (struct audit_keys){.own = signing_key_new(secret)};
    if (out->own == NULL) {
        LOG(LOG_ERROR, "AUDIT_SIGNING_KEY must be at least 32 characters long");
        return false;
    }
    out->known[out->n++] = *signing_key_public(out->own);
    if (!read_previous(str_of(previous), out)) {
        LOG(LOG_ERROR, "AUDIT_PUBLIC_KEYS must be up to 15 keys of 64 hex digits, between commas");
        return false;
    }
    crypto_hex(out->known[0].bytes, SIGNING_PUBLIC_BYTES, hex);
    LOG(LOG_INFO, "the audit log is sealed with this key", log_str("key_id", out->known[0].id),
        log_str("public_key", hex));
    return true;
}

const struct signing_public *audit_keys_find(const struct audit_keys *keys, struct str id)
{
    for (size_t i = 0; i < keys->n; i++)
        if (str_equal(str_of(keys->known[i].id), id))
            return &keys->known[i];
    return NULL;
}
