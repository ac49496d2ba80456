/* tools/changed-files: which files `make lint` checks, in a repository of the test's own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[64];

static void shell(const char *command)
{
    char whole[1024];

    snprintf(whole, sizeof(whole), "cd %s && { %s; } >/dev/null", root, command);
    cr_assert_eq(system(whole), 0, "%s", command);
}

/* Expects these files, each once, in order. */
static void expect(const char *files)
{
    char command[160], text[1024];
    FILE *pipe;
    size_t n;

    snprintf(command, sizeof(command), "%s/tools/changed-files 2>&1 | sort -u | tr '\\n' ' '",
             root);
    pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    n = fread(text, 1, sizeof(text) - 1, pipe);
    text[n] = '\0';
    cr_assert_eq(pclose(pipe), 0);
    cr_expect_str_eq(text, files);
}

#define COMMIT                                                                                     \
    "git add -A && git -c user.name=A -c user.email=a@b.example commit -q --allow-empty -m x"

/* far.c includes near.h, which includes base.h; alone.c includes nothing. On a branch off main. */
static void setup(void)
{
    char command[256];

    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    strcpy(root, "/tmp/changed-files.XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof(command), "mkdir %s/tools && cp tools/changed-files %s/tools", root,
             root);
    cr_assert_eq(system(command), 0);
    shell("mkdir common proto services deploy tests");
    shell("touch common/base.h common/alone.c proto/x services/x deploy/x tests/x");
    shell("echo '#include \"common/base.h\"' >common/near.h");
    shell("echo '#include \"common/near.h\"' >common/far.c");
    shell("git init -q -b main && " COMMIT " && git checkout -q -b branch");
}

static void teardown(void)
{
    shell("rm -rf $PWD");
}

TestSuite(changed_files, .init = setup, .fini = teardown);

Test(changed_files, are_those_that_differ_from_main_and_files_that_include_them)
{
    expect("");
    shell("echo >>common/alone.c && touch common/new.c && " COMMIT);
    expect("common/alone.c common/new.c ");
    shell("echo >>common/base.h && touch common/newer.c");
    expect("common/alone.c common/base.h common/near.h common/new.c common/newer.c ");
}

Test(changed_files, follow_the_dependencies_of_a_build_if_there_is_one)
{
    shell("echo build >.gitignore && mkdir -p build/release/common build/release/headers/common");
    shell("printf 'x.o: common/far.c \\\\\\n common/near.h \\\\\\n common/base.h\\n'"
          " | tee build/release/common/far.d >build/release/common/gone.d");
    shell("echo 'x: common/near.h common/base.h' >build/release/headers/common/near.h.d");
    shell("echo >>common/base.h");
    expect("common/base.h common/far.c common/near.h ");
}

Test(changed_files, are_all_without_a_common_ancestor)
{
    shell("git checkout -q --orphan other && echo >>deploy/x && " COMMIT);
    expect("common/alone.c common/base.h common/far.c common/near.h ");
    shell("git branch -q -D main");
    expect("common/alone.c common/base.h common/far.c common/near.h ");
    shell("rm -rf .git");
    expect("common/alone.c common/base.h common/far.c common/near.h ");
}
