#include "common/runtime/program.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/cell.h"
#include "common/base/log.h"
#include "common/base/log_writer.h"
#include "common/base/metrics.h"
#include "common/base/version.h"
#include "common/crypto/certificates.h"
#include "common/crypto/crypto.h"
#include "common/http/admin.h"
#include "common/trace/trace.h"

struct config {
    const char *bus_url;
    struct bus_settings bus_settings;
    const char *admin_address, *log_level, *instance;
    int64_t admin_port;
    struct trace_settings trace;
};

#define AT(member) .offset = offsetof(struct config, member)

static const struct setting settings[] = {
    {.name = "NATS_URL",
     .type = SETTING_STRING,
     AT(bus_url),
     .secret = true,
     .meaning =
         "NATS URL with credentials, nats://USER:PASSWORD@HOST:PORT, or several separated by "
         "commas; USER and PASSWORD are percent-encoded"},
    BUS_SETTINGS(struct config, bus_settings),
    {.name = "ADMIN_ADDRESS",
     .type = SETTING_ADDRESS,
     AT(admin_address),
     .fallback = "127.0.0.1",
     .meaning = "Address of the listener for /livez, /readyz and /metrics"},
    {.name = "ADMIN_PORT",
     .type = SETTING_INT,
     AT(admin_port),
     .fallback = "0",
     .min = 0,
     .max = 65535,
     .meaning = "Port of that listener; 0 = none"},
    {.name = "LOG_LEVEL",
     .type = SETTING_STRING,
     AT(log_level),
     .fallback = "info",
     .meaning = "Lowest level that is logged: debug, info, warning or error"},
    {.name = "SERVICE_INSTANCE",
     .type = SETTING_STRING,
     AT(instance),
     .fallback = "0",
     .meaning = "Distinguishes replicas in the log and in the client lists of the bus and the "
                "database"},
    TRACE_SETTINGS(struct config, trace),
};

/* One program for each process. */
static struct config config;
static struct process process;
static const struct program *program;
static atomic_bool is_stopping;

/* -- settings -------------------------------------------------------------------------------- */

/* The program's own, the most specific first, and then those of every program. */
static size_t list_settings(struct program_settings all[1 + PROGRAM_SETTINGS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < PROGRAM_SETTINGS_MAX; i++)
        if (program->settings[i].n > 0)
            all[n++] = program->settings[i];
    all[n++] = (struct program_settings){settings, ARRAY_SIZE(settings), &config};
    return n;
}

static bool load_settings(char error[256])
{
    struct program_settings all[1 + PROGRAM_SETTINGS_MAX];
    const size_t n = list_settings(all);

    for (size_t i = 0; i < n; i++)
        if (config_load(all[i].table, all[i].n, all[i].into, error) != ST_OK)
            return false;
    return true;
}

static bool check_settings(enum log_level *level, char error[256])
{
    if (log_level_parse(config.log_level, level))
        return true;
    snprintf(error, 256, "LOG_LEVEL must be debug, info, warning or error");
    return false;
}

/* False: the reason is logged. */
static bool read_settings(void)
{
    enum log_level level = LOG_INFO;
    char error[256];
    const bool is_sound = load_settings(error) && check_settings(&level, error);

    process.cell =
        is_sound && program->cell != NULL && !cell_is_main(*program->cell) ? *program->cell : NULL;
    log_open(program->name, config.instance, process.cell, level);
    if (!is_sound)
        LOG(LOG_ERROR, error);
    process.logs_all = level == LOG_DEBUG;
    return is_sound && (program->check == NULL || program->check(program->closure));
}

static int describe_config(void)
{
    struct program_settings all[1 + PROGRAM_SETTINGS_MAX];
    const size_t n = list_settings(all);
    struct setting rows[64];
    size_t n_rows = 0;

    for (size_t i = 0; i < n; i++) {
        must(n_rows + all[i].n <= ARRAY_SIZE(rows));
        memcpy(rows + n_rows, all[i].table, all[i].n * sizeof(*rows));
        n_rows += all[i].n;
    }
    config_describe(rows, n_rows, program->name);
    return EXIT_SUCCESS;
}

static int print_config(void)
{
    struct program_settings all[1 + PROGRAM_SETTINGS_MAX];
    const size_t n = list_settings(all);

    for (size_t i = 0; i < n; i++)
        config_print(all[i].table, all[i].n, all[i].into);
    return EXIT_SUCCESS;
}

static int usage(FILE *to, int exit_code)
{
    fprintf(to,
            "Usage: %s [--print-config | --describe-config | --version | --help]\n\n"
            "Takes its settings from the environment; --describe-config lists them,\n"
            "--print-config shows their values. Runs until SIGTERM or SIGINT.\n",
            program->name);
    return exit_code;
}

/* -- the process ----------------------------------------------------------------------------- */

/*
 * By default, free() returns memory to the kernel once 128 kB at the end of a heap are unused, and
 * one turn of a loop or one batch exceeds that: the next one gets the same pages again, with a fault
 * for each (docs/performance.md, "Freed memory"). The end of a heap keeps at most KEPT_BYTES; threads
 * have heaps of their own. Blocks up to BLOCK_MAX, the maximum of mallopt(3), come from a heap.
 */
static void keep_freed_memory(void)
{
    enum { KEPT_BYTES = 16 * 1024 * 1024, BLOCK_MAX = 32 * 1024 * 1024 };

    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, BLOCK_MAX);
}

/* A program may have thousands of connections: of clients, or to receivers. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void prepare_process(sigset_t *ends)
{
    const struct rlimit none = {0, 0};

    keep_freed_memory();
    log_writer_start();
    LOG(LOG_INFO, "starting", log_str("revision", version_revision));
    (void)setrlimit(RLIMIT_CORE, &none);
    raise_descriptor_limit();
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    must(pthread_sigmask(SIG_BLOCK, ends, NULL) == 0);
    crypto_open();
}

static bool is_going_on(char reason[128])
{
    if (!atomic_load(&is_stopping))
        return true;
    snprintf(reason, 128, "shutting down");
    return false;
}

static bool is_ready(void *closure, char reason[128])
{
    return is_going_on(reason) && program->is_ready(program->closure, reason);
}

static bool serves(void *closure, char reason[128])
{
    return is_going_on(reason) && program->serves(program->closure, reason);
}

static void say_started(void)
{
    struct log_field fields[1 + PROGRAM_LOG_MAX] = {log_str("name", process.name)};
    const size_t n = program->describe(program->closure, fields + 1);

    log_write(LOG_INFO, "started", fields, 1 + n);
}

/* Waits until a signal asks the program to end; all threads block these signals. */
static void wait_for_end(const sigset_t *ends)
{
    const int64_t ms = program->delay_ms != NULL ? *program->delay_ms : 0;
    const struct timespec delay = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int signal_number = 0;

    say_started();
    must(sigwait(ends, &signal_number) == 0);
    LOG(LOG_INFO, "stopping", log_str("signal", strsignal(signal_number)),
        log_int(program->delay_ms != NULL ? "delay_ms" : NULL, ms));
    atomic_store(&is_stopping, true);
    if (ms > 0)
        (void)sigtimedwait(ends, NULL, &delay);
}

static void watch_certificates(void)
{
    certificates_open();
    certificates_watch("nats_authorities", config.bus_settings.ca_file);
    certificates_watch("nats_client", config.bus_settings.cert_file);
    certificates_watch("collector_authorities", config.trace.ca_file);
}

static int run(void)
{
    static char name[64];
    const struct admin_options admin_options = {.address = config.admin_address,
                                                .port = (uint16_t)config.admin_port,
                                                .is_ready = is_ready,
                                                .serves = program->serves != NULL ? serves : NULL};
    struct admin *admin = NULL;
    sigset_t ends;
    bool is_started;

    prepare_process(&ends);
    snprintf(name, sizeof(name), "%s-%s", program->name, config.instance);
    process.name = name;
    process.instance = config.instance;
    process.bus_url = config.bus_url;
    process.bus_settings = &config.bus_settings;
    metrics_name_cell(process.cell);
    watch_certificates();
    /* The trace starts a thread, so it follows open(). */
    is_started = program->open(&process, program->closure) &&
                 trace_open(&config.trace,
                            &(struct trace_origin){program->name, name, process.cell}) == ST_OK &&
                 program->start(program->closure) && admin_start(&admin_options, &admin) == ST_OK;
    if (is_started)
        wait_for_end(&ends);
    atomic_store(&is_stopping, true);
    program->stop(program->closure);
    admin_stop(admin);
    if (program->release != NULL)
        program->release(program->closure);
    trace_close();
    if (is_started)
        LOG(LOG_INFO, "stopped");
    return is_started ? EXIT_SUCCESS : EXIT_FAILURE;
}

int program_main(int argc, char **argv, const struct program *self)
{
    const char *option = argc > 1 ? argv[1] : "";

    program = self;
    if (argc > 2)
        return usage(stderr, 2);
    if (strcmp(option, "--help") == 0)
        return usage(stdout, EXIT_SUCCESS);
    if (strcmp(option, "--version") == 0)
        return version_print();
    if (strcmp(option, "--describe-config") == 0)
        return describe_config();
    if (argc > 1 && strcmp(option, "--print-config") != 0)
        return usage(stderr, 2);
    if (!read_settings())
        return EXIT_FAILURE;
    return argc > 1 ? print_config() : run();
}
