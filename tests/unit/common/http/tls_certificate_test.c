#include "common/http/tls_certificate.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/file_watch.h"
#include "tests/support/measure.h"

enum { WAITS_US = 30 * 1000 * 1000, TURN_MS = 10 };

static char folder[] = "/tmp/tls-certificate-test-XXXXXX";
static char cert[64], key[64];
static struct tls_certificate *certificate;
static SSL_CTX *tls;

static void run(const char *command)
{
    char text[512];

    snprintf(text, sizeof(text), "%s %s && cd %s && %s", "tests/support/make-certificates", folder,
             folder, command);
    cr_assert_eq(system(text), 0, "%s", text);
}

static void in_folder(const char *command)
{
    char text[512];

    snprintf(text, sizeof(text), "cd %s && %s", folder, command);
    cr_assert_eq(system(text), 0, "%s", text);
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    run("cp good.pem cert.pem && cp server.key key.pem");
    snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
    snprintf(key, sizeof(key), "%s/key.pem", folder);
    certificate = tls_certificate_open(cert, key);
    cr_assert_not_null(certificate);
    tls_certificate_use(certificate, &tls);
}

static void tear_down(void)
{
    SSL_CTX_free(tls);
    tls_certificate_free(certificate);
    in_folder("rm -r $PWD");
}

TestSuite(tls_certificate, .init = set_up, .fini = tear_down);

/* As listeners do it, for each connection. True: others came into use within the time. */
static bool is_renewed(int64_t within_us)
{
    const SSL_CTX *const before = tls;
    const int64_t until_us = clock_mono_us() + within_us;

    while (tls == before && clock_mono_us() < until_us) {
        (void)poll(NULL, 0, TURN_MS);
        tls_certificate_use(certificate, &tls);
    }
    return tls != before;
}

static bool is_of(const char *file)
{
    char path[96];
    X509 *wanted;
    FILE *from;
    bool is;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    from = fopen(path, "re");
    cr_assert_not_null(from);
    wanted = PEM_read_X509(from, NULL, NULL, NULL);
    fclose(from);
    is = X509_cmp(SSL_CTX_get0_certificate(tls), wanted) == 0;
    X509_free(wanted);
    return is;
}

Test(tls_certificate, is_that_of_the_files)
{
    cr_expect(is_of("good.pem"));
    (void)is_renewed(2 * (int64_t)FILE_WATCH_US); /* they were written just now */
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US), "they have not changed");
    cr_expect_null(tls_certificate_open(cert, "/dev/null"));
    cr_expect_null(tls_certificate_open("/nowhere", key));
}

Test(tls_certificate, is_read_again_when_it_was_replaced)
{
    in_folder("cp other.pem new.pem && mv new.pem cert.pem");
    cr_assert(is_renewed(WAITS_US));
    cr_expect(is_of("other.pem"));
    in_folder("cat self.pem >cert.pem");
    cr_assert(is_renewed(WAITS_US));
    cr_expect(is_of("self.pem"));
}

/* As Kubernetes replaces a secret: all its files at once, by a link to another folder. */
Test(tls_certificate, is_read_again_when_a_link_leads_elsewhere)
{
    in_folder("mkdir a b && mv cert.pem key.pem a && cp server.key b/key.pem &&"
              " cp other.pem b/cert.pem && ln -s a now && ln -s now/cert.pem now/key.pem .");
    cr_assert(is_renewed(WAITS_US));
    in_folder("ln -s b then && mv -T then now");
    cr_assert(is_renewed(WAITS_US));
    cr_expect(is_of("other.pem"));
}

Test(tls_certificate, stays_until_both_files_can_be_used_together)
{
    in_folder("mv good.pem before.pem");
    in_folder("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out another.key &&"
              " openssl req -x509 -new -key another.key -days 2 -subj /CN=a -out another.pem &&"
              " cp another.pem cert.pem");
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US), "its key has not come");
    cr_expect(is_of("before.pem"));
    in_folder("cp another.key key.pem");
    cr_assert(is_renewed(WAITS_US));
    cr_expect(is_of("another.pem"));
    in_folder("echo none >cert.pem");
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US), "that is no certificate");
    in_folder("rm cert.pem");
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US), "it is gone");
    in_folder("cp another.pem cert.pem");
    cr_assert(is_renewed(WAITS_US));
}

static bool is_logged(const char *file, const char *why)
{
    char command[256];

    snprintf(command, sizeof(command), "grep -q '\"error\":\"%s/%s: %s' %s/log", folder, file, why,
             folder);
    return system(command) == 0;
}

Test(tls_certificate, names_the_file_that_cannot_be_used)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/log", folder);
    cr_assert_not_null(freopen(path, "ae", stderr));
    in_folder("rm key.pem");
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US));
    cr_expect(is_logged("key.pem", "No such file or directory"));
    in_folder("cp server.key key.pem && echo none >cert.pem");
    cr_expect_not(is_renewed(2 * (int64_t)FILE_WATCH_US));
    cr_expect(is_logged("cert.pem", "no start line"));
}
