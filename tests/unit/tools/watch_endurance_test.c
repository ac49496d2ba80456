/* tests/faults/watch-endurance report: what it calls growth, and what it calls slower. */
#include "tests/unit/tools/check_tree.h"

enum { RUN_S = 1200, LIFE_S = 300, RSS_KB = 40000, MS = 10 };

TestSuite(watch_endurance, .init = open_tree, .fini = remove_tree);

static FILE *file_in_tree(const char *name)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    file = fopen(path, "we");
    cr_assert_not_null(file);
    return file;
}

/* A process that is started again every five minutes: each time its memory grows by so many kB a minute. */
static void write_samples(int rss_kb, int disk_kb)
{
    FILE *file = file_in_tree("samples");

    for (int s = 0; s <= RUN_S; s += 10)
        fprintf(file,
                "{\"name\":\"audit-0\",\"pid\":%d,\"at\":%d,\"rss_kb\":%d,\"descriptors\":20,"
                "\"connections\":9,\"series\":null,\"disk_kb\":%d}\n",
                100 + s / LIFE_S, s, RSS_KB + rss_kb * (s % LIFE_S) / 60, disk_kb * s / 60);
    cr_assert_eq(fclose(file), 0);
}

/* A request a second, which takes so much longer in the second half. */
static void write_latencies(int slower_ms)
{
    FILE *file = file_in_tree("latencies");

    for (int s = 0; s <= RUN_S; s++)
        fprintf(file, "%d %d\n", s, s < RUN_S / 2 ? MS : MS + slower_ms);
    cr_assert_eq(fclose(file), 0);
}

/* The exit status; what it says is in `output`. */
static int report(void)
{
    char command[256];
    FILE *said;
    int status;

    snprintf(command, sizeof(command),
             "tests/faults/watch-endurance report %s/samples %s/latencies %d 2>&1", root, root,
             RUN_S);
    said = popen(command, "re");
    cr_assert_not_null(said);
    output[fread(output, 1, sizeof(output) - 1, said)] = '\0';
    status = pclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(watch_endurance, finds_nothing_in_what_stays_as_it_is)
{
    write_samples(100, 100);
    write_latencies(1);
    cr_expect_eq(report(), 0, "%s", output);
}

/* What all lives of a process have in common is its growth, though each begins again. */
Test(watch_endurance, names_what_grows)
{
    write_samples(1000, 100);
    write_latencies(1);
    cr_expect_eq(report(), 1);
    cr_expect_not_null(strstr(output, "GROWS"), "%s", output);
}

Test(watch_endurance, names_a_disk_that_fills)
{
    write_samples(100, 1000);
    write_latencies(1);
    cr_expect_eq(report(), 1);
    cr_expect_not_null(strstr(output, "FILLS"), "%s", output);
}

Test(watch_endurance, names_what_becomes_slower)
{
    write_samples(100, 100);
    write_latencies(3);
    cr_expect_eq(report(), 1);
    cr_expect_not_null(strstr(output, "SLOWER"), "%s", output);
}

Test(watch_endurance, says_why_no_partition_was_made)
{
    FILE *file;
    char path[64];

    write_samples(100, 100);
    write_latencies(1);
    snprintf(path, sizeof(path), "%s/samples", root);
    file = fopen(path, "ae");
    cr_assert_not_null(file);
    fputs("{\"name\":\"partitions\",\"made\":0,\"why\":\"it was busy\"}\n", file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_eq(report(), 1);
    cr_expect_not_null(strstr(output, "not made: it was busy"), "%s", output);
}

Test(watch_endurance, judges_nothing_by_nothing)
{
    write_samples(100, 100);
    cr_assert_eq(fclose(file_in_tree("latencies")), 0);
    cr_expect_eq(report(), 1);
    cr_expect_not_null(strstr(output, "nothing to judge"), "%s", output);
}
