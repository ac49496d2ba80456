#include "common/db/params.h"

#include <endian.h>
#include <inttypes.h>
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
    size_t start = 0; /* of the run of bytes that need no backslash */

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

/* -- an array of ids in binary format ---------------------------------------------------------- */

enum { UUID_OID = 2950, NULL_ELEMENT = -1 };

/* Numbers are in network order. */
struct ids_head {
    uint32_t n_dimensions, has_null, type, n, first;
};

static void add_length(struct buf *ids, int32_t n)
{
    const uint32_t length = htobe32((uint32_t)n);

    buf_add(ids, (struct str){(const char *)&length, sizeof(length)});
}

static void count_one(struct buf *ids, bool is_null)
{
    struct ids_head head;

    memcpy(&head, ids->p, sizeof(head));
    head.n = htobe32(be32toh(head.n) + 1);
    if (is_null)
        head.has_null = htobe32(1);
    memcpy(ids->p, &head, sizeof(head));
}

void ids_open(struct buf *ids, struct arena *arena, size_t n)
{
    const struct ids_head head = {
        .n_dimensions = htobe32(1), .type = htobe32(UUID_OID), .first = htobe32(1)};

    buf_init(ids, arena, sizeof(head) + n * (sizeof(int32_t) + sizeof(struct uuid)));
    buf_add(ids, (struct str){(const char *)&head, sizeof(head)});
}

void ids_add(struct buf *ids, const struct uuid *id)
{
    count_one(ids, id == NULL);
    add_length(ids, id == NULL ? NULL_ELEMENT : (int32_t)sizeof(id->b));
    if (id != NULL)
        buf_add(ids, (struct str){(const char *)id->b, sizeof(id->b)});
}

void ids_add_text(struct buf *ids, struct str text)
{
    struct uuid id;

    ids_add(ids, uuid_parse(text, &id) ? &id : NULL);
}

struct str ids_close(struct buf *ids)
{
    return buf_str(ids);
}
