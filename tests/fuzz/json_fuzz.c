/* Everything that json_read() accepts keeps its promises, and is accepted again when written. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_string(struct str text)
{
    static struct arena arena = {.cap = 1 << 24};
    struct buf buf;
    json_t *again;
    char error[160];

    must(text_is_utf8(text));
    must(text_length(text) <= text.n);
    buf_init(&buf, &arena, 64);
    json_add_string(&buf, text);
    must(json_read(buf_str(&buf), &again, error));
    must(str_equal(json_text(again), text));
    json_free(again);
    arena_clear(&arena);
}

static void check(const json_t *value, size_t depth)
{
    if (json_is_string(value))
        check_string(json_text(value));
    if (!json_is_object(value) && !json_is_array(value))
        return;
    must(depth < JSON_DEPTH_MAX);
    for (size_t i = 0; i < json_array_size(value); i++)
        check(json_array_get(value, i), depth + 1);
    for (void *at = json_object_iter((json_t *)value); at;
         at = json_object_iter_next((json_t *)value, at)) {
        check_string(str_of(json_object_iter_key(at)));
        check(json_object_iter_value(at), depth + 1);
    }
}

/* Removing the blanks that jansson and PostgreSQL write between tokens keeps the value. */
static void check_compact(const char *spaced, const json_t *value)
{
    static struct arena arena = {.cap = 1 << 24};
    struct buf buf;
    json_t *again;

    buf_init(&buf, &arena, 64);
    json_add_compact(&buf, str_of(spaced));
    must(buf.n <= strlen(spaced));
    must(json_read(buf_str(&buf), &again, NULL) && json_equal(value, again));
    json_free(again);
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    json_t *value, *again;
    char error[160], *dumped;

    if (!json_read((struct str){(const char *)data, n}, &value, error)) {
        must(strncmp(error, "invalid JSON at line ", 21) == 0);
        return 0;
    }
    check(value, 0);
    dumped = json_dumps(value, JSON_ENCODE_ANY);
    must(dumped != NULL);
    must(json_read(str_of(dumped), &again, error));
    must(json_equal(value, again));
    check_compact(dumped, value);
    free(dumped);
    json_free(again);
    json_free(value);
    return 0;
}
