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

Test(csv, makes_no_cell_a_formula)
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

/* -- parts ----------------------------------------------------------------------------------- */

static json_t *part_of(const char *text)
{
    json_t *part = NULL;

    cr_assert(json_read(str_of(text), &part, NULL), "%s", text);
    return part;
}

static void expect_sound(const char *text, bool is_sound)
{
    json_t *part = part_of(text);

    cr_expect_eq(export_part_is_sound(part), is_sound, "%s", text);
    json_free(part);
}

TestSuite(export_part, .init = open_buffer, .fini = close_buffer);

Test(export_part, has_entries_that_are_objects)
{
    expect_sound("{\"entries\":[]}", true);
    expect_sound("{\"entries\":[{}],\"position\":{\"from\":\"x\"}}", true);
    expect_sound("{\"entries\":[1]}", false);
    expect_sound("{\"entries\":[{},null]}", false);
    expect_sound("{\"entries\":{}}", false);
    expect_sound("{}", false);
    expect_sound("[]", false);
}

Test(export_part, continues_at_an_object)
{
    expect_sound("{\"entries\":[],\"position\":1}", false);
    expect_sound("{\"entries\":[],\"position\":null}", false);
    expect_sound("{\"entries\":[],\"position\":[]}", false);
}

Test(export_part, becomes_a_line_of_each_entry)
{
    json_t *part = part_of("[{\"created_at\":0,\"operation\":\"ping\"},{}]");

    cr_assert(export_add_lines(&out, part));
    expect("{\"created_at\":0,\"operation\":\"ping\"}\n{}\n");
    out.n = 0;
    cr_assert(export_add_rows(&out, part));
    expect("\"1970-01-01T00:00:00Z\",\"\",\"ping\",\"\",\"\",\"\",\"\",\"\",\"\"\r\n"
           "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\r\n");
    json_free(part);
}

/* Numbers may be longer when written than when read: 0.1 then has 19 characters. */
Test(export_part, is_not_written_beyond_its_bound)
{
    json_t *part = json_array(), *tenths = json_array();
    struct arena large;
    struct buf text;

    arena_init(&large, 4 * EXPORT_TEXT_MAX);
    for (size_t i = 0; i < EXPORT_TEXT_MAX / 16; i++)
        json_array_append_new(tenths, json_real(0.1));
    json_array_append_new(part, json_pack("{s:o}", "a", tenths));
    buf_init(&text, &large, 64);
    cr_expect_not(export_add_lines(&text, part));
    cr_expect_leq(text.n, EXPORT_TEXT_MAX);
    json_array_clear(part);

    for (size_t i = 0; i < EXPORT_TEXT_MAX / 16; i++)
        json_array_append_new(part, json_object());
    buf_init(&text, &large, 64);
    cr_expect_not(export_add_rows(&text, part));
    cr_expect_leq(text.n, EXPORT_TEXT_MAX);
    json_decref(part);
    arena_release(&large);
}
