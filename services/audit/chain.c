#include "services/audit/chain.h"

#include <inttypes.h>

#include "common/base/buf.h"

/* No field that a service writes holds a line feed, so two entries never give the same text; and
   with its "=" an empty text is another thing than none. */
void chain_hash_entry(const struct str fields[CHAIN_FIELDS], struct arena *arena,
                      uint8_t hash[SHA256_BYTES])
{
    struct buf text;

    buf_init(&text, arena, 512);
    buf_add(&text, STR("audit-entry-v1\n"));
    for (int i = 0; i < CHAIN_FIELDS; i++) {
        if (fields[i].p != NULL) {
            buf_char(&text, '=');
            buf_add(&text, fields[i]);
        }
        buf_char(&text, '\n');
    }
    crypto_sha256(buf_str(&text), hash);
}

static void add_hex(struct buf *text, const uint8_t hash[SHA256_BYTES])
{
    char hex[2 * SHA256_BYTES + 1];

    crypto_hex(hash, SHA256_BYTES, hex);
    buf_add(text, str_of(hex));
    buf_char(text, '\n');
}

static void add_uuid(struct buf *text, const struct uuid *id)
{
    char line[UUID_TEXT + 1];

    uuid_format(id, line);
    buf_add(text, str_of(line));
    buf_char(text, '\n');
}

_Static_assert(sizeof(struct chain_item) == 16 + SHA256_BYTES, "items are hashed as they lie");

void chain_hash_block(const struct chain_block *block, struct arena *arena,
                      uint8_t hash[SHA256_BYTES])
{
    struct str contents = {(const char *)block->items, block->n * sizeof(*block->items)};
    uint8_t contents_hash[SHA256_BYTES];
    struct buf text;

    crypto_sha256(contents, contents_hash);
    buf_init(&text, arena, 512);
    buf_add(&text, block->n_marks == 0 ? STR("audit-block-v1\n") : STR("audit-block-v2\n"));
    add_uuid(&text, &block->organization_id);
    buf_printf(&text, "%" PRId64 "\n", block->number);
    add_hex(&text, block->previous_hash);
    buf_printf(&text, "%" PRId64 "\n%zu\n%" PRIu64 "\n", block->entries, block->n, block->last_xid);
    add_uuid(&text, &block->items[block->n - 1].request_id);
    buf_printf(&text, "%" PRIu64 "\n%" PRId64 "\n", block->made_xid, block->made_us);
    add_hex(&text, contents_hash);
    buf_add(&text, block->key_id);
    buf_char(&text, '\n');
    for (size_t i = 0; i < block->n_marks; i++)
        buf_printf(&text, "%" PRId64 " %" PRId64 "\n", block->marks[i].place,
                   block->marks[i].created_us);
    crypto_sha256(buf_str(&text), hash);
}

struct str chain_head_text(const struct uuid *organization_id, int64_t number, int64_t entries,
                           const uint8_t block_hash[SHA256_BYTES], struct arena *arena)
{
    struct buf text;

    buf_init(&text, arena, 192);
    buf_add(&text, STR("audit-head-v1\n"));
    add_uuid(&text, organization_id);
    buf_printf(&text, "%" PRId64 "\n%" PRId64 "\n", number, entries);
    add_hex(&text, block_hash);
    return buf_str(&text);
}

bool chain_is_plausible(const struct uuid *request_id, int64_t created_us, int64_t since_us,
                        int64_t now_us)
{
    return request_id->b[6] >> 4 == 7 && created_us == uuid_v7_ms(request_id) * 1000 &&
           created_us >= since_us - CHAIN_CLOCK_US && created_us <= now_us + CHAIN_CLOCK_US;
}
