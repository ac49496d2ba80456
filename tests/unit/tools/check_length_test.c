/* tools/check-length finds files that are too long, and reasons that are no longer needed. */
#include "tests/unit/tools/check_tree.h"

enum { LIMIT = 400 };

static void write_lines(const char *path, int n)
{
    char text[2 * LIMIT + 3] = "";

    for (int i = 0; i < n; i++)
        memcpy(text + 2 * i, "1\n", sizeof("1\n"));
    write_file(path, text);
}

static void make_tree(void)
{
    open_tree();
    write_file("tools/long_files.txt", "# PATH: REASON\n\n");
    write_lines("common/x.c", LIMIT);
    write_lines("proto/x.h", 1);
    write_lines("services/x.c", 1);
    write_lines("deploy/x", 1);
    write_lines("tests/x.c", 1);
}

TestSuite(check_length, .init = make_tree, .fini = remove_tree);

static void expect(int status, const char *said)
{
    cr_expect_eq(run_check("check-length"), status, "%s", output);
    cr_expect_str_eq(output, said);
}

Test(check_length, passes_if_no_file_is_too_long)
{
    write_lines("tests/x.c", LIMIT + 1);
    write_lines("deploy/monitoring/x.yaml", LIMIT + 1);
    write_lines("services/x.md", LIMIT + 1);
    expect(0, "");
}

Test(check_length, finds_a_file_that_is_too_long)
{
    write_lines("services/x.c", LIMIT + 1);
    expect(1, "services/x.c: 401 lines, more than one file should have\n");
}

Test(check_length, looks_at_scripts_and_at_what_is_deployed)
{
    write_lines("deploy/x", LIMIT + 1);
    write_lines("services/a/x.js", LIMIT + 1);
    write_lines("tools/x", LIMIT + 1);
    expect(1, "deploy/x: 401 lines, more than one file should have\n"
              "services/a/x.js: 401 lines, more than one file should have\n"
              "tools/x: 401 lines, more than one file should have\n");
}

Test(check_length, takes_a_reason)
{
    write_lines("services/x.c", LIMIT + 1);
    write_file("tools/long_files.txt", "services/x.c: it is one table\n");
    expect(0, "");
}

Test(check_length, wants_the_reason_in_words)
{
    write_lines("services/x.c", LIMIT + 1);
    write_file("tools/long_files.txt", "services/x.c:\n");
    expect(1, "tools/long_files.txt: services/x.c: has no reason\n");
}

Test(check_length, finds_a_reason_for_a_file_that_is_not_too_long)
{
    write_file("tools/long_files.txt", "common/x.c: it is one table\n");
    expect(1, "tools/long_files.txt: common/x.c: is not too long\n");
    write_file("tools/long_files.txt", "common/gone.c: it is one table\n");
    expect(1, "tools/long_files.txt: common/gone.c: is not too long\n");
}
