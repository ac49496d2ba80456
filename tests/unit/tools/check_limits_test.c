/* tools/check-limits finds constants, values and tests of docs/limits.md that the tree does not have. */
#include "tests/unit/tools/check_tree.h"

#define HEADER                                                                                     \
    "# Limits\n\n| what | by how much | constant | what the client sees | test |\n"                \
    "| --- | --- | --- | --- | --- |\n"
#define ROW(bound, constant, test)                                                                 \
    HEADER "| x | " bound " | `common/a.c` `" constant "` | 503 | " test " |\n"
#define TEST_OF_A "`a_test` `holds`"

/* The exit status of the check over a page, and over a file with constants and one test. */
static int check(const char *page)
{
    int status;

    open_tree();
    write_file("common/a.h", "#define UNIT_US 20 /* LATE_MS = 7 */\n");
    write_file("common/a.c",
               "enum {\n    ITEMS_MAX = 1024,\n    BYTES = (size_t)16 * 1024 * 1024,\n"
               "    LATE_US = 300 * 1000, /* late */\n    DEBT_MAX = 1000000 / UNIT_US,\n"
               "};\nstatic int set = {.batch_max = 16, .statement_ms = 1500};\n"
               "{.name = \"TIMEOUT_MS\",\n .fallback = \"3000\",\n .min = 1},\n");
    write_file("tests/unit/a_test.c", "Test(a, holds)\n{\n}\n");
    write_file("docs/limits.md", page);
    status = run_check("check-limits");
    remove_tree();
    return status;
}

Test(check_limits, accepts_values_in_any_unit)
{
    cr_expect_eq(check(ROW("1,024 messages", "ITEMS_MAX", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("at most 16 MiB", "BYTES", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("300 ms", "LATE_US", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("0.3 s", "LATE_US", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("50,000 units", "DEBT_MAX", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("1/1024 of it", "ITEMS_MAX", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("16, 1.5 s", "batch_max` `statement_ms", TEST_OF_A)), 0, "%s", output);
    cr_expect_eq(check(ROW("3 s (setting)", "TIMEOUT_MS", TEST_OF_A)), 0, "%s", output);
    cr_expect_not_null(strstr(output, "1 bounds with 1 constants, 0 without a test"), "%s", output);
}

Test(check_limits, finds_another_value)
{
    cr_expect_eq(check(ROW("1,023 messages", "ITEMS_MAX", TEST_OF_A)), 1);
    cr_expect_not_null(strstr(output, "ITEMS_MAX of common/a.c is 1,024"), "%s", output);
    cr_expect_eq(check(ROW("300", "LATE_US", TEST_OF_A)), 1, "not a time");
    cr_expect_eq(check(ROW("1024 ms", "ITEMS_MAX", TEST_OF_A)), 1, "a time");
}

Test(check_limits, finds_a_constant_or_a_file_that_is_gone)
{
    cr_expect_eq(check(ROW("7", "ITEMS_MIN", TEST_OF_A)), 1);
    cr_expect_not_null(strstr(output, "common/a.c does not define ITEMS_MIN"), "%s", output);
    cr_expect_eq(check(ROW("7 ms", "LATE_MS", TEST_OF_A)), 1, "in a comment, of another file");
    cr_expect_eq(check(ROW("7", "ITEMS_MAX` `common/b.c", TEST_OF_A)), 1);
    cr_expect_not_null(strstr(output, "common/b.c does not exist"), "%s", output);
}

Test(check_limits, finds_a_test_that_is_gone)
{
    cr_expect_eq(check(ROW("1,024", "ITEMS_MAX", "`a_test` `held`")), 1);
    cr_expect_not_null(strstr(output, "a_test has no test held"), "%s", output);
    cr_expect_eq(check(ROW("1,024", "ITEMS_MAX", "")), 1);
    cr_expect_not_null(strstr(output, "names a test, or says: none"), "%s", output);
    cr_expect_eq(check(ROW("1,024", "ITEMS_MAX", "none")), 0);
}

Test(check_limits, wants_a_table)
{
    cr_expect_eq(check("# Limits\n"), 1);
    cr_expect_not_null(strstr(output, "has no table of bounds"), "%s", output);
}
