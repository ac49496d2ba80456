/* tools/check-fuzz names parsers that no fuzz target has, and rows of its table that are not true. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char root[] = "/tmp/check-fuzz.XXXXXX";
static char output[4096];

static int shell(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_file(const char *path, const char *text)
{
    char command[256], full[160];
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", full);
    cr_assert_eq(shell(command), 0);
    file = fopen(full, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_tree(void)
{
    cr_assert_not_null(mkdtemp(root));
    write_file("common/base/tea.c", "static int read_leaf(struct str s)\n{\n    return 1;\n}\n\n"
                                    "bool tea_parse(struct str text)\n{\n"
                                    "    return read_leaf(text);\n}\n");
    write_file("tests/fuzz/tea_fuzz.c", "tea_parse(text);\n");
    write_file("tests/fuzz/corpus/tea/green", "g");
    write_file("tests/fuzz/parsers.txt", "common/base/tea.c tea_parse tea\n");
}

static void remove_tree(void)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert_eq(shell(command), 0);
}

TestSuite(check_fuzz, .init = make_tree, .fini = remove_tree);

static int check(void)
{
    char command[160];
    FILE *file;
    int status;

    snprintf(command, sizeof(command), "tools/check-fuzz %s >%s/out 2>&1", root, root);
    status = shell(command);
    snprintf(command, sizeof(command), "%s/out", root);
    file = fopen(command, "r");
    cr_assert_not_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void expect_found(const char *found)
{
    cr_expect_eq(check(), 1);
    cr_expect_not_null(strstr(output, found), "%s: %s", found, output);
}

Test(check_fuzz, finds_nothing_where_every_parser_has_its_target)
{
    cr_expect_eq(check(), 0, "%s", output);
    cr_expect_str_empty(output);
}

Test(check_fuzz, names_a_parser_without_a_row)
{
    write_file("common/base/cup.c", "bool cup_read(struct str text)\n{\n    return true;\n}\n");
    expect_found("common/base/cup.c: cup_read is a parser, and not in the table\n");
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

Test(check_fuzz, names_a_target_that_nobody_feeds_and_one_that_no_row_has)
{
    write_file("tests/fuzz/milk_fuzz.c", "\n");
    expect_found("tests/fuzz/corpus/milk has no seed\n");
    expect_found("milk_fuzz.c is not in the table\n");
}
