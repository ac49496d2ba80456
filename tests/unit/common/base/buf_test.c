#include "common/base/buf.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;
static struct buf buf;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
    buf_init(&buf, &arena, 4);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(buf, .init = setup, .fini = teardown);

Test(buf, starts_empty)
{
    cr_assert_eq(buf_str(&buf).n, 0);
    buf_add(&buf, STR_NONE);
    cr_assert_eq(buf_str(&buf).n, 0);
}

Test(buf, grows_and_keeps_its_contents)
{
    for (int i = 0; i < 1000; i++) {
        buf_add(&buf, STR("ab"));
        buf_char(&buf, 'c');
    }
    cr_assert_eq(buf_str(&buf).n, 3000);
    for (size_t i = 0; i < 3000; i += 3)
        cr_assert_eq(memcmp(buf.p + i, "abc", 3), 0);
}

Test(buf, may_start_with_no_room)
{
    buf_init(&buf, &arena, 0);
    buf_char(&buf, 'x');
    cr_assert(str_equal(buf_str(&buf), STR("x")));
}

Test(buf, writes_integers_from_end_to_end)
{
    buf_int(&buf, 0);
    buf_char(&buf, ' ');
    buf_int(&buf, INT64_MAX);
    buf_char(&buf, ' ');
    buf_int(&buf, INT64_MIN);
    cr_assert(str_equal(buf_str(&buf), STR("0 9223372036854775807 -9223372036854775808")));
}

Test(buf, appends_formatted_text)
{
    buf_add(&buf, STR("abc"));
    buf_printf(&buf, "%s-%05d", "long enough to need another block", 42);
    buf_char(&buf, '!');
    cr_assert(str_equal(buf_str(&buf), STR("abclong enough to need another block-00042!")));
}
