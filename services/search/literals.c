#include "services/search/literals.h"

#include "common/base/log.h"

static bool starts_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

static bool is_in_number(char c)
{
    return starts_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The next number at or behind *at, which moves behind it; STR_NONE when there is none. The text is
   valid JSON, so a digit outside a string can only be a number's. */
static struct str next_literal(struct str text, size_t *at)
{
    bool in_string = false;
    size_t i = *at, start;

    for (; i < text.n && (in_string || !starts_number(text.p[i])); i++) {
        if (text.p[i] == '"')
            in_string = !in_string;
        else if (text.p[i] == '\\')
            i++;
    }
    for (start = i; i < text.n && is_in_number(text.p[i]); i++)
        ;
    *at = i;
    return i > start ? (struct str){text.p + start, i - start} : STR_NONE;
}

static size_t count_literals(struct str text)
{
    size_t n = 0, at = 0;

    while (next_literal(text, &at).p != NULL)
        n++;
    return n;
}

/* jansson keeps members in the order of the document. json_read() bounds the depth. */
static void add_numbers(json_t *value, size_t n, struct literals *out)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_number(value)) {
        must(out->n < n);
        out->at[out->n++].number = value;
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, inner) add_numbers(inner, n, out);
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner) add_numbers(inner, n, out);
    }
}

void literals_read(struct str text, json_t *root, struct arena *arena, struct literals *out)
{
    const size_t n = count_literals(text);
    size_t at = 0;

    *out = (struct literals){.at = ARENA_ARRAY(arena, struct literal, n)};
    for (size_t i = 0; i < n; i++)
        out->at[i].text = next_literal(text, &at);
    add_numbers(root, n, out);
    must(out->n == n);
}

struct str literals_find(const struct literals *literals, const json_t *number)
{
    size_t i = 0;

    while (i < literals->n && literals->at[i].number != number)
        i++;
    must(i < literals->n);
    return literals->at[i].text;
}
