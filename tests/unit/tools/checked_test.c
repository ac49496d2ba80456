/* tools/checked: the output of a failed check is kept until all checks have ended. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static char folder[] = "/tmp/checked.XXXXXX";

static int shell(const char *command)
{
    const int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    setenv("FOLDER", folder, 1);
}

static void remove_folder(void)
{
    cr_assert_eq(shell("rm -rf $FOLDER"), 0);
}

TestSuite(checked, .init = make_folder, .fini = remove_folder);

/* The exit status of a check called services/a.c. */
static int check(const char *script)
{
    setenv("SCRIPT", script, 1);
    return shell(
        "tool=$PWD/tools/checked; cd $FOLDER && $tool services/a.c sh -c \"$SCRIPT\" >out");
}

Test(checked, keeps_the_output_of_a_failed_check)
{
    cr_expect_eq(check("echo found; echo this >&2; exit 3"), 3);
    cr_expect_eq(shell("printf 'found\\nthis\\n' | cmp - $FOLDER/out"), 0);
    cr_expect_eq(shell("cmp $FOLDER/out $FOLDER/build/findings/services.a.c"), 0);
}

Test(checked, keeps_nothing_of_a_check_that_passes)
{
    cr_expect_eq(check("exit 1"), 1);
    cr_expect_eq(check("echo looked at all"), 0);
    cr_expect_eq(shell("grep -qx 'looked at all' $FOLDER/out"), 0, "it is printed");
    cr_expect_eq(shell("[ -z \"$(ls $FOLDER/build/findings)\" ]"), 0);
}
