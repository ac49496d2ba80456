#include "services/dashboard/parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/wire/text.h"

static json_t *value_of(const struct parameter *parameter, struct str raw)
{
    char text[PARAMETERS_VALUE_MAX];
    struct str value;
    uint64_t number;

    if (!text_decode_form(raw, text, sizeof(text), &value))
        return NULL;
    if (!parameter->is_number)
        return json_stringn(value.p, value.n);
    return str_to_u64(value, INT64_MAX, &number) ? json_integer((json_int_t)number) : NULL;
}

static const struct parameter *find(const struct parameter *list, struct str name)
{
    for (; list->name != NULL; list++)
        if (str_equal(name, str_of(list->name)))
            return list;
    return NULL;
}

/* What is quoted of a name is harmless wherever it is shown. */
static void blame(struct str name, char field[64])
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < 63; i++) {
        char c = name.p[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        field[n++] = is_plain ? c : '_';
    }
    field[n] = '\0';
}

bool parameters_read(struct str query, const struct parameter *list, json_t *object, char field[64])
{
    struct str rest = query.n > 0 ? query : STR_NONE;

    while (rest.p != NULL) {
        struct str raw = str_cut(&rest, '&');
        struct str name = str_cut(&raw, '=');
        const struct parameter *parameter = find(list, name);
        json_t *value = NULL;

        if (parameter != NULL && raw.p != NULL && json_object_get(object, parameter->name) == NULL)
            value = value_of(parameter, raw);
        if (value == NULL || json_object_set_new(object, parameter->name, value) != 0) {
            blame(name, field);
            return false;
        }
    }
    return true;
}
