#include "common/base/file_watch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { WAITS_US = 30 * 1000 * 1000, SOON_US = 5000 };

static char folder[] = "/tmp/file-watch-test-XXXXXX";
static struct file_watch watch;

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "we");

    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Without the second that must pass between two looks. */
static enum file_news look(void)
{
    watch.due_us = 0;
    return file_watch_look(&watch);
}

static bool is_seen(void)
{
    const int64_t until_us = clock_mono_us() + WAITS_US;

    while (clock_mono_us() < until_us)
        if (look() == FILES_HAVE_CHANGED)
            return look() == FILES_ARE_SAME; /* seen once */
    return false;
}

/* It would count as changed at the next look. */
static bool has_young_files(void)
{
    for (size_t i = 0; i < FILE_WATCH_FILES; i++)
        if (watch.read[i].size >= 0 && watch.read[i].changed.tv_sec == 0)
            return true;
    return false;
}

/* From here on every change is one of the test's. */
static void begin(const char *first, const char *second)
{
    do
        watch = file_watch_of(first, second);
    while (has_young_files());
}

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    write_file("one", "one");
}

static void tear_down(void)
{
    char text[64];

    snprintf(text, sizeof(text), "rm -r %s", folder);
    cr_assert_eq(system(text), 0);
}

TestSuite(file_watch, .init = set_up, .fini = tear_down);

Test(file_watch, sees_a_file_that_is_written_again)
{
    begin("one", NULL);
    write_file("one", "more");
    cr_expect(is_seen());
    write_file("one", "less"); /* as many bytes */
    cr_expect(is_seen());
}

Test(file_watch, sees_a_file_that_is_renamed_over_it)
{
    write_file("two", "two");
    begin("one", NULL);
    cr_assert_eq(rename("two", "one"), 0);
    cr_expect(is_seen());
}

Test(file_watch, sees_a_file_that_goes_and_comes_back)
{
    begin("none", "one");
    cr_assert_eq(unlink("one"), 0);
    cr_expect(is_seen());
    write_file("one", "one");
    cr_expect(is_seen());
    write_file("none", "some");
    cr_expect(is_seen());
}

/* As Kubernetes replaces a secret: all its files at once, by a link to another folder. */
Test(file_watch, sees_a_link_that_leads_elsewhere)
{
    cr_assert(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0);
    write_file("a/secret", "one");
    write_file("b/secret", "two");
    cr_assert(symlink("a", "now") == 0 && symlink("now/secret", "secret") == 0);
    begin("secret", NULL);
    cr_assert(symlink("b", "then") == 0 && rename("then", "now") == 0);
    cr_expect(is_seen());
}

/* Someone sets the time back that `ls` shows, as `cp --preserve` does. */
Test(file_watch, sees_a_change_that_keeps_the_time_of_the_last_one)
{
    struct stat was;

    begin("one", NULL);
    cr_assert_eq(stat("one", &was), 0);
    write_file("one", "two");
    cr_assert_eq(utimensat(AT_FDCWD, "one", (struct timespec[2]){was.st_atim, was.st_mtim}, 0), 0);
    cr_expect(is_seen());
}

/* Both changes may have the same time: the clock of the file system has steps. */
Test(file_watch, sees_what_is_written_right_after_it_was_made)
{
    for (int i = 0; i < 5; i++) {
        write_file("one", "one");
        watch = file_watch_of("one", NULL);
        write_file("one", "two");
        cr_expect(is_seen());
    }
}

Test(file_watch, does_not_report_a_file_that_is_being_written)
{
    const int64_t until_us = clock_mono_us() + WAITS_US;
    enum file_news news;
    int64_t written_us;

    begin("one", NULL);
    do {
        written_us = clock_us();
        write_file("one", "one");
        news = look();
    } while (clock_us() - written_us > SOON_US && clock_mono_us() < until_us);
    cr_expect_eq(news, FILES_ARE_SAME);
    cr_expect(is_seen());
}

Test(file_watch, asks_for_another_attempt_until_one_succeeds)
{
    begin("one", NULL);
    file_watch_failed(&watch);
    cr_expect_eq(file_watch_look(&watch), FILES_ARE_SAME, "too early");
    cr_expect_eq(look(), FILES_NEED_RETRY);
    file_watch_failed(&watch);
    cr_expect_eq(look(), FILES_NEED_RETRY);
    cr_expect_eq(look(), FILES_ARE_SAME);
    file_watch_failed(&watch);
    write_file("one", "two");
    cr_expect(is_seen(), "a change comes before another attempt");
}
