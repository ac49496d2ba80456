/* Settings of operators: each is read as intended or refused with a message, and a value in a file
   has the same effect as one given directly. The input is a letter and the value, or the contents
   of a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/ip.h"
#include "common/crypto/cursor.h"
#include "common/db/db.h"
#include "common/db/db_hosts.h"
#include "common/db/db_url.h"
#include "common/net/dns.h"
#include "common/trace/exporter.h"
#include "services/audit/chain.h"
#include "services/webhook/secret.h"
#include "tests/fuzz/fuzz.h"

enum { VALUE_MAX = 512, SILENCES = 4 };

#define SECRET "a secret that is long enough for a fuzzer"

/* -- the table --------------------------------------------------------------------------------- */

struct settings {
    const char *text;
    int64_t number;
    bool truth;
};

static const struct setting text_setting = {.name = "FUZZ",
                                            .type = SETTING_STRING,
                                            .offset = offsetof(struct settings, text),
                                            .fallback = ""};
static const struct setting number_setting = {.name = "FUZZ",
                                              .type = SETTING_INT,
                                              .offset = offsetof(struct settings, number),
                                              .fallback = "0",
                                              .min = -5,
                                              .max = INT64_MAX};
static const struct setting truth_setting = {.name = "FUZZ",
                                             .type = SETTING_BOOL,
                                             .offset = offsetof(struct settings, truth),
                                             .fallback = "0"};

/* The environment refers to these two buffers: setenv() would keep a copy of every value. */
static char direct[sizeof("FUZZ=") + VALUE_MAX], file[64];

static bool load(const struct setting *setting, struct settings *out)
{
    char error[256] = "";
    enum status st = config_load(setting, 1, out, error);

    must((st == ST_OK) == (error[0] == '\0'));
    return st == ST_OK;
}

static void give(const char *value, const char *path)
{
    must(strlen(value) <= VALUE_MAX);
    strcpy(direct, "FUZZ=");
    strcat(direct, value);
    strcpy(file, "FUZZ_FILE=");
    strcat(file, path);
    must(putenv(direct) == 0 && putenv(file) == 0);
}

static void check_number(const char *value)
{
    struct settings settings = {.number = 0};
    long long expected;
    char *end;

    if (!load(&number_setting, &settings))
        return;
    errno = 0;
    expected = value[0] != '\0' ? strtoll(value, &end, 10) : 0;
    must(errno == 0 && settings.number == expected && expected >= -5);
}

static const char path[] = "/proc/self/fd/1000";

static void open_file(const void *contents, size_t n)
{
    const int fd = memfd_create("value", MFD_CLOEXEC);

    must(fd >= 0 && dup2(fd, 1000) == 1000 && write(fd, contents, n) == (ssize_t)n);
    must(close(fd) == 0);
}

/* A file has the same effect as the variable. */
static void check_file(const char *value, bool is_sound, const char *expected)
{
    struct settings settings = {.text = NULL};

    open_file(value, strlen(value));
    must(write(1000, "\n", 1) == 1);
    give(value, path);
    must(value[0] == '\0' || !load(&text_setting, &settings)); /* given both ways */
    give("", path);
    must(load(&text_setting, &settings) == is_sound);
    must(!is_sound || strcmp(settings.text, expected) == 0);
    free((char *)settings.text);
    close(1000);
    must(!load(&text_setting, &settings));
}

/* Only line ends at the end are not part of the value, which is one line without zero bytes. */
static void check_contents(const uint8_t *contents, size_t n)
{
    struct settings settings = {.text = NULL};
    bool is_line;

    open_file(contents, n);
    give("", path);
    while (n > 0 && (contents[n - 1] == '\n' || contents[n - 1] == '\r'))
        n--;
    is_line = memchr(contents, '\0', n) == NULL && memchr(contents, '\n', n) == NULL &&
              memchr(contents, '\r', n) == NULL;
    if (load(&text_setting, &settings))
        must(is_line && strlen(settings.text) == n && memcmp(settings.text, contents, n) == 0);
    else
        must(!is_line || strchr(" \t\xef", contents[0]) != NULL || contents[n - 1] == ' ' ||
             contents[n - 1] == '\t');
    free((char *)settings.text);
    close(1000);
}

static void check_table(const char *value)
{
    struct settings settings = {.text = NULL};
    bool is_sound;

    give(value, "");
    is_sound = load(&text_setting, &settings);
    must(!is_sound || str_starts(str_of(value), str_of(settings.text)));
    check_number(value);
    if (load(&truth_setting, &settings))
        must(value[0] == '\0' || strchr("tf10\r\n", value[0]) != NULL);
    check_file(value, is_sound, is_sound ? settings.text : "");
    free((char *)settings.text);
}

/* -- what programs read from the text ---------------------------------------------------------- */

/* If there are several hosts, they are tried one by one, in turn; a second time if none is a
   standby, which the URL only prefers. Hosts that keep silent rest. */
static void check_database(const char *url)
{
    struct db_hosts hosts;
    size_t tries;

    if (db_url_fault(url) != NULL)
        return;
    db_hosts_init(&hosts, url, false);
    must(hosts.n >= 1 && hosts.n <= DB_HOSTS_MAX);
    tries = hosts.attrs == ATTRS_PREFER_STANDBY ? 2 * hosts.n : hosts.n;
    for (size_t i = 0; i < tries; i++) {
        const struct db_host *at = &hosts.all[i % hosts.n];

        must(db_hosts_current(&hosts) == at);
        must(hosts.n == 1 || at->host != NULL || at->hostaddr != NULL);
        must(db_hosts_name(&hosts) == (at->has_name ? at->host : NULL));
        must(db_hosts_fail(&hosts, false, 1) == (i + 1 == tries));
    }
    for (size_t i = 0; i < SILENCES * hosts.n; i++) {
        (void)db_hosts_fail(&hosts, true, 1);
        must(db_hosts_current(&hosts) < hosts.all + hosts.n);
    }
    must(db_hosts_trouble(&hosts) != NULL);
    db_hosts_release(&hosts);
}

static void check_keys(const char *value)
{
    struct cursor_keys cursors;
    struct secret_keys secrets;
    struct audit_keys audit;

    must(cursor_keys_read(value, NULL, &cursors) == (strlen(value) >= CURSOR_SECRET_MIN));
    if (secret_keys_read(str_of(value), STR_NONE, &secrets))
        must(strlen(value) == 2 * sizeof(secrets.at[0].b));
    must(audit_keys_read(value, NULL, &audit) == (strlen(value) >= SIGNING_SECRET_MIN));
    signing_key_free(audit.own);
    if (audit_keys_read(SECRET, value, &audit)) {
        must(audit.n >= 1 && audit.n <= AUDIT_KEYS_MAX);
        must(audit_keys_find(&audit, str_of(audit.known[audit.n - 1].id)) != NULL);
    }
    signing_key_free(audit.own);
}

static void check_traces(const char *value)
{
    struct trace_settings settings = {.endpoint = value, .headers = "", .ca_file = ""};
    char error[256] = "";
    struct post *post = post_open(&settings, error);

    must((post != NULL) == (error[0] == '\0'));
    if (post != NULL)
        post_close(post);
    settings = (struct trace_settings){
        .endpoint = "http://127.0.0.1:4318", .headers = value, .ca_file = ""};
    post = post_open(&settings, error);
    if (post != NULL)
        post_close(post);
}

static void check_level(const char *value)
{
    enum log_level level = LOG_OFF;

    must(log_level_parse(value, &level) == (level != LOG_OFF));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char value[VALUE_MAX + 1];

    fuzz_quiet();
    if (n == 0 || n > VALUE_MAX)
        return 0;
    if (data[0] == 'f')
        check_contents(data + 1, n - 1);
    if (memchr(data + 1, '\0', n - 1) != NULL)
        return 0;
    memcpy(value, data + 1, n - 1);
    value[n - 1] = '\0';
    switch (data[0]) {
    case 't':
        check_table(value);
        break;
    case 'd':
        check_database(value);
        break;
    case 'k':
        check_keys(value);
        break;
    case 'o':
        check_traces(value);
        break;
    case 'l':
        check_level(value);
        break;
    case 'n': /* name servers; opening them reads files */
        dns_close(dns_open(&(struct dns_options){.servers = value}));
        break;
    }
    return 0;
}
