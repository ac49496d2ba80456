#include "services/audit/verify.h"

#include <string.h>

/* Retention keeps blocks for a day longer than their month. */
#define BLOCK_MARGIN_US (24 * 3600 * 1000000LL)

static bool is_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    return memcmp(a, b, SHA256_BYTES) == 0;
}

/* -- along the chain -------------------------------------------------------------------------- */

/* NULL, or why the block does not fit its place in the chain or a published or kept hash. */
static const char *doubt_place(const struct verify_chain *chain, const struct verify_block *block,
                               bool has_dropped_before)
{
    const struct chain_block *sealed = &block->sealed;
    const bool follows = !has_dropped_before && !chain->is_broken;

    if (follows && !is_same(sealed->previous_hash, chain->hash))
        return "the block does not follow the one before it";
    if (follows && sealed->entries != chain->entries + (int64_t)sealed->n)
        return "the block counts its entries wrongly";
    if (block->published_hash != NULL && !is_same(block->published_hash, block->hash))
        return "a different hash was published for this block";
    if (block->kept_hash != NULL && !is_same(block->kept_hash, block->hash))
        return "the block's hash differs from the given one";
    return NULL;
}

/* A block that is not ours proves nothing about its entries: they are only counted. */
static void check_entries(struct verify_chain *chain, const struct verify_block *block,
                          bool is_ours, int64_t dropped_us, struct verify_report *report)
{
    size_t mark = 0;

    for (size_t i = 0; i < block->sealed.n; i++) {
        const struct chain_item *item = &block->sealed.items[i];
        const bool is_marked =
            mark < block->sealed.n_marks && block->sealed.marks[mark].place == (int64_t)i + 1;
        const int64_t created_us =
            is_marked ? block->sealed.marks[mark].created_us : uuid_v7_ms(&item->request_id) * 1000;
        const struct verify_entry *entry = &block->entries[i];
        const int64_t number = block->sealed.number;

        mark += is_marked;
        chain->present += entry->is_there;
        if (!is_ours)
            continue;
        if (entry->is_there && !is_same(entry->hash, item->hash))
            verify_find(report, VERIFY_CHANGED, &item->request_id, number,
                        "the entry differs from what was sealed");
        if (entry->is_there)
            continue;
        if (created_us >= dropped_us)
            verify_find(report, VERIFY_REMOVED, &item->request_id, number,
                        "the entry was sealed but is missing");
        else
            chain->expired++;
    }
}

/* For an entry with a time that is not plausible. */
static void report_time(const struct uuid *id, int64_t created_us, int64_t block,
                        struct verify_report *report)
{
    if (chain_has_own_time(id, created_us))
        verify_find(report, VERIFY_MISDATED, id, block,
                    "the entry's time is more than a minute from when it was appended: a clock was "
                    "wrong, or it was dated so");
    else
        verify_find(report, VERIFY_IMPLAUSIBLE, id, block,
                    block > 0 ? "no service can have appended this entry; it was sealed as found"
                              : "no service can have appended this entry; it is not sealed yet");
}

static void report_marks(const struct chain_block *sealed, struct verify_report *report)
{
    for (size_t i = 0; i < sealed->n_marks; i++)
        report_time(&sealed->items[sealed->marks[i].place - 1].request_id,
                    sealed->marks[i].created_us, sealed->number, report);
}

static void step_to(struct verify_chain *chain, int64_t number)
{
    chain->number = number;
    if (chain->first == 0)
        chain->first = number;
}

static void report_gap(struct verify_chain *chain, int64_t number, struct verify_report *report)
{
    if (number == chain->number + 1)
        return;
    if (number > chain->number)
        verify_find(report, VERIFY_REMOVED, NULL, chain->number + 1, "the block is missing");
    else
        verify_find(report, VERIFY_REWRITTEN, NULL, number,
                    "there are two blocks with this number");
    chain->is_broken = true;
}

void verify_malformed(struct verify_chain *chain, int64_t number, struct verify_report *report)
{
    report_gap(chain, number, report);
    verify_find(report, VERIFY_REWRITTEN, NULL, number, "the block is malformed");
    step_to(chain, number);
    chain->is_broken = true;
}

void verify_block(struct verify_chain *chain, const struct verify_block *block,
                  const struct audit_keys *keys, int64_t dropped_us, struct arena *arena,
                  struct verify_report *report)
{
    const struct chain_block *sealed = &block->sealed;
    const char *why = verify_doubt(block, keys, arena);
    const bool is_ours = why == NULL;
    /* Retention deletes blocks that have no entries left, also during the walk, but keeps the last
       one that it could delete. So it never leaves a gap before a younger block. */
    const bool has_dropped_before = is_ours && sealed->number > chain->number + 1 &&
                                    sealed->made_us < dropped_us - BLOCK_MARGIN_US;
    const int64_t skipped = sealed->entries - (int64_t)sealed->n - chain->entries;
    const struct uuid first = sealed->n > 0 ? sealed->items[0].request_id : (struct uuid){.b = {0}};

    if (!has_dropped_before)
        report_gap(chain, sealed->number, report);
    if (is_ours)
        why = doubt_place(chain, block, has_dropped_before);
    if (why != NULL)
        verify_find(report, VERIFY_REWRITTEN, &first, sealed->number, why);
    check_entries(chain, block, is_ours, dropped_us, report);
    step_to(chain, sealed->number);
    chain->is_broken = !is_ours;
    chain->is_head_met |= block->kept_hash != NULL;
    if (!is_ours)
        return;
    report_marks(sealed, report);
    if (has_dropped_before && skipped > 0)
        chain->expired += skipped;
    chain->entries = sealed->entries;
    memcpy(chain->hash, block->hash, SHA256_BYTES);
}

void verify_end(const struct verify_chain *chain, int64_t published, int64_t given,
                struct verify_report *report)
{
    if (published > chain->number)
        verify_find(report, VERIFY_REMOVED, NULL, chain->number + 1,
                    "the block is missing, although a later head was published");
    else if (given > chain->number)
        verify_find(report, VERIFY_REMOVED, NULL, chain->number + 1,
                    "the block is missing, although it or a later one was given as the head");
}

/* If retention has deleted the block, nothing is wrong, but the head has proven nothing. */
void verify_given_head(const struct verify_chain *chain, int64_t head_number,
                       struct verify_report *report)
{
    if (!chain->is_head_met && verify_is_fine(report))
        verify_find(report, VERIFY_NOT_COMPARED, NULL, head_number,
                    "the given head is older than the first block checked");
}

/* -- what retention has noted ----------------------------------------------------------------- */

static bool has_note(const struct note *notes, size_t n, int64_t until_us)
{
    for (size_t i = 0; i < n; i++)
        if (notes[i].until_us == until_us)
            return true;
    return false;
}

/* Each note names the one before it, down to the first. */
void verify_notes(const struct note *notes, size_t n, const struct audit_keys *keys,
                  struct arena *arena, struct verify_report *report)
{
    for (size_t i = 0; i < n; i++) {
        const struct note *note = &notes[i];

        switch (note_kind(note, keys, arena)) {
        case NOTE_FORGED:
            verify_find(report, VERIFY_FORGED_NOTE, NULL, 0,
                        "a retention note is not as we have signed it");
            break;
        case NOTE_UNKNOWN:
            verify_find(report, VERIFY_FORGED_NOTE, NULL, 0,
                        "a retention note is signed with an unknown key: "
                        "see AUDIT_PUBLIC_KEYS");
            break;
        case NOTE_OURS:
            if (note->since_us > 0 && n < NOTES_MAX &&
                !has_note(notes + i + 1, n - i - 1, note->since_us))
                verify_find(report, VERIFY_REMOVED, NULL, 0, "a retention note is missing");
        }
    }
}

/* -- along the entries ------------------------------------------------------------------------ */

/* For an entry that a block names. */
static bool report_sealed(const struct verify_covered *covered, const struct verify_seal *seal,
                          struct verify_report *report)
{
    const struct block_entry *entry = &covered->entry;
    const struct uuid *id = &entry->place.request_id;

    /* The marks of walked blocks have been reported along the chain. */
    if (entry->is_implausible && covered->block > seal->walked)
        report_time(id, entry->created_us, covered->block, report);
    if (!entry->is_implausible && !chain_has_own_time(id, entry->created_us))
        verify_find(report, VERIFY_INSERTED, id, covered->block,
                    "the entry's time is not the one in its id");
    return true;
}

/* Whatever delays the seal, entries that are not sealed can be altered undetected. */
static void report_wait(const struct verify_covered *covered, int64_t waited_us,
                        struct verify_report *report)
{
    struct verify_finding *finding = &report->of[VERIFY_NOT_SEALED];

    if (waited_us <= VERIFY_WAIT_US)
        return;
    verify_find(report, VERIFY_NOT_SEALED, &covered->entry.place.request_id, 0,
                covered->is_moving ? "the entry is not sealed until the organization's move "
                                     "between cells resumes, and cannot be checked"
                                   : "the entry is not sealed yet and cannot be checked");
    if (waited_us / 1000000 > finding->age_s)
        finding->age_s = waited_us / 1000000;
}

bool verify_covered(const struct verify_covered *covered, const struct verify_seal *seal,
                    struct verify_report *report)
{
    const struct block_entry *entry = &covered->entry;
    const struct uuid *id = &entry->place.request_id;
    const int64_t since_us = entry->place.xid > seal->made_xid ? seal->made_us : 0;

    if (covered->is_sealed)
        return report_sealed(covered, seal, report);
    if (covered->is_unreadable)
        verify_find(report, VERIFY_INSERTED, id, covered->block, "the entry cannot be sealed");
    else if (covered->is_known)
        verify_find(report, VERIFY_INSERTED, id, covered->block,
                    "an entry with this id was sealed with another time");
    else if (covered->block > 0 ||
             (!covered->is_moving && block_compare_places(&entry->place, &seal->place) <= 0))
        verify_find(report, VERIFY_INSERTED, id, covered->block,
                    "the entry is not in the block that must contain it");
    else if (covered->is_ahead)
        verify_find(report, VERIFY_INSERTED, id, 0, "the entry's transaction lies in the future");
    else if (!chain_is_plausible(id, entry->created_us, since_us, seal->now_us))
        report_time(id, entry->created_us, 0, report);
    else
        report_wait(covered, seal->now_us - entry->created_us, report);
    return false;
}

void verify_count(const struct verify_chain *chain, int64_t met, bool is_settled,
                  struct verify_report *report)
{
    /* A block that is not as it was sealed may name anything. */
    if (report->of[VERIFY_REWRITTEN].count > 0)
        return;
    if (met > chain->present)
        verify_find(report, VERIFY_INSERTED, NULL, 0,
                    "there are more sealed entries than the blocks list");
    else if (met < chain->present && is_settled && report->of[VERIFY_CHANGED].count == 0 &&
             report->of[VERIFY_INSERTED].count == 0 && report->of[VERIFY_REMOVED].count == 0)
        verify_find(report, VERIFY_REMOVED, NULL, 0,
                    "there are fewer sealed entries than the blocks list");
}
