#include "services/conversation/attributes.h"

#include <string.h>

#include "common/wire/text.h"

#define INVALID "parameter_invalid"

enum {
    KEY_MAX = 64,
    STRING_MAX = 500,
    NAMED_MAX = 200, /* bytes of a path that a message quotes: a key may fill a body */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key(struct str key)
{
    if (key.n == 0 || !is_letter(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        const char c = key.p[i];

        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

static bool is_reserved(struct str key)
{
    const struct str prefix = STR("service_");

    return key.n >= prefix.n && str_equal_nocase((struct str){key.p, prefix.n}, prefix);
}

/* What is wrong with a key; NULL = nothing. */
static const char *key_error(struct str key)
{
    if (!is_key(key))
        return "must begin with a letter and consist of letters, digits, '_', '-' and '.'";
    if (key.n > KEY_MAX)
        return "must be a key of at most 64 characters";
    if (is_reserved(key))
        return "must not use the reserved prefix service_";
    return NULL;
}

static const char *value_error(const json_t *value)
{
    const struct str text = json_text(value);

    if (json_is_object(value) || json_is_array(value))
        return "must be a string, a number, true, false or null";
    if (text.p != NULL && text_has_nul(text))
        return "must not contain U+0000";
    if (text.p != NULL && text_length(text) > STRING_MAX)
        return "must be at most 500 characters long";
    return NULL;
}

/* The message names the path as well, because the contract says so (7). */
static void refuse(struct errors *errors, const char *path, const char *problem)
{
    const size_t n = strlen(path);
    size_t named = n;

    if (n > NAMED_MAX) {
        named = NAMED_MAX;
        while (((unsigned char)path[named] & 0xC0) == 0x80) /* amid a character */
            named--;
    }
    errors_add(errors, INVALID, path, "%.*s%s %s", (int)named, path, named < n ? "..." : "",
               problem);
}

void attributes_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct attributes *const attributes = slot;
    const char *key;
    json_t *member;

    if (!json_is_object(value)) {
        refuse(errors, path, "must be an object");
        return;
    }
    attributes->given = true;
    json_object_foreach(value, key, member)
    {
        const char *problem = key_error(str_of(key));

        if (problem == NULL)
            problem = value_error(member);
        if (problem != NULL)
            refuse(errors, fields_path(errors->arena, path, key), problem);
        if (!json_is_null(member) && ++attributes->n_values == ATTRIBUTES_MAX + 1)
            errors_add(errors, INVALID, path, ATTRIBUTES_TOO_MANY);
        if (errors->n == ERRORS_MAX)
            return;
    }
}
