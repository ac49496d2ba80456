/* Certificates in files that are renewed, and those that are told. */
#include "common/crypto/certificates.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/metrics.h"

enum { DAY_S = 24 * 3600 };

static char folder[] = "/tmp/certificates-test-XXXXXX";
static struct arena arena;

static void in_folder(const char *command)
{
    cr_assert_eq(system(arena_printf(&arena, "cd %s && %s", folder, command)), 0, "%s", command);
}

static const char *file(const char *name)
{
    return arena_printf(&arena, "%s/%s", folder, name);
}

static void set_up(void)
{
    arena_init(&arena, 16 << 20);
    cr_assert_not_null(mkdtemp(folder));
    in_folder("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem");
    for (int days = 1; days <= 3; days++)
        in_folder(arena_printf(&arena,
                               "openssl req -x509 -new -key key.pem -days %d -subj /CN=a -out "
                               "%d.pem",
                               days, days));
}

static void tear_down(void)
{
    in_folder("rm -r $PWD");
    arena_release(&arena);
}

TestSuite(certificates, .init = set_up, .fini = tear_down);

/* In how many days, rounded; -1: there is no such series. */
static int64_t days_left(const char *name)
{
    const char *series = arena_printf(
        &arena, "conversations_certificate_expiry_timestamp_seconds{certificate=\"%s\"} ", name);
    const char *found;
    struct buf out;

    certificates_read();
    buf_init(&out, &arena, 1024);
    metrics_render(&out);
    found = strstr(arena_cstr(&arena, buf_str(&out)), series);
    if (found == NULL)
        return -1;
    return (strtoll(found + strlen(series), NULL, 10) - time(NULL) + DAY_S / 2) / DAY_S;
}

Test(certificates, of_a_file_are_read_again_each_time)
{
    certificates_open();
    in_folder("cp 1.pem used.pem");
    certificates_watch("mine", file("used.pem"));
    cr_expect_eq(days_left("mine"), 1);
    in_folder("cat 2.pem >used.pem");
    cr_expect_eq(days_left("mine"), 2);
    in_folder("mv 3.pem used.pem");
    cr_expect_eq(days_left("mine"), 3);
}

Test(certificates, of_a_file_with_several_count_from_the_first_to_expire)
{
    certificates_open();
    in_folder("cat 3.pem key.pem 2.pem 3.pem >all.pem");
    certificates_watch("all", file("all.pem"));
    cr_expect_eq(days_left("all"), 2);
}

Test(certificates, of_a_file_that_cannot_be_read_stay_as_they_were)
{
    certificates_open();
    certificates_watch("mine", file("2.pem"));
    certificates_watch("none", file("nowhere.pem"));
    certificates_watch("key", file("key.pem"));
    cr_expect_eq(days_left("mine"), 2);
    cr_expect_eq(days_left("none"), -1);
    cr_expect_eq(days_left("key"), -1);
    in_folder("echo '-----BEGIN CERTIFICATE-----' >2.pem");
    cr_expect_eq(days_left("mine"), 2);
    in_folder("rm 2.pem");
    cr_expect_eq(days_left("mine"), 2);
}

Test(certificates, may_be_told_and_may_come_from_another_file)
{
    certificates_open();
    certificates_watch("empty", "");
    certificates_watch("missing", NULL);
    certificates_show_peer("plain", NULL);
    certificates_show("server", time(NULL) + 5 * DAY_S);
    certificates_watch("mine", file("1.pem"));
    certificates_watch("mine", file("2.pem"));
    cr_expect_eq(days_left("mine"), 2);
    cr_expect_eq(days_left("server"), 5);
    certificates_show("server", time(NULL) + 50 * DAY_S);
    cr_expect_eq(days_left("server"), 50);
    cr_expect_eq(days_left("empty"), -1);
    cr_expect_eq(days_left("missing"), -1);
    cr_expect_eq(days_left("plain"), -1);
}

Test(certificates, of_a_program_without_metrics_are_nobodys_business)
{
    certificates_watch("mine", file("1.pem"));
    certificates_show("server", time(NULL));
    cr_expect_eq(days_left("mine"), -1);
    cr_expect_eq(days_left("server"), -1);
}
