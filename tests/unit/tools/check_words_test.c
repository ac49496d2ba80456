/* tools/check-words finds retired words, names their replacements, and finds nothing else. */
#include "tests/unit/tools/check_tree.h"

static void make_tree(void)
{
    open_tree();
    write_file("tools/retired-words.txt", "# gizmo: not retired\n\n"
                                          "gadget: device\n"
                                          "gear_: wheel_\n"
                                          "_LOTS: _MAX\n"
                                          "struct knob: struct control\n"
                                          "is fed up: has ended\n");
}

TestSuite(check_words, .init = make_tree, .fini = remove_tree);

/* The exit status over a tree with this file; its output is in `output`. */
static int check(const char *path, const char *text)
{
    write_file(path, text);
    return run_check("check-words");
}

static void expect_found(const char *path, const char *text, const char *found)
{
    cr_expect_eq(check(path, text), 1, "%s", text);
    cr_expect_not_null(strstr(output, found), "%s: %s", text, output);
}

Test(check_words, names_the_line_and_what_to_use)
{
    expect_found("common/x.c", "int a;\nint gadget;\n",
                 "check-words: common/x.c:2: gadget: `gadget` is retired, use device\n");
}

Test(check_words, finds_a_word_its_plural_and_parts_of_identifiers)
{
    expect_found("services/a/sql/x.sql", "-- The gadgets.\n", "gadgets: `gadget`");
    expect_found("services/a/sql/x.sql", "SELECT my_gadget_id\n", "use device");
    expect_found("services/a/sql/x.sql", "-- Gadget\n", "use device");
    expect_found("services/a/sql/x.sql", "-- It is fed\n-- up.\n-- is fed up\n", "use has ended");
}

Test(check_words, finds_prefixes_suffixes_and_tags)
{
    expect_found("common/x.c", "gear_new();\n", "use wheel_");
    expect_found("common/x.c", "#define TEETH_LOTS 3\n", "use _MAX");
    expect_found("common/x.c", "struct knob *knob;\n", "use struct control");
    cr_expect_eq(check("common/x.c", "/* A knob of a gear, lots of them: inspect_gear(LOTS); */\n"),
                 0, "%s", output);
}

Test(check_words, finds_names_of_files)
{
    expect_found("common/gadget.h", "\n", "common/gadget.h: the name: ");
}

Test(check_words, finds_only_retired_words)
{
    cr_expect_eq(check("common/x.c", "gizmo; gadgetry; ungadget\n"), 0, "%s", output);
    cr_expect_eq(check("services/a/migrations/0001_x.sql", "gadget\n"), 0, "%s", output);
    cr_expect_eq(check("CHANGELOG.md", "gadget\n"), 0, "%s", output);
}

Test(check_words, fails_without_words)
{
    write_file("tools/retired-words.txt", "# gadget: device\n");
    cr_expect_eq(check("common/x.c", "\n"), 1);
    cr_expect_not_null(strstr(output, "no retired words"));
}
