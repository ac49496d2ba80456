#include "services/search/number_text.h"

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
static struct str next_number(struct str text, size_t *at)
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

static size_t count_numbers(struct str text)
{
    size_t n = 0, at = 0;

    while (next_number(text, &at).p != NULL)
        n++;
    return n;
}

/* jansson keeps members in the order of the document. json_read() bounds the depth. Of more than
   `n` numbers the first `n` are kept, and all are counted. */
static void add_numbers(json_t *value, size_t n, struct number_texts *out)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_number(value)) {
        if (out->n < n)
            out->at[out->n].number = value;
        out->n++;
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, inner) add_numbers(inner, n, out);
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, inner) add_numbers(inner, n, out);
    }
}

bool number_texts_read(struct str text, json_t *root, struct arena *arena, struct number_texts *out)
{
    const size_t n = count_numbers(text);
    size_t at = 0;

    *out = (struct number_texts){.at = ARENA_ARRAY(arena, struct number_text, n)};
    for (size_t i = 0; i < n; i++)
        out->at[i].text = next_number(text, &at);
    add_numbers(root, n, out);
    return out->n == n;
}

struct str number_texts_find(const struct number_texts *numbers, const json_t *number)
{
    size_t i = 0;

    while (i < numbers->n && numbers->at[i].number != number)
        i++;
    must(i < numbers->n);
    return numbers->at[i].text;
}
