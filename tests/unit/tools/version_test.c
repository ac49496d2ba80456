/* tools/version: where the number and the commit come from. In a separate folder. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/base/str.h"

static char root[64];
static char printed[1024];

/* Runs a command in that folder and returns its exit status; its output, without the last newline,
   is in `printed`. */
static int run(const char *command)
{
    char whole[2048];
    FILE *pipe;
    size_t n;
    int status;

    snprintf(whole, sizeof(whole), "cd %s && { %s; } 2>&1", root, command);
    pipe = popen(whole, "r");
    cr_assert_not_null(pipe);
    n = fread(printed, 1, sizeof(printed) - 1, pipe);
    printed[n > 0 && printed[n - 1] == '\n' ? n - 1 : n] = '\0';
    status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *command, const char *text)
{
    cr_expect_eq(run(command), 0, "%s: %s", command, printed);
    cr_expect_str_eq(printed, text, "%s: %s, not %s", command, printed, text);
}

static void setup(void)
{
    char command[256];

    unsetenv("CONVERSATIONS_VERSION");
    unsetenv("CONVERSATIONS_REVISION");
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    strcpy(root, "/tmp/version.XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof(command),
             "mkdir %s/tools && cp tools/version %s/tools && cp .gitattributes %s", root, root,
             root);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(run("echo 1.2.3-dev >VERSION"), 0);
}

static void teardown(void)
{
    cr_assert_eq(run("rm -rf $PWD"), 0);
}

TestSuite(version, .init = setup, .fini = teardown);

static void commit(void)
{
    cr_assert_eq(run("{ [ -e .git ] || git init -q; } && git add -A &&"
                     " git -c user.name=A -c user.email=a@b.example commit -q -m x"),
                 0, "%s", printed);
}

Test(version, is_that_of_the_file_by_default)
{
    expect("tools/version", "1.2.3-dev");
    expect("tools/version --revision", "unknown");
}

Test(version, holds_the_commit_between_releases)
{
    commit();
    expect("[ \"$(tools/version)\" = 1.2.3-dev.g$(git rev-parse --short=12 HEAD) ]", "");
    expect("[ \"$(tools/version --revision)\" = $(git rev-parse --short=12 HEAD) ]", "");
    cr_assert_eq(run("echo >>VERSION"), 0);
    expect("[ \"$(tools/version)\" = 1.2.3-dev.g$(git rev-parse --short=12 HEAD)-dirty ]", "");
}

Test(version, counts_the_commits_after_a_release)
{
    commit();
    cr_assert_eq(run("git tag v1.2.2 && git tag other"), 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(run("echo '# changed' >>.gitattributes"), 0);
        commit();
    }
    cr_assert_eq(run("git tag another"), 0);
    expect("[ \"$(tools/version)\" = 1.2.3-dev.2.g$(git rev-parse --short=12 HEAD) ]", "");
    expect("[ \"$(tools/version --revision)\" = $(git rev-parse --short=12 HEAD) ]", "");
    cr_assert_eq(run("echo >>VERSION"), 0);
    expect("[ \"$(tools/version)\" = 1.2.3-dev.2.g$(git rev-parse --short=12 HEAD)-dirty ]", "");
}

Test(version, is_dirty_with_a_source_that_git_does_not_know)
{
    commit();
    cr_assert_eq(run("mkdir services && touch notes"), 0);
    expect("[ \"$(tools/version --revision)\" = $(git rev-parse --short=12 HEAD) ]", "");
    cr_assert_eq(run("touch services/new.c"), 0);
    expect("[ \"$(tools/version --revision)\" = $(git rev-parse --short=12 HEAD)-dirty ]", "");
    expect("[ \"$(tools/version)\" = 1.2.3-dev.g$(git rev-parse --short=12 HEAD)-dirty ]", "");
}

Test(version, of_a_release_is_its_number)
{
    cr_assert_eq(run("echo 1.2.3 >VERSION"), 0);
    commit();
    cr_assert_eq(run("git tag v9.9.9"), 0);
    expect("tools/version", "1.2.3");
    expect("[ \"$(tools/version --revision)\" = $(git rev-parse --short=12 HEAD) ]", "");
    cr_assert_eq(run("echo '# changed' >>.gitattributes"), 0);
    expect("tools/version", "1.2.3-dirty");
}

Test(version, needs_no_git)
{
    commit();
    cr_assert_eq(run("mkdir bin && ln -s $(command -v bash) $(command -v dirname) bin/"), 0, "%s",
                 printed);
    expect("PATH=$PWD/bin tools/version", "1.2.3-dev");
    expect("PATH=$PWD/bin tools/version --revision", "unknown");
}

Test(version, is_known_in_an_archive)
{
    commit();
    cr_assert_eq(run("mkdir out && git archive HEAD | tar -x -C out"), 0, "%s", printed);
    expect("[ \"$(out/tools/version)\" = 1.2.3-dev.g$(git rev-parse --short=12 HEAD) ]", "");
}

Test(version, is_that_of_no_other_repository_around)
{
    commit();
    cr_assert_eq(run("mkdir -p in/tools && cp tools/version in/tools && cp VERSION in"), 0);
    expect("in/tools/version --revision", "unknown");
}

Test(version, can_be_set_by_the_environment)
{
    commit();
    expect("CONVERSATIONS_VERSION=4.5.6-x.7 tools/version", "4.5.6-x.7");
    expect("CONVERSATIONS_REVISION=abc tools/version", "1.2.3-dev.gabc");
    expect("CONVERSATIONS_VERSION=4.5.6 CONVERSATIONS_REVISION=abc tools/version --settings",
           "CONVERSATIONS_VERSION=4.5.6\nCONVERSATIONS_REVISION=abc");
}

Test(version, is_refused_if_it_is_malformed)
{
    static const char *const wrong[] = {"1.2",        "v1.2.3",   "1.02.3",      "1.2.3-",
                                        "1.2.3-a..b", "1.2.3-01", "1.2.3+build", "1.2.3\\\""};
    char command[128];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        snprintf(command, sizeof(command), "CONVERSATIONS_VERSION='%s' tools/version", wrong[i]);
        cr_expect_eq(run(command), 2, "%s", wrong[i]);
    }
    cr_expect_eq(run("CONVERSATIONS_REVISION='a\"b' tools/version"), 2);
    cr_expect_eq(run("tools/version --odd"), 2);
}

Test(version, does_not_rewrite_the_source_unless_it_changes)
{
    expect("tools/version --source v.c && grep -c 1.2.3-dev v.c", "1");
    cr_assert_eq(run("touch -d 2001-01-01 v.c && tools/version --source v.c"), 0);
    expect("stat -c %y v.c | cut -c-4", "2001");
    expect("echo 1.2.4-dev >VERSION && tools/version --source v.c && grep -c 1.2.4-dev v.c", "1");
}

/* tools/check-compose, tools/check-kubernetes and the client tests in tests/api check that the
   version is in these places. */
Test(version, is_set_wherever_it_is_named)
{
    char command[512];

    snprintf(
        command, sizeof(command),
        "cp --parents VERSION docker-compose.yml deploy/compose/cell2.yml deploy/docker/Dockerfile"
        " deploy/kubernetes/base/kustomization.yaml"
        " clients/python/src/conversations_client/version.py clients/typescript/src/version.ts"
        " clients/typescript/package.json clients/typescript/package-lock.json %s",
        root);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(run("tools/version --set 9.8.7-dev"), 0, "%s", printed);
    expect("cat VERSION", "9.8.7-dev");
    expect("grep -rF 9.8.7-dev docker-compose.yml | wc -l", "3");
    expect("grep -rF 9.8.7-dev deploy | wc -l", "3");
    expect("grep -rF 9.8.7-dev clients | wc -l", "5");
    cr_expect_eq(run("tools/version --set 9.8"), 2);
    expect("cat VERSION", "9.8.7-dev");
    cr_assert_eq(run("echo '\"version\": \"9.8.7-dev\"' >>clients/typescript/package-lock.json &&"
                     " tools/version --set 9.8.7"),
                 0, "%s", printed);
    expect("grep -cF 9.8.7-dev clients/typescript/package-lock.json", "1");
}
