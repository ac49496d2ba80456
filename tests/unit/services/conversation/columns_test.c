#include "services/conversation/columns.h"

#include <criterion/criterion.h>

Test(columns, are_arrays_as_postgresql_reads_them)
{
    struct arena arena;
    struct buf column;

    arena_init(&arena, 1 << 20);
    column_open(&column, &arena, 1);
    column_add(&column, STR("plain"));
    column_add(&column, STR_NONE);
    column_add(&column, STR("NULL"));
    column_add(&column, STR(""));
    column_add(&column, STR("\"{a,\\b}\""));
    cr_assert_str_eq(arena_cstr(&arena, column_close(&column)),
                     "{\"plain\",NULL,\"NULL\",\"\",\"\\\"{a,\\\\b}\\\"\"}");
    column_open(&column, &arena, 0);
    cr_assert_str_eq(arena_cstr(&arena, column_close(&column)), "{}");
    arena_release(&arena);
}
