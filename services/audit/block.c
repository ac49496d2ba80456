#include "services/audit/block.h"

#include <stdlib.h>
#include <string.h>

int block_compare_places(const struct block_place *a, const struct block_place *b)
{
    int order;

    if (a->xid != b->xid)
        return a->xid < b->xid ? -1 : 1;
    order = memcmp(&a->organization_id, &b->organization_id, sizeof(a->organization_id));
    return order != 0 ? order : memcmp(&a->request_id, &b->request_id, sizeof(a->request_id));
}

static int by_organization(const void *a, const void *b)
{
    const struct block_entry *x = *(const struct block_entry *const *)a;
    const struct block_entry *y = *(const struct block_entry *const *)b;
    int order = memcmp(&x->place.organization_id, &y->place.organization_id, sizeof(struct uuid));

    return order != 0 ? order : block_compare_places(&x->place, &y->place);
}

static int by_id(const void *id, const void *head)
{
    return memcmp(id, &((const struct block_head *)head)->organization_id, sizeof(struct uuid));
}

const struct block_head *block_find_head(const struct uuid *organization_id,
                                         const struct block_head *heads, size_t n)
{
    return n > 0 ? bsearch(organization_id, heads, n, sizeof(*heads), by_id) : NULL;
}

static struct block_head head_of(const struct uuid *organization_id, const struct block_head *heads,
                                 size_t n)
{
    const struct block_head *head = block_find_head(organization_id, heads, n);

    return head ? *head : (struct block_head){.organization_id = *organization_id};
}

static void add_marks(const struct block_entry *const *entries, size_t n, struct arena *arena,
                      struct chain_block *out)
{
    struct chain_mark *marks;

    for (size_t i = 0; i < n; i++)
        out->n_marks += entries[i]->is_implausible;
    if (out->n_marks == 0)
        return;
    out->marks = marks = ARENA_ARRAY(arena, struct chain_mark, out->n_marks);
    for (size_t i = 0; i < n; i++)
        if (entries[i]->is_implausible)
            *marks++ = (struct chain_mark){(int64_t)i + 1, entries[i]->created_us};
}

/* One block behind `head`, which it becomes. */
static void make_block(const struct block_entry *const *entries, size_t n, struct block_head *head,
                       const struct block_stamp *stamp, struct arena *arena, struct block_made *out)
{
    struct chain_item *items = ARENA_ARRAY(arena, struct chain_item, n);

    for (size_t i = 0; i < n; i++) {
        items[i].request_id = entries[i]->place.request_id;
        memcpy(items[i].hash, entries[i]->hash, SHA256_BYTES);
    }
    out->block = (struct chain_block){
        .organization_id = head->organization_id,
        .number = head->number + 1,
        .entries = head->entries + (int64_t)n,
        .last_xid = entries[n - 1]->place.xid,
        .made_xid = stamp->made_xid,
        .made_us = stamp->made_us,
        .key_id = stamp->key_id,
        .items = items,
        .n = n,
    };
    memcpy(out->block.previous_hash, head->hash, SHA256_BYTES);
    add_marks(entries, n, arena, &out->block);
    chain_hash_block(&out->block, arena, out->hash);
    head->number++;
    head->entries += (int64_t)n;
    memcpy(head->hash, out->hash, SHA256_BYTES);
}

size_t blocks_make(const struct block_entry *entries, size_t n, const struct block_head *heads,
                   size_t n_heads, const struct block_stamp *stamp, struct arena *arena,
                   struct block_made **out)
{
    const struct block_entry **sorted = ARENA_ARRAY(arena, const struct block_entry *, n);
    struct block_head head = {0};
    size_t n_blocks = 0;

    *out = ARENA_ARRAY(arena, struct block_made, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &entries[i];
    qsort(sorted, n, sizeof(struct block_entry *), by_organization);
    for (size_t begin = 0, end; begin < n; begin = end) {
        const struct uuid *organization_id = &sorted[begin]->place.organization_id;

        if (begin == 0 || !uuid_equal(&head.organization_id, organization_id))
            head = head_of(organization_id, heads, n_heads);
        for (end = begin + 1; end < n && end - begin < BLOCK_ENTRIES_MAX; end++)
            if (!uuid_equal(&sorted[end]->place.organization_id, organization_id))
                break;
        make_block(sorted + begin, end - begin, &head, stamp, arena, &(*out)[n_blocks++]);
    }
    return n_blocks;
}
