#include "common/db/params.h"

#include <endian.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

/* -- the parameters of one statement ----------------------------------------------------------- */

void params_add(struct params *params, struct str value)
{
    must(params->n < PARAMS_MAX);
    params->at[params->n++] = value;
}

void params_add_bool(struct params *params, bool value)
{
    params_add(params, value ? STR("true") : STR("false"));
}

void params_add_int(struct params *params, struct arena *arena, int64_t value)
{
    params_add(params, str_of(arena_printf(arena, "%" PRId64, value)));
}

void params_add_id(struct params *params, struct arena *arena, const struct uuid *id)
{
    char *text = arena_alloc(arena, UUID_TEXT + 1);

    uuid_format(id, text);
    params_add(params, str_of(text));
}

enum status db_once(struct db *db, int statement, const struct params *params, int64_t timeout_us)
{
    db_open_batch(db, clock_us() + timeout_us);
    db_add(db, statement, params->at, params->n);
    return db_commit(db);
}

/* -- an array, element by element -------------------------------------------------------------- */

void array_open(struct buf *array, struct arena *arena, size_t capacity)
{
    buf_init(array, arena, capacity);
    buf_char(array, '{');
}

static void separate(struct buf *array)
{
    if (array->n > 1)
        buf_char(array, ',');
}

/* In quotes; inside them two characters need a backslash. */
void array_add(struct buf *array, struct str text)
{
    size_t start = 0; /* of the current run of bytes that need no backslash */

    separate(array);
    if (text.p == NULL) {
        buf_add(array, STR("NULL"));
        return;
    }
    buf_char(array, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '"' && text.p[i] != '\\')
            continue;
        buf_add(array, (struct str){text.p + start, i - start});
        buf_char(array, '\\');
        start = i;
    }
    buf_add(array, (struct str){text.p + start, text.n - start});
    buf_char(array, '"');
}

void array_add_plain(struct buf *array, struct str text)
{
    separate(array);
    buf_add(array, text);
}

void array_add_int(struct buf *array, int64_t number)
{
    separate(array);
    buf_int(array, number);
}

void array_add_id(struct buf *array, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    array_add_plain(array, (struct str){text, UUID_TEXT});
}

struct str array_close(struct buf *array)
{
    buf_char(array, '}');
    return buf_str(array);
}

/* -- an array in binary format ---------------------------------------------------------------- */

enum {
    INT2_OID = 21,
    TEXT_OID = 25,
    TIMESTAMPTZ_OID = 1184,
    UUID_OID = 2950,
    JSONB_OID = 3802,
    NULL_ELEMENT = -1, /* its length */
    JSONB_VERSION = 1, /* in front of the text */
};

/* Numbers are big-endian. */
struct elements_head {
    uint32_t n_dimensions, has_null, type, n, first;
};

static void add_length(struct buf *elements, size_t n)
{
    const uint32_t length = htobe32((uint32_t)n);

    must(n <= INT32_MAX);
    buf_add(elements, (struct str){(const char *)&length, sizeof(length)});
}

static void count_one(struct buf *elements)
{
    struct elements_head head;

    memcpy(&head, elements->p, sizeof(head));
    head.n = htobe32(be32toh(head.n) + 1);
    memcpy(elements->p, &head, sizeof(head));
}

static void add_null(struct buf *elements)
{
    const uint32_t length = htobe32((uint32_t)NULL_ELEMENT), yes = htobe32(1);

    count_one(elements);
    memcpy(elements->p + offsetof(struct elements_head, has_null), &yes, sizeof(yes));
    buf_add(elements, (struct str){(const char *)&length, sizeof(length)});
}

static void open_elements(struct buf *elements, struct arena *arena, uint32_t type, size_t capacity)
{
    const struct elements_head head = {
        .n_dimensions = htobe32(1), .type = htobe32(type), .first = htobe32(1)};

    buf_init(elements, arena, sizeof(head) + capacity);
    buf_add(elements, (struct str){(const char *)&head, sizeof(head)});
}

void ids_open(struct buf *ids, struct arena *arena, size_t n)
{
    open_elements(ids, arena, UUID_OID, n * (sizeof(int32_t) + sizeof(struct uuid)));
}

void ids_add(struct buf *ids, const struct uuid *id)
{
    if (id == NULL) {
        add_null(ids);
        return;
    }
    count_one(ids);
    add_length(ids, sizeof(id->b));
    buf_add(ids, (struct str){(const char *)id->b, sizeof(id->b)});
}

void ids_add_text(struct buf *ids, struct str text)
{
    struct uuid id;

    ids_add(ids, uuid_parse(text, &id) ? &id : NULL);
}

void texts_open(struct buf *texts, struct arena *arena, size_t capacity)
{
    open_elements(texts, arena, TEXT_OID, capacity);
}

void texts_add(struct buf *texts, struct str text)
{
    if (text.p == NULL) {
        add_null(texts);
        return;
    }
    count_one(texts);
    add_length(texts, text.n);
    buf_add(texts, text);
}

void jsons_open(struct buf *jsons, struct arena *arena, size_t capacity)
{
    open_elements(jsons, arena, JSONB_OID, capacity);
}

void jsons_add(struct buf *jsons, struct str json)
{
    if (json.p == NULL) {
        add_null(jsons);
        return;
    }
    count_one(jsons);
    add_length(jsons, 1 + json.n);
    buf_char(jsons, JSONB_VERSION);
    buf_add(jsons, json);
}

void smallints_open(struct buf *numbers, struct arena *arena, size_t n)
{
    open_elements(numbers, arena, INT2_OID, n * (sizeof(int32_t) + sizeof(int16_t)));
}

void smallints_add(struct buf *numbers, int16_t number)
{
    const uint16_t sent = htobe16((uint16_t)number);

    count_one(numbers);
    add_length(numbers, sizeof(sent));
    buf_add(numbers, (struct str){(const char *)&sent, sizeof(sent)});
}

void times_open(struct buf *times, struct arena *arena, size_t n)
{
    open_elements(times, arena, TIMESTAMPTZ_OID, n * (sizeof(int32_t) + sizeof(int64_t)));
}

void times_add(struct buf *times, int64_t us)
{
    const uint64_t sent = htobe64((uint64_t)(us - DB_EPOCH_US));

    count_one(times);
    add_length(times, sizeof(sent));
    buf_add(times, (struct str){(const char *)&sent, sizeof(sent)});
}

struct str binary_close(struct buf *elements)
{
    return buf_str(elements);
}
