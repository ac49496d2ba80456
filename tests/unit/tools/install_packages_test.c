/* tools/install-packages, without installing anything: every new machine on which tests run does that. */
#include "tests/unit/tools/check_tree.h"

TestSuite(install_packages, .init = open_tree, .fini = remove_tree);

Test(install_packages, says_what_to_install_where_there_is_no_dpkg)
{
    char command[128];

    snprintf(command, sizeof(command),
             "ln -s \"$(command -v bash)\" %s && PATH=%s tools/install-packages build", root, root);
    cr_assert_eq(run_command(command), 1, "%s", output);
    cr_expect_not_null(strstr(output, "docs/platforms.md"), "%s", output);
    cr_expect_not_null(strstr(output, " libnats-dev "), "%s", output);
}

Test(install_packages, gives_an_image_libraries_and_no_headers)
{
    cr_assert_eq(run_command("tools/install-packages --print image"), 0, "%s", output);
    cr_expect_not_null(strstr(output, "\nlibnats3."), "%s", output);
    cr_expect_not_null(strstr(output, "\nlibssl3"), "%s", output);
    cr_expect_null(strstr(output, "-dev"), "%s", output);
}
