/* What the Makefile rebuilds, and what it leaves alone. In a separate folder. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char out[64];

static void setup(void)
{
    strcpy(out, "/tmp/makefile.XXXXXX");
    cr_assert_not_null(mkdtemp(out));
}

static void teardown(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", out);
    cr_assert_eq(system(command), 0);
}

TestSuite(makefile, .init = setup, .fini = teardown);

/* Makes one file of the folder, with this environment and these variables on the command line;
   returns its contents. */
static const char *make(const char *environment, const char *file, const char *variables)
{
    static char text[4096];
    char command[512], path[128];
    FILE *made;
    size_t n;

    snprintf(command, sizeof(command), "%s make OUT=%s %s/%s %s >%s/log 2>&1", environment, out,
             out, file, variables, out);
    cr_assert_eq(system(command), 0, "%s", command);
    snprintf(path, sizeof(path), "%s/%s", out, file);
    made = fopen(path, "re");
    cr_assert_not_null(made);
    n = fread(text, 1, sizeof(text) - 1, made);
    text[n] = '\0';
    fclose(made);
    return text;
}

static struct timespec time_of(const char *file)
{
    char path[128];
    struct stat facts;

    snprintf(path, sizeof(path), "%s/%s", out, file);
    cr_assert_eq(stat(path, &facts), 0);
    return facts.st_mtim;
}

static void expect_kept(const char *file, struct timespec before)
{
    struct timespec now = time_of(file);

    cr_expect(now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec, "%s", file);
}

Test(makefile, writes_the_flags_again_when_they_have_changed)
{
    struct timespec before;

    cr_assert_not_null(strstr(make("", "flags", "EXTRA_CFLAGS=-DONE"), "-DONE"));
    before = time_of("flags");
    cr_assert_not_null(strstr(make("", "flags", "EXTRA_CFLAGS=-DONE"), "-DONE"));
    expect_kept("flags", before);
    cr_assert_not_null(strstr(make("", "flags", "EXTRA_CFLAGS=-DTWO"), "-DTWO"));
}

Test(makefile, compiles_the_version_again_when_it_has_changed)
{
    static const char one[] = "CONVERSATIONS_VERSION=1.0.0 CONVERSATIONS_REVISION=a",
                      two[] = "CONVERSATIONS_VERSION=1.0.1 CONVERSATIONS_REVISION=b";
    struct timespec before;

    (void)make(one, "gen/version.o", "");
    before = time_of("gen/version.o");
    (void)make(one, "gen/version.o", "");
    expect_kept("gen/version.o", before);
    (void)make(two, "gen/version.o", "");
    cr_assert_not_null(strstr(make(two, "gen/version.c", ""), "\"1.0.1\""));
    cr_assert(time_of("gen/version.o").tv_sec > before.tv_sec ||
              time_of("gen/version.o").tv_nsec != before.tv_nsec);
}

/* In a copy of the clone: a program, and what tools generate. */
Test(makefile, builds_at_a_path_with_a_blank_and_an_umlaut)
{
    char command[512];

    snprintf(command, sizeof(command),
             "to='%s/a clone/für mich' && mkdir -p \"$to\" &&"
             " cp -r Makefile VERSION common proto services tools deploy \"$to\" && cd \"$to\" &&"
             " make OUT=out out/bin/supervisor out/gen/search_sql.o out/gen/dashboard_assets.c"
             " out/gen/migrations.c compile_commands.json >log 2>&1 || { tail log >&2; exit 1; }",
             out);
    cr_assert_eq(system(command), 0);
}
