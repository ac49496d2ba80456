/* tools/check-changelog finds what is missing from CHANGELOG.md, in a tree of the test's own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char root[64];

static int shell(const char *command)
{
    char whole[1024];
    int status;

    snprintf(whole, sizeof(whole), "cd %s && { %s; }", root, command);
    status = system(whole);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_file(const char *path, const char *text)
{
    char full[160];
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    file = fopen(full, "we");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The exit status of the check; its output is in `log`. */
static int check(const char *changes)
{
    char command[160];
    int status;

    write_file("CHANGELOG.md", changes);
    snprintf(command, sizeof(command), "tools/check-changelog %s >%s/log 2>&1", root, root);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_finding(const char *changes, const char *finding)
{
    char command[256];

    cr_expect_eq(check(changes), 1, "%s", finding);
    snprintf(command, sizeof(command), "[ $(wc -l <log) = 1 ] && grep -qF '%s' log", finding);
    cr_expect_eq(shell(command), 0, "not found: %s", finding);
}

/* The users a and b; b may send `subject`. */
static void write_users(const char *subject)
{
    char text[512];

    snprintf(text, sizeof(text),
             "authorization {\n  users: [\n    {\n      user: \"a\", password: $A\n    }\n"
             "    {\n      user: \"b\", password: $B\n      permissions: {\n"
             "        publish: { allow: [\n          \"%s\"\n        ] }\n      }\n    }\n"
             "  ]\n}\n",
             subject);
    write_file("deploy/kubernetes/base/users.conf", text);
}

static void commit(void)
{
    cr_assert_eq(shell("{ [ -e .git ] || git init -q; } && git add -A && git -c user.name=A"
                       " -c user.email=a@b.example commit -q --allow-empty -m x"),
                 0);
}

static void setup(void)
{
    strcpy(root, "/tmp/check-changelog.XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    cr_assert_eq(shell("mkdir -p services/a/migrations services/b/migrations"
                       " deploy/kubernetes/base &&"
                       " touch services/a/migrations/0001_first.sql"
                       "       services/b/migrations/0001_other.sql"),
                 0);
    write_file("VERSION", "1.2.0-dev\n");
    write_users("v1.one");
}

static void teardown(void)
{
    cr_assert_eq(shell("rm -rf $PWD"), 0);
}

TestSuite(check_changelog, .init = setup, .fini = teardown);

#define EMPTY "### Migrations\n\n### Users of the bus\n\n### Clients\n\n"
#define PAST  "## 1.1.0, 2026-01-01\n\nThe first release.\n"
#define GOOD  "# Changes\n\n## 1.2.0, not released yet\n\n" EMPTY PAST

/* The tree as it is now becomes the previous release. */
static void release_it(void)
{
    commit();
    cr_assert_eq(shell("git tag v1.1.0"), 0);
}

Test(check_changelog, is_content_when_nothing_has_changed)
{
    cr_expect_eq(check(GOOD), 0, "without git");
    release_it();
    cr_expect_eq(check(GOOD), 0);
}

Test(check_changelog, asks_nothing_of_the_first_release)
{
    cr_expect_eq(check("# Changes\n\n## 1.2.0, not released yet\n\nWhat it is.\n"), 0);
    commit();
    cr_expect_eq(check("# Changes\n\n## 1.2.0, not released yet\n\nWhat it is.\n"), 0);
}

Test(check_changelog, reports_missing_and_unknown_migrations)
{
    release_it();
    cr_assert_eq(shell("touch services/b/migrations/0002_new.sql"), 0);
    expect_finding(GOOD, "`b/0002_new`, which v1.1.0 does not have");
    expect_finding(GOOD "- `b/0002_new`: in the wrong section.\n", "which v1.1.0 does not have");
    cr_expect_eq(check("## 1.2.0, not released yet\n### Migrations\n- `b/0002_new`: more.\n"
                       "### Users of the bus\n### Clients\n" PAST),
                 0);
    expect_finding("## 1.2.0, not released yet\n### Migrations\n- `b/0002_new`: more.\n"
                   "- `b/0002_new`: again.\n### Users of the bus\n### Clients\n" PAST,
                   "b/0002_new, or it is listed twice");
    cr_assert_eq(shell("rm services/b/migrations/0002_new.sql"), 0);
    expect_finding(GOOD "- `b/0002_new`: gone.\n", "there is no migration b/0002_new");
}

Test(check_changelog, misses_a_user_of_the_bus)
{
    release_it();
    write_users("v1.two");
    expect_finding(GOOD, "the user b");
    cr_expect_eq(check("## 1.2.0, not released yet\n### Migrations\n### Users of the bus\n- `b`\n"
                       "### Clients\n" PAST),
                 0);
}

Test(check_changelog, wants_the_release_that_is_prepared_first_and_whole)
{
    expect_finding("## 1.1.0, not released yet\n" EMPTY PAST, "the first section is \"1.1.0");
    expect_finding("## 1.2.0, not released yet\n### Migrations\n### Users of the bus\n" PAST,
                   "has no part \"Clients\"");
}

Test(check_changelog, wants_the_date_of_a_release)
{
    write_file("VERSION", "1.2.0\n");
    expect_finding(GOOD, "and its date");
    cr_expect_eq(check("## 1.2.0, 2026-02-03\n" EMPTY PAST), 0);
}

Test(check_changelog, refuses_to_release_a_version_twice)
{
    static const char released[] = "## 1.2.0, 2026-02-03\n" EMPTY PAST;

    write_file("VERSION", "1.2.0\n");
    commit();
    cr_assert_eq(shell("git tag v1.2.0"), 0);
    cr_expect_eq(check(released), 0);
    commit();
    expect_finding(released, "1.2.0 was released by another commit");
    write_file("VERSION", "1.2.0-dev\n");
    expect_finding(GOOD, "1.2.0 was released by another commit");
    write_file("VERSION", "1.3.0-dev\n");
    cr_expect_eq(check("## 1.3.0, not released yet\n" EMPTY PAST), 0, "of another release");
}
