#include "common/db/params.h"

#include <endian.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/base/log.h"
#include "common/db/db_types.h"

/* -- the parameters of one statement ----------------------------------------------------------- */

struct str param_int(struct arena *arena, int64_t value)
{
    return str_of(arena_printf(arena, "%" PRId64, value));
}

struct str param_id(struct arena *arena, const struct uuid *id)
{
    char *text = arena_alloc(arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return (struct str){text, UUID_TEXT};
}

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
    params_add(params, param_int(arena, value));
}

void params_add_id(struct params *params, struct arena *arena, const struct uuid *id)
{
    params_add(params, param_id(arena, id));
}

void params_add_bytes(struct params *params, struct str bytes)
{
    params->binary |= UINT32_C(1) << params->n;
    params_add(params, bytes);
}

void params_add_from(struct params *params, const struct params *other, size_t i)
{
    must(i < other->n);
    params->binary |= (other->binary >> i & 1) << params->n;
    params_add(params, other->at[i]);
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

static void add_length(struct elements *elements, size_t n)
{
    const uint32_t length = htobe32((uint32_t)n);

    must(n <= INT32_MAX);
    buf_add(&elements->buf, (struct str){(const char *)&length, sizeof(length)});
}

static void count_one(struct elements *elements)
{
    struct elements_head head;

    memcpy(&head, elements->buf.p, sizeof(head));
    head.n = htobe32(be32toh(head.n) + 1);
    memcpy(elements->buf.p, &head, sizeof(head));
}

static void add_null(struct elements *elements)
{
    const uint32_t length = htobe32((uint32_t)NULL_ELEMENT), yes = htobe32(1);

    count_one(elements);
    memcpy(elements->buf.p + offsetof(struct elements_head, has_null), &yes, sizeof(yes));
    buf_add(&elements->buf, (struct str){(const char *)&length, sizeof(length)});
}

static void add_element(struct elements *elements, const void *p, size_t n)
{
    count_one(elements);
    add_length(elements, n);
    buf_add(&elements->buf, (struct str){p, n});
}

static void open_elements(struct elements *elements, struct arena *arena, uint32_t type,
                          size_t capacity)
{
    const struct elements_head head = {
        .n_dimensions = htobe32(1), .type = htobe32(type), .first = htobe32(1)};

    buf_init(&elements->buf, arena, sizeof(head) + capacity);
    buf_add(&elements->buf, (struct str){(const char *)&head, sizeof(head)});
}

void ids_open(struct elements *ids, struct arena *arena, size_t n)
{
    open_elements(ids, arena, UUID_OID, n * (sizeof(int32_t) + sizeof(struct uuid)));
}

void ids_add(struct elements *ids, const struct uuid *id)
{
    if (id == NULL)
        add_null(ids);
    else
        add_element(ids, id->b, sizeof(id->b));
}

void ids_add_text(struct elements *ids, struct str text)
{
    struct uuid id;

    ids_add(ids, uuid_parse(text, &id) ? &id : NULL);
}

void texts_open(struct elements *texts, struct arena *arena, size_t capacity)
{
    open_elements(texts, arena, TEXT_OID, capacity);
}

void texts_add(struct elements *texts, struct str text)
{
    if (text.p == NULL)
        add_null(texts);
    else
        add_element(texts, text.p, text.n);
}

void jsons_open(struct elements *jsons, struct arena *arena, size_t capacity)
{
    open_elements(jsons, arena, JSONB_OID, capacity);
}

void jsons_add(struct elements *jsons, struct str json)
{
    if (json.p == NULL) {
        add_null(jsons);
        return;
    }
    count_one(jsons);
    add_length(jsons, 1 + json.n);
    buf_char(&jsons->buf, JSONB_VERSION);
    buf_add(&jsons->buf, json);
}

void smallints_open(struct elements *numbers, struct arena *arena, size_t n)
{
    open_elements(numbers, arena, INT2_OID, n * (sizeof(int32_t) + sizeof(int16_t)));
}

void smallints_add(struct elements *numbers, int16_t number)
{
    const uint16_t sent = htobe16((uint16_t)number);

    add_element(numbers, &sent, sizeof(sent));
}

void times_open(struct elements *times, struct arena *arena, size_t n)
{
    open_elements(times, arena, TIMESTAMPTZ_OID, n * (sizeof(int32_t) + sizeof(int64_t)));
}

void times_add(struct elements *times, int64_t us)
{
    const uint64_t sent = htobe64((uint64_t)(us - DB_EPOCH_US));

    add_element(times, &sent, sizeof(sent));
}

void params_add_elements(struct params *params, const struct elements *elements)
{
    params_add_bytes(params, buf_str(&elements->buf));
}
