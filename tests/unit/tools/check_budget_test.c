/* tools/check-budget counts the lines of each folder and compares them with its budget. */
#include "tests/unit/tools/check_tree.h"

static void make_tree(void)
{
    open_tree();
    write_file("tools/budget.txt", "# folder C SQL JS scripts\n\n"
                                   "services 1 - - -\nservices/a 3 2 - 1\ntools - - - 1\n");
    write_file("services/x.c", "1\n");
    write_file("services/a/x.c", "1\n2\n");
    write_file("services/a/x.h", "1\n");
    write_file("services/a/sql/x.sql", "1\n2\n");
    write_file("services/a/x.py", "1\n");
    write_file("tools/x", "#!/bin/sh\n");
}

TestSuite(check_budget, .init = make_tree, .fini = remove_tree);

static void expect(int status, const char *said)
{
    cr_expect_eq(run_check("check-budget"), status, "%s", output);
    cr_expect_not_null(strstr(output, said), "%s: %s", said, output);
}

Test(check_budget, passes_if_each_folder_has_the_lines_of_its_budget)
{
    expect(0, "check-budget: 8 lines; the budget is 8\n");
    cr_expect_null(strstr(output, ": services"), "%s", output);
}

Test(check_budget, fails_where_a_folder_has_more)
{
    write_file("services/a/x.h", "1\n2\n3\n");
    expect(1, "check-budget: services/a: 5 lines of C, 2 above the budget\n");
}

/* What one folder saves, another may not spend. */
Test(check_budget, prints_what_a_folder_saves)
{
    write_file("services/a/sql/x.sql", "1\n");
    expect(0, "check-budget: services/a: 1 lines of SQL, 1 below the budget\n");
    write_file("services/y.c", "1\n");
    expect(1, "check-budget: services: 2 lines of C, 1 above the budget\n");
}

Test(check_budget, fails_on_a_folder_without_a_budget)
{
    write_file("tests/x.c", "1\n");
    expect(1, "check-budget: tests/x.c: its folder has no row in tools/budget.txt\n");
}

Test(check_budget, counts_only_source_files_of_ours)
{
    write_file("services/a/x.md", "1\n2\n3\n4\n");
    write_file("services/a/node_modules/x/x.c", "1\n2\n3\n4\n");
    write_file("tools/data", "1\n2\n3\n4\n");
    expect(0, "check-budget: 8 lines; the budget is 8\n");
}

Test(check_budget, sets_the_lines_of_today)
{
    write_file("services/a/x.h", "1\n2\n3\n");
    cr_expect_eq(run_check("check-budget --set"), 0, "%s", output);
    expect(0, "check-budget: 10 lines; the budget is 10\n");
    write_file("services/y.c", "1\n");
    expect(1, "check-budget: services: 2 lines of C, 1 above the budget\n");
}
