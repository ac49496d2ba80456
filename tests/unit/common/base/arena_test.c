#include "common/base/arena.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 4 << 20);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(arena, .init = setup, .fini = teardown);

Test(arena, gives_zeroed_memory_again_after_a_clear)
{
    for (int round = 0; round < 3; round++) {
        char *p = arena_alloc(&arena, 1000);

        for (size_t i = 0; i < 1000; i++)
            cr_assert_eq(p[i], 0);
        memset(p, 0xAA, 1000);
        arena_clear(&arena);
    }
}

Test(arena, keeps_alignment_after_odd_and_large_blocks)
{
    static const size_t sizes[] = {1, 3, 0, 17, 100000, 5, 1 << 20, 31};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        cr_assert_eq((uintptr_t)arena_alloc(&arena, sizes[i]) % _Alignof(max_align_t), 0);
}

Test(arena, blocks_do_not_overlap)
{
    char *p[300];

    for (int i = 0; i < 300; i++) {
        p[i] = arena_alloc(&arena, 100);
        memset(p[i], i & 0x7F, 100);
    }
    for (int i = 0; i < 300; i++)
        for (int k = 0; k < 100; k++)
            cr_assert_eq(p[i][k], i & 0x7F);
}

Test(arena, uses_its_first_chunk_again)
{
    void *before = arena_alloc(&arena, 16);

    arena_alloc(&arena, 1 << 20);
    arena_clear(&arena);
    cr_assert_eq(arena.used, 0);
    cr_assert_eq(arena_alloc(&arena, 16), before);
}

Test(arena, copies_end_with_a_nul)
{
    struct str copy = arena_str(&arena, (struct str){"abcdef", 3});

    cr_assert(str_equal(copy, STR("abc")));
    cr_assert_eq(copy.p[3], '\0');
    cr_assert_null(arena_str(&arena, STR_NONE).p);
    cr_assert_not_null(arena_str(&arena, STR("")).p);
    cr_assert_str_eq(arena_cstr(&arena, STR_NONE), "");
}

Test(arena, formats_texts_of_any_length)
{
    cr_assert_str_eq(arena_printf(&arena, "%s %d", "x", 7), "x 7");
    cr_assert_eq(strlen(arena_printf(&arena, "%20000s", "x")), 20000);
}

Test(arena, aborts_above_its_cap, .signal = SIGABRT)
{
    arena_alloc(&arena, 3 << 20);
    arena_alloc(&arena, 2 << 20);
}

Test(arena, aborts_when_an_array_overflows, .signal = SIGABRT)
{
    arena_alloc_array(&arena, SIZE_MAX / 2, 3);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

Test(arena, bytes_after_a_block_are_out_of_bounds)
{
    char *p = arena_alloc(&arena, 20);

    cr_assert_not(__asan_address_is_poisoned(p + 19));
    cr_assert(__asan_address_is_poisoned(p + 20));
    arena_clear(&arena);
    cr_assert(__asan_address_is_poisoned(p));
}
#endif

/* Reads memory that AddressSanitizer has marked as unused. */
__attribute__((no_sanitize_address)) static bool begins_with(const char *text, const char *with)
{
    for (size_t i = 0; with[i] != '\0'; i++)
        if (text[i] != with[i])
            return false;
    return true;
}

Test(arena, overwrites_released_memory_if_it_held_a_secret)
{
    const char *text = arena_cstr(&arena, STR("not a secret"));

    arena_clear(&arena);
    cr_expect(begins_with(text, "not a secret"));
    text = arena_cstr(&arena, STR("a secret"));
    arena.wipes = true;
    arena_clear(&arena);
    cr_expect_not(begins_with(text, "a"));
    cr_expect_not(arena.wipes, "until the next secret");
}
