#include "services/audit/verify.h"

#include <string.h>

const char *verify_kind_name(enum verify_kind kind)
{
    static const char *const names[] = {
        [VERIFY_FINE] = "fine",           [VERIFY_CHANGED] = "changed",
        [VERIFY_REMOVED] = "removed",     [VERIFY_SLIPPED_IN] = "slipped_in",
        [VERIFY_REWRITTEN] = "rewritten", [VERIFY_NOT_COMPARED] = "not_compared",
    };

    return names[kind];
}

static bool found(struct verify_finding *out, enum verify_kind kind, const struct uuid *request_id,
                  int64_t block, const char *detail)
{
    *out = (struct verify_finding){.kind = kind, .block = block, .detail = detail};
    if (request_id != NULL)
        out->request_id = *request_id;
    return false;
}

/* Retention keeps blocks for a day more than their month. */
#define BLOCK_MARGIN_US (24 * 3600 * 1000000LL)

static bool is_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    return memcmp(a, b, SHA256_BYTES) == 0;
}

/* -- along the chain -------------------------------------------------------------------------- */

static bool check_entries(struct verify_chain *chain, const struct verify_block *block,
                          int64_t dropped_us, struct verify_finding *out)
{
    for (size_t i = 0; i < block->sealed.n; i++) {
        const struct chain_item *item = &block->sealed.items[i];
        const struct verify_entry *entry = &block->entries[i];
        const int64_t number = block->sealed.number;

        if (entry->is_there && !is_same(entry->hash, item->hash))
            return found(out, VERIFY_CHANGED, &item->request_id, number,
                         "the entry differs from what was sealed");
        if (!entry->is_there && uuid_v7_ms(&item->request_id) * 1000 >= dropped_us)
            return found(out, VERIFY_REMOVED, &item->request_id, number,
                         "the entry was sealed and is not there");
        chain->expired += !entry->is_there;
    }
    return true;
}

/* NULL, or why the block is not the one that we have made and signed. */
static const char *doubt(const struct verify_chain *chain, const struct verify_block *block,
                         bool is_first_kept, const struct audit_keys *keys, struct arena *arena)
{
    const struct chain_block *sealed = &block->sealed;
    const struct signing_public *by = audit_keys_find(keys, sealed->key_id);
    uint8_t hash[SHA256_BYTES];

    if (!is_first_kept && !is_same(sealed->previous_hash, chain->hash))
        return "the block does not follow the one before it";
    if (!is_first_kept && sealed->entries != chain->entries + (int64_t)sealed->n)
        return "the block counts its entries wrongly";
    if (!uuid_equal(&block->last_request_id, &sealed->items[sealed->n - 1].request_id))
        return "the block does not end with its last entry";
    chain_hash_block(sealed, arena, hash);
    if (!is_same(hash, block->hash))
        return "the block's hash is not that of its contents";
    if (by == NULL)
        return "the block is signed with a key that is not known: see AUDIT_PUBLIC_KEYS";
    if (!signing_is_by(by,
                       chain_head_text(&sealed->organization_id, sealed->number, sealed->entries,
                                       block->hash, arena),
                       block->signature))
        return "the block's signature is wrong";
    if (block->published_hash != NULL && !is_same(block->published_hash, block->hash))
        return "another hash has been published of this block";
    if (block->kept_hash != NULL && !is_same(block->kept_hash, block->hash))
        return "the block's hash is not the one that was given";
    return NULL;
}

bool verify_block(struct verify_chain *chain, const struct verify_block *block,
                  const struct audit_keys *keys, int64_t dropped_us, struct arena *arena,
                  struct verify_finding *out)
{
    const struct chain_block *sealed = &block->sealed;
    /* Retention takes blocks from the beginning of a chain, and leaves the last one that it could
       have taken: a front that is younger was taken by somebody else. */
    const bool is_first_kept =
        chain->number == 0 && sealed->number > 1 && sealed->made_us < dropped_us - BLOCK_MARGIN_US;
    const char *why;

    if (!is_first_kept && sealed->number != chain->number + 1)
        return found(out, VERIFY_REMOVED, NULL, chain->number + 1, "the block is not there");
    if (sealed->n == 0)
        return found(out, VERIFY_REWRITTEN, NULL, sealed->number, "the block is malformed");
    if (!check_entries(chain, block, dropped_us, out))
        return false;
    why = doubt(chain, block, is_first_kept, keys, arena);
    if (why != NULL)
        return found(out, VERIFY_REWRITTEN, &sealed->items[0].request_id, sealed->number, why);
    if (is_first_kept)
        chain->expired += sealed->entries - (int64_t)sealed->n;
    chain->number = sealed->number;
    chain->entries = sealed->entries;
    memcpy(chain->hash, block->hash, SHA256_BYTES);
    chain->is_head_met |= block->kept_hash != NULL;
    return true;
}

bool verify_end(const struct verify_chain *chain, int64_t head_number, struct verify_finding *out)
{
    if (head_number > chain->number)
        return found(out, VERIFY_REMOVED, NULL, chain->number + 1,
                     "the block is not there, although a later head has been published");
    return true;
}

/* Retention may have taken the block, or somebody who notes that it did: nothing here can tell. So
   it is neither that something is wrong nor that the head has proven anything. */
bool verify_given_head(const struct verify_chain *chain, int64_t head_number,
                       struct verify_finding *out)
{
    if (!chain->is_head_met)
        return found(out, VERIFY_NOT_COMPARED, NULL, head_number,
                     "the head that was given is older than the first block of the chain");
    return true;
}

/* -- along the entries ------------------------------------------------------------------------ */

bool verify_covered(const struct verify_covered *covered, const struct verify_seal *seal,
                    bool *is_waiting, struct verify_finding *out)
{
    const struct block_entry *entry = &covered->entry;
    const struct uuid *id = &entry->place.request_id;
    const int64_t since_us = entry->place.xid > seal->made_xid ? seal->made_us : 0;

    *is_waiting = false;
    if (covered->is_sealed)
        return true;
    if (block_compare_places(&entry->place, &seal->place) <= 0)
        return found(out, VERIFY_SLIPPED_IN, id, covered->block,
                     "the entry is not in the block in which it would have been sealed");
    if (covered->is_ahead || !chain_is_plausible(id, entry->created_us, since_us, seal->now_us))
        return found(out, VERIFY_SLIPPED_IN, id, 0, "no service can have appended the entry");
    *is_waiting = true;
    return true;
}
