#include "services/audit/verify_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit_sql.h"
#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "services/audit/audit_query.h"
#include "services/audit/verify.h"

#define COUNT_MAX BLOCK_NUMBER_MAX

enum { AT_MAX = 64 }; /* the length of a time as the database writes it */

/* -- the position ----------------------------------------------------------------------------- */

struct verify_position {
    struct str from;          /* where to begin: a block's number or an entry's place */
    struct str phase;         /* STR_NONE = the beginning */
    struct field_int from_us; /* to resume an interrupted run */
    struct field_int first, block, chained, present, expired, dropped_us;
    struct str hash;
    struct str at, after;
    struct field_int entries, sealed, met;
    struct field_int head_number;
    struct str head_hash;
    struct field_bool broken, part, head_met;
    struct verify_report found;
};

static const char *const phases[] = {"blocks", "entries", NULL};

#define COUNT_FROM(min_, name_)                                                                    \
    {                                                                                              \
        .name = #name_, .kind = FIELD_INT, .min = (min_), .max = COUNT_MAX,                        \
        .offset = offsetof(struct verify_position, name_)                                          \
    }
#define COUNT(name_) COUNT_FROM(0, name_)
#define HASH(name_)                                                                                \
    {                                                                                              \
        .name = #name_, .kind = FIELD_TEXT, .min = 2L * SHA256_BYTES, .max = 2L * SHA256_BYTES,    \
        .offset = offsetof(struct verify_position, name_)                                          \
    }
#define MARK(name_)                                                                                \
    {                                                                                              \
        .name = #name_, .kind = FIELD_BOOL, .offset = offsetof(struct verify_position, name_)      \
    }

static const struct field fields[] = {
    {.name = "from",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = PAGE_TEXT_MAX,
     .offset = offsetof(struct verify_position, from)},
    {.name = "from_us",
     .kind = FIELD_INT,
     .max = INT64_MAX,
     .offset = offsetof(struct verify_position, from_us)},
    {.name = "phase",
     .kind = FIELD_CHOICE,
     .choices = phases,
     .offset = offsetof(struct verify_position, phase)},
    COUNT(first),
    COUNT(block),
    COUNT(chained),
    COUNT(present),
    COUNT(expired),
    {.name = "dropped_us",
     .kind = FIELD_INT,
     .max = INT64_MAX,
     .offset = offsetof(struct verify_position, dropped_us)},
    HASH(hash),
    {.name = "at",
     .kind = FIELD_TEXT,
     .max = AT_MAX,
     .offset = offsetof(struct verify_position, at)},
    {.name = "after", .kind = FIELD_UUID, .offset = offsetof(struct verify_position, after)},
    COUNT(entries),
    COUNT(sealed),
    COUNT(met),
    COUNT_FROM(1, head_number),
    HASH(head_hash),
    MARK(broken),
    MARK(part),
    MARK(head_met),
    {.name = "found",
     .kind = FIELD_CUSTOM,
     .read = verify_report_read,
     .offset = offsetof(struct verify_position, found)},
    FIELDS_END,
};

/* -- reading ---------------------------------------------------------------------------------- */

/* As list_covered_entries.sql writes it: without trailing zeros. */
static struct str time_text(int64_t us, struct arena *arena)
{
    const time_t second = us / 1000000;
    char text[AT_MAX], fraction[16];
    struct tm tm;
    size_t length;

    gmtime_r(&second, &tm);
    length = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    must(length > 0);
    snprintf(fraction, sizeof(fraction), ".%06d", (int)(us % 1000000));
    for (size_t n = strlen(fraction); n > 0 && (fraction[n - 1] == '0' || n == 1); n--)
        fraction[n - 1] = '\0';
    return str_of(arena_printf(arena, "%s%s+00", text, fraction));
}

/* Where a walk begins: at a block, or after an entry. */
static bool begin(struct str from, struct arena *arena, struct verify_step *out)
{
    struct page_place place;
    uint64_t number;

    if (from.p == NULL)
        return true;
    if (page_read_text(from, &place)) {
        out->is_along_entries = out->is_part = out->has_begun = true;
        out->after = place.id;
        out->after_us = place.us;
        out->at = time_text(place.us, arena);
        return true;
    }
    if (!str_to_u64(from, COUNT_MAX, &number) || number == 0)
        return false;
    out->chain.number = (int64_t)number - 1;
    out->chain.is_broken = out->is_part = number > 1;
    return true;
}

static void go_on(const struct verify_position *from, struct verify_step *out)
{
    out->chain.first = from->first.value;
    out->chain.number = from->block.value;
    out->chain.entries = from->chained.value;
    out->chain.present = from->present.value;
    out->chain.expired = from->expired.value;
    out->chain.is_broken = from->broken.value;
    out->chain.is_head_met = from->head_met.value;
    out->is_along_entries = str_equal(from->phase, STR("entries"));
    out->is_part = from->part.value;
    out->has_begun = from->after.p != NULL;
    out->at = from->at;
    (void)uuid_parse(from->after, &out->after);
    out->after_us = uuid_v7_ms(&out->after) * 1000;
    out->entries = from->entries.value;
    out->sealed = from->sealed.value;
    out->met = from->met.value;
    out->dropped_us = from->dropped_us.value;
    out->report = from->found;
}

static bool refuse(struct command *command, const char *field, const char *message)
{
    (void)command_refuse(command, OUTCOME_PARAMETER_INVALID, field, "%s", message);
    return false;
}

bool verify_step_read(struct command *command, struct verify_step *out)
{
    struct verify_position from = {.phase = STR_NONE};
    struct str body = command->body.n > 0 ? command->body : STR("{}");

    if (!fields_read_body(body, fields, &from, &command->errors)) {
        (void)command_refuse_all(command, fields_outcome(&command->errors));
        return false;
    }
    if (from.hash.p != NULL && !hex_read(from.hash, out->chain.hash, SHA256_BYTES))
        return refuse(command, "hash", "must be hex digits");
    if (from.head_hash.p != NULL && !hex_read(from.head_hash, out->head_hash, SHA256_BYTES))
        return refuse(command, "head_hash", "must be 64 hex digits in lower case");
    if (from.head_number.given != (from.head_hash.p != NULL))
        return refuse(command, "head_hash", "and head_number go together");
    if ((from.at.p != NULL) != (from.after.p != NULL))
        return refuse(command, "at", "and after go together");
    if (from.phase.p != NULL)
        go_on(&from, out);
    else if (!begin(from.from, command->arena, out))
        return refuse(command, "from", "must be the number of a block or the position of an entry");
    out->head_number = from.head_number.value;
    return true;
}

/* -- writing ---------------------------------------------------------------------------------- */

static void add_hash(struct buf *out, const char *key, const uint8_t hash[SHA256_BYTES])
{
    char hex[2 * SHA256_BYTES + 1];

    hex_write(hash, SHA256_BYTES, hex);
    json_add_text(out, key, str_of(hex));
}

static void add_id(struct buf *out, const char *key, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    json_add_text(out, key, str_of(text));
}

/* `from` resumes an interrupted run: a walk that begins there skips what has been walked. */
static void add_from(struct buf *out, const struct verify_step *step)
{
    if (step->is_along_entries && step->has_begun) {
        add_id(out, "from", &step->after);
        page_write_us(&(struct page_place){step->after, step->after_us}, out);
    } else {
        json_add_key(out, "from");
        buf_printf(out, "\"%" PRId64 "\"", step->chain.number + 1);
    }
}

static void add_position(struct buf *out, const struct verify_step *step)
{
    json_add_key(out, "position");
    buf_char(out, '{');
    add_from(out, step);
    json_add_text(out, "phase", step->is_along_entries ? STR("entries") : STR("blocks"));
    json_add_integer(out, "first", step->chain.first);
    json_add_integer(out, "block", step->chain.number);
    json_add_integer(out, "chained", step->chain.entries);
    json_add_integer(out, "present", step->chain.present);
    json_add_integer(out, "expired", step->chain.expired);
    json_add_integer(out, "dropped_us", step->dropped_us);
    add_hash(out, "hash", step->chain.hash);
    if (step->has_begun) {
        json_add_text(out, "at", step->at);
        add_id(out, "after", &step->after);
    }
    json_add_integer(out, "entries", step->entries);
    json_add_integer(out, "sealed", step->sealed);
    json_add_integer(out, "met", step->met);
    if (step->head_number > 0) {
        json_add_integer(out, "head_number", step->head_number);
        add_hash(out, "head_hash", step->head_hash);
    }
    if (step->chain.is_broken)
        json_add_bool(out, "broken", true);
    if (step->is_part)
        json_add_bool(out, "part", true);
    if (step->chain.is_head_met)
        json_add_bool(out, "head_met", true);
    if (!verify_is_fine(&step->report)) {
        json_add_key(out, "found");
        verify_report_write(out, &step->report);
        json_add_text(out, "first", str_of(verify_kind_name(step->report.first)));
        buf_char(out, '}');
    }
    buf_char(out, '}');
}

static void add_head(struct buf *out, const struct db_rows *rows, const struct audit_keys *keys)
{
    const struct signing_public *by;
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];
    int64_t made_us = 0;

    json_add_key(out, "head");
    if (db_rows_count(rows) == 0) {
        buf_add(out, STR("null"));
        return;
    }
    (void)chain_read_us(db_value(rows, 0, READ_HEAD_HEAD + HEAD_MADE_US), &made_us);
    buf_char(out, '{');
    json_add_integer(out, "number", db_value_int(rows, 0, READ_HEAD_HEAD + HEAD_NUMBER));
    json_add_integer(out, "entries", db_value_int(rows, 0, READ_HEAD_HEAD + HEAD_ENTRIES));
    json_add_text(out, "block_hash", db_value(rows, 0, READ_HEAD_HEAD + HEAD_BLOCK_HASH));
    json_add_integer(out, "made_at", made_us / 1000000);
    json_add_text(out, "key_id", db_value(rows, 0, READ_HEAD_HEAD + HEAD_KEY_ID));
    by = audit_keys_find(keys, db_value(rows, 0, READ_HEAD_HEAD + HEAD_KEY_ID));
    if (by != NULL)
        hex_write(by->bytes, sizeof(by->bytes), hex);
    json_add_text(out, "public_key", by != NULL ? str_of(hex) : STR_NONE);
    json_add_text(out, "signature", db_value(rows, 0, READ_HEAD_HEAD + HEAD_SIGNATURE));
    buf_char(out, '}');
}

void verify_step_write(const struct verify_step *step, const struct db_rows *head,
                       const struct audit_keys *keys, struct buf *out)
{
    buf_char(out, '{');
    json_add_bool(out, "ok", verify_is_fine(&step->report));
    json_add_integer(out, "entries", step->entries);
    json_add_integer(out, "sealed", step->sealed);
    json_add_integer(out, "unsealed", step->entries - step->sealed);
    json_add_integer(out, "expired", step->chain.expired);
    json_add_integer(out, "blocks", step->chain.number);
    json_add_key(out, "findings");
    verify_report_write(out, &step->report);
    buf_char(out, '}');
    verify_report_write_first(out, &step->report);
    if (!step->is_done)
        add_position(out, step);
    else if (head != NULL)
        add_head(out, head, keys);
    buf_char(out, '}');
}
