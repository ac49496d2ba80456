/* The rules for strings, and those for the kinds of tokens, hold for any bytes. */
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_token(struct str token)
{
    enum token_kind kind = token_classify(token);

    if (kind == TOKEN_LIVE || kind == TOKEN_READ)
        must(token.n == TOKEN_TEXT);
    if (kind == TOKEN_LEGACY)
        must(str_starts(token, STR("svc_test_")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct arena arena = {.cap = 1 << 24};
    struct str text = {(const char *)data, n};
    struct str trimmed = text_trim(text);
    struct str lower = text_lower(&arena, text);

    must(trimmed.n <= n);
    must(!text_has_outer_space(trimmed));
    must(text_has_outer_space(text) == (trimmed.n < n));
    must(text_length(text) <= n);
    must(text_is_utf8(lower) == text_is_utf8(text));
    must(str_equal(text_lower(&arena, lower), lower));
    if (text_is_utf8(text))
        must(text_length(lower) == text_length(text));
    check_token(text);
    arena_clear(&arena);
    return 0;
}
