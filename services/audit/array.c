#include "services/audit/array.h"

#include <inttypes.h>

#include "common/crypto/crypto.h"

void array_init(struct array *array, struct arena *arena, size_t room)
{
    buf_init(&array->text, arena, room);
    buf_char(&array->text, '{');
}

static void part(struct array *array)
{
    if (array->text.n > 1)
        buf_char(&array->text, ',');
}

void array_add(struct array *array, struct str element)
{
    part(array);
    buf_add(&array->text, element);
}

void array_add_quoted(struct array *array, struct str element)
{
    part(array);
    buf_char(&array->text, '"');
    buf_add(&array->text, element);
    buf_char(&array->text, '"');
}

void array_add_number(struct array *array, uint64_t number)
{
    part(array);
    buf_printf(&array->text, "%" PRIu64, number);
}

void array_add_id(struct array *array, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    array_add(array, (struct str){text, UUID_TEXT});
}

void array_add_hex(struct array *array, const void *data, size_t n)
{
    char *text = arena_alloc(array->text.arena, 2 * n + 1);

    crypto_hex(data, n, text);
    array_add(array, (struct str){text, 2 * n});
}

struct str array_str(struct array *array)
{
    buf_char(&array->text, '}');
    return buf_str(&array->text);
}
