/* tools/check-fuzz names parsers that no fuzz target calls, and false rows of its table. */
#include "tests/unit/tools/check_tree.h"

static void make_tree(void)
{
    open_tree();
    write_file("common/base/tea.c", "static int read_leaf(struct str s)\n{\n    return 1;\n}\n\n"
                                    "bool tea_parse(struct str text)\n{\n"
                                    "    return read_leaf(text);\n}\n");
    write_file("tests/fuzz/tea_fuzz.c", "tea_parse(text);\n");
    write_file("tests/fuzz/corpus/tea/green", "g");
    write_file("tests/fuzz/parsers.txt", "common/base/tea.c tea_parse tea\n");
}

TestSuite(check_fuzz, .init = make_tree, .fini = remove_tree);

static int check(void)
{
    return run_check("check-fuzz");
}

static void expect_found(const char *found)
{
    cr_expect_eq(check(), 1);
    cr_expect_not_null(strstr(output, found), "%s: %s", found, output);
}

Test(check_fuzz, finds_nothing_if_every_parser_has_its_target)
{
    cr_expect_eq(check(), 0, "%s", output);
    cr_expect_str_empty(output);
}

Test(check_fuzz, names_a_parser_without_a_row)
{
    write_file("common/base/cup.c", "bool cup_read(struct str text)\n{\n    return true;\n}\n");
    expect_found("common/base/cup.c: cup_read is a parser, and not in the table\n");
}

Test(check_fuzz, names_functions_that_read_json_whatever_their_name)
{
    write_file("common/base/cup.c",
               "void cup_note(struct str text)\n{\n    json_read(text, &v);\n}\n");
    expect_found("common/base/cup.c: cup_note is a parser, and not in the table\n");
}

Test(check_fuzz, looks_for_calls_outside_comments)
{
    write_file("tests/fuzz/tea_fuzz.c", "/* tea_parse(text) */\n");
    expect_found("common/base/tea.c: tea_fuzz.c does not call tea_parse\n");
}

Test(check_fuzz, names_a_static_one_that_no_other_calls)
{
    write_file("common/base/cup.c",
               "static int decode_rim(struct str text)\n{\n    return 1;\n}\n");
    expect_found("common/base/cup.c: decode_rim is a parser that no other in the table calls\n");
}

Test(check_fuzz, names_a_command)
{
    write_file("services/tea/pot.c",
               "const struct command_handler tea_pour = {\n    .subject = SUBJECT_TEA,\n};\n");
    expect_found("services/tea/pot.c: tea_pour is a parser, and not in the table\n");
}

Test(check_fuzz, names_rows_that_are_not_true)
{
    write_file("tests/fuzz/parsers.txt", "common/base/tea.c tea_parse milk\n"
                                         "common/base/tea.c tea_drink tea\n"
                                         "common/base/tea.c read_leaf -\n"
                                         "common/base/gone.c gone_read tea\n");
    expect_found("common/base/tea.c: there is no tests/fuzz/milk_fuzz.c\n");
    expect_found("common/base/tea.c: tea_drink is in the table and not in the file\n");
    expect_found("common/base/tea.c: tea_fuzz.c does not call tea_drink\n");
    expect_found("common/base/tea.c: read_leaf has neither a target nor a reason\n");
    expect_found("common/base/gone.c is in the table and not there\n");
}

Test(check_fuzz, takes_a_reason_for_a_target)
{
    write_file("tests/fuzz/parsers.txt", "common/base/tea.c tea_parse tea\n"
                                         "common/base/cup.c cup_read - it is empty\n");
    write_file("common/base/cup.c", "bool cup_read(struct str text)\n{\n    return true;\n}\n");
    cr_expect_eq(check(), 0, "%s", output);
}

Test(check_fuzz, names_a_target_without_seeds_and_one_without_a_row)
{
    write_file("tests/fuzz/milk_fuzz.c", "\n");
    expect_found("tests/fuzz/corpus/milk has no seed\n");
    expect_found("milk_fuzz.c is not in the table\n");
}
