#include "services/audit/verify_step.h"

#include "common/wire/json.h"

static void add_hash(struct buf *out, const char *key, const uint8_t hash[SHA256_BYTES])
{
    char hex[2 * SHA256_BYTES + 1];

    crypto_hex(hash, SHA256_BYTES, hex);
    json_add_text(out, key, str_of(hex));
}

static void add_id(struct buf *out, const char *key, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    json_add_text(out, key, uuid_is_nil(id) ? STR_NONE : str_of(text));
}

static void add_position(struct buf *out, const struct verify_step *step)
{
    json_add_key(out, "position");
    buf_char(out, '{');
    json_add_text(out, "phase", step->is_along_entries ? STR("entries") : STR("blocks"));
    json_add_integer(out, "block", step->chain.number);
    json_add_integer(out, "chained", step->chain.entries);
    json_add_integer(out, "expired", step->chain.expired);
    add_hash(out, "hash", step->chain.hash);
    if (!uuid_is_nil(&step->after)) {
        json_add_integer(out, "after_us", step->after_us);
        add_id(out, "after", &step->after);
    }
    json_add_integer(out, "entries", step->entries);
    json_add_integer(out, "sealed", step->sealed);
    if (step->from.head_number.given)
        json_add_integer(out, "head_number", step->from.head_number.value);
    if (step->from.head_hash.p != NULL)
        add_hash(out, "head_hash", step->kept_hash);
    if (step->chain.is_head_met)
        buf_add(out, STR(",\"head_met\":true"));
    buf_char(out, '}');
}

static void add_finding(struct buf *out, const struct verify_finding *found)
{
    json_add_key(out, "first");
    if (found->kind == VERIFY_FINE) {
        buf_add(out, STR("null"));
        return;
    }
    buf_char(out, '{');
    json_add_text(out, "kind", str_of(verify_kind_name(found->kind)));
    add_id(out, "request_id", &found->request_id);
    json_add_key(out, "block");
    if (found->block > 0)
        buf_int(out, found->block);
    else
        buf_add(out, STR("null"));
    json_add_text(out, "detail", str_of(found->detail));
    buf_char(out, '}');
}

static void add_head(struct buf *out, const struct db_rows *rows, const struct audit_keys *keys)
{
    const struct signing_public *by;
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    json_add_key(out, "head");
    if (db_rows_count(rows) == 0) {
        buf_add(out, STR("null"));
        return;
    }
    buf_char(out, '{');
    json_add_integer(out, "number", db_value_int(rows, 0, 0));
    json_add_integer(out, "entries", db_value_int(rows, 0, 1));
    json_add_text(out, "block_hash", db_value(rows, 0, 2));
    json_add_integer(out, "made_at", db_value_int(rows, 0, 3));
    json_add_text(out, "key_id", db_value(rows, 0, 4));
    by = audit_keys_find(keys, db_value(rows, 0, 4));
    if (by != NULL)
        crypto_hex(by->bytes, sizeof(by->bytes), hex);
    json_add_text(out, "public_key", by != NULL ? str_of(hex) : STR_NONE);
    json_add_text(out, "signature", db_value(rows, 0, 5));
    buf_char(out, '}');
}

void verify_write(const struct verify_step *step, const struct db_rows *head,
                  const struct audit_keys *keys, struct buf *out)
{
    buf_char(out, '{');
    json_add_key(out, "ok");
    buf_add(out, step->found.kind == VERIFY_FINE ? STR("true") : STR("false"));
    json_add_integer(out, "entries", step->entries);
    json_add_integer(out, "sealed", step->sealed);
    json_add_integer(out, "unsealed", step->entries - step->sealed);
    json_add_integer(out, "expired", step->chain.expired);
    json_add_integer(out, "blocks", step->chain.number);
    add_finding(out, &step->found);
    if (!step->is_done)
        add_position(out, step);
    else if (head != NULL)
        add_head(out, head, keys);
    buf_char(out, '}');
}
