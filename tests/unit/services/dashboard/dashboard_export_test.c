#include "services/dashboard/dashboard_export.h"

#include <criterion/criterion.h>

static struct arena arena;
static struct buf out;

static void open_buffer(void)
{
    arena_init(&arena, 65536);
    buf_init(&out, &arena, 64);
}

static void close_buffer(void)
{
    arena_release(&arena);
}

TestSuite(csv, .init = open_buffer, .fini = close_buffer);

static void expect(const char *text)
{
    cr_expect(str_equal(buf_str(&out), str_of(text)), "%.*s", (int)out.n, out.p);
}

Test(csv, quotes_every_cell)
{
    csv_add_cell(&out, STR("a,b"));
    csv_add_cell(&out, STR("say \"c\""));
    csv_end_row(&out);
    csv_add_cell(&out, STR_NONE);
    csv_add_cell(&out, STR("two\r\nlines"));
    csv_end_row(&out);
    expect("\"a,b\",\"say \"\"c\"\"\"\r\n\"\",\"two\r\nlines\"\r\n");
}

Test(csv, lets_no_cell_be_a_formula)
{
    static const char *const formulas[] = {"=1+1", "+1",   "-1",   "@sum",
                                           "\t=1", "\r=1", "\n=1", " =1"};

    for (size_t i = 0; i < ARRAY_SIZE(formulas); i++) {
        csv_add_cell(&out, str_of(formulas[i]));
        cr_expect_eq(out.p[1], '\'', "%s", formulas[i]);
        cr_expect(str_starts(str_skip(buf_str(&out), 2), str_of(formulas[i])));
        out.n = 0;
    }
}

Test(csv, leaves_everything_else_as_it_is)
{
    csv_add_cell(&out, STR("a=1"));
    csv_add_cell(&out, STR("2026-11-20"));
    csv_add_cell(&out, STR("'x"));
    csv_add_cell(&out, STR("   "));
    expect("\"a=1\",\"2026-11-20\",\"'x\",\"   \"");
}
