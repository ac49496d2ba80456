#include "tests/faults/faulty_stack.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/faults/faulty_machine.h"
#include "tests/faults/history.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"
#include "tests/support/supervisor_log.h"
#include "tests/support/tcp_proxy.h"

enum {
    LINKS_MAX = 32,
    KILLED_MAX = 16,
    LOG_MAX = 8 << 20,
    SCRIPT_MAX = 65536,
    LOOK_EVERY_MS = 100,
    DROP_EVERY_MS = 2000, /* on a slow machine, half of it is for connecting and starting work */
    KILL_EVERY_MS = 1200,
    LINKS_MS = 10000,
    READY_MS = 30000,
    RECOVERY_MS = 120000
};

struct link {
    const char *process;
    enum fault_server server;
    struct tcp_proxy proxy;
};

static struct link links[LINKS_MAX];
static size_t n_links;
static struct supervisor_log_kills killed[KILLED_MAX];
static size_t n_killed;
static long log_begin; /* offset in the supervisor's log where this test's lines begin */
static atomic_int n_under_way;
static atomic_llong last_ended_us;

/* -- making it ------------------------------------------------------------------------------- */

static int port_of_server(enum fault_server server)
{
    const char *url = stack_setting(server == FAULT_NATS ? "NATS_URL" : "DATABASE_URL");
    const char *colon = strrchr(url, ':');

    cr_assert_not_null(colon);
    return atoi(colon + 1);
}

/* Replaces "127.0.0.1:FROM" by another port with the same number of digits. */
static void lead_elsewhere(char *script, int from, int to)
{
    char old[32], new[32];

    snprintf(old, sizeof(old), "@127.0.0.1:%d", from);
    snprintf(new, sizeof(new), "@127.0.0.1:%d", to);
    cr_assert_eq(strlen(old), strlen(new), "ports of %d digits and %d", from, to);
    for (char *at = script; (at = strstr(at, old)) != NULL;)
        memcpy(at, new, strlen(new));
}

static void path_of_script(char path[4096], const char *process, const char *suffix)
{
    snprintf(path, 4096, "%s/start/%s%s", stack_setting("RUN_DIR"), process, suffix);
}

/* The stack's original script is kept beside it, so that this can be repeated. */
static void read_script(const char *process, char script[SCRIPT_MAX])
{
    char path[4096], kept[4096];
    FILE *file;
    size_t n;

    path_of_script(path, process, "");
    path_of_script(kept, process, ".direct");
    file = fopen(kept, "re");
    if (file == NULL) {
        cr_assert_eq(rename(path, kept), 0, "%s: %s", path, strerror(errno));
        file = fopen(kept, "re");
    }
    cr_assert_not_null(file, "%s: %s", kept, strerror(errno));
    n = fread(script, 1, SCRIPT_MAX - 1, file);
    script[n] = '\0';
    fclose(file);
}

static void write_script(const char *process, const char *script)
{
    char path[4096];
    FILE *file;

    path_of_script(path, process, "");
    file = fopen(path, "we");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    cr_assert(fputs(faulty_machine_lines(process), file) >= 0);
    cr_assert(fputs(script, file) >= 0 && fclose(file) == 0);
}

static void open_links(const char *process)
{
    static char script[SCRIPT_MAX];

    read_script(process, script);
    for (enum fault_server server = 0; server < FAULT_SERVERS; server++) {
        struct link *link = &links[n_links];

        if (!fault_has_link(process, server))
            continue;
        cr_assert_lt(n_links++, LINKS_MAX);
        *link = (struct link){.process = process, .server = server};
        tcp_proxy_start(&link->proxy, (uint16_t)port_of_server(server));
        lead_elsewhere(script, port_of_server(server), link->proxy.port);
    }
    write_script(process, script);
    stack_end(process, SIGTERM);
}

/* Undoes an earlier run's write_script(). */
static void restore_script(const char *process)
{
    char path[4096], kept[4096];

    path_of_script(path, process, "");
    path_of_script(kept, process, ".direct");
    cr_assert(rename(kept, path) == 0 || errno == ENOENT, "%s: %s", path, strerror(errno));
}

static void open_postgres(const struct fault_plan *plan)
{
    static char script[SCRIPT_MAX];

    restore_script("postgres");
    faulty_machine_open(plan);
    if (!faulty_machine_has(FAULT_AHEAD))
        return;
    read_script("postgres", script);
    write_script("postgres", script);
    stack_end("postgres", SIGINT); /* SIGTERM would have it wait for its clients */
}

static FILE *open_supervisor_log(void)
{
    FILE *log = fopen(format("%s/log/supervisor.log", stack_setting("RUN_DIR")), "re");

    cr_assert_not_null(log, "the supervisor's log: %s", strerror(errno));
    return log;
}

void faulty_stack_open(const struct fault_plan *plan)
{
    FILE *log = open_supervisor_log();

    cr_assert_eq(fseek(log, 0, SEEK_END), 0);
    log_begin = ftell(log);
    fclose(log);
    open_postgres(plan);
    for (size_t i = 0; i < fault_processes_n; i++)
        if (fault_has_link(fault_processes[i], FAULT_NATS))
            open_links(fault_processes[i]);
    faulty_stack_await_ready();
    faulty_machine_expect_clocks();
}

static bool all_are_ready(void *closure)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);
    size_t n_ready = 0;

    (void)closure;
    for (size_t i = 0; i < n; i++)
        n_ready += replica_ask(&replicas[i], "/readyz")->status == 200;
    return n_ready == n;
}

/* Prints why processes are not ready, or which of their links are missing. */
static void print_readiness(void)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (size_t i = 0; i < n; i++) {
        const struct client_response *ready = replica_ask(&replicas[i], "/readyz"),
                                     *metrics = replica_ask(&replicas[i], "/metrics");
        const char *up =
            metrics->status == 200 ? strstr(metrics->body, "\nconversations_database_up ") : NULL;

        fprintf(stderr, "%s: %d, database links: %.2s\n", replicas[i].name, ready->status,
                up != NULL ? up + strlen("\nconversations_database_up ") : "-");
    }
    fprintf(stderr, "the database has: %s\n",
            sql_text("SELECT string_agg(application_name || ' ' || n, ', ') FROM"
                     " (SELECT application_name, count(*) AS n FROM pg_stat_activity"
                     " WHERE usename LIKE 'conv%' GROUP BY 1 ORDER BY 1) AS links",
                     NULL));
}

void faulty_stack_await_ready(void)
{
    if (replicas_of_stack_await_ready(LINKS_MS))
        return;
    print_readiness();
    cr_assert(stack_wait(all_are_ready, NULL, READY_MS), "the stack is not ready in time");
}

/* -- faults of processes --------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
    char path[64];
    FILE *file;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

static void write_fault(const char *what, int64_t begin_us)
{
    history_write(json_pack("{s:s, s:s, s:I, s:I}", "type", "fault", "what", what, "begin",
                            (json_int_t)begin_us, "end", (json_int_t)clock_mono_us()));
}

static void *await_recovery(void *url)
{
    const int64_t begin_us = clock_mono_us(), until_us = begin_us + RECOVERY_MS * 1000LL;

    while (PQping(url) != PQPING_OK && clock_mono_us() < until_us)
        poll(NULL, 0, LOOK_EVERY_MS);
    last_ended_us = clock_mono_us();
    write_fault("recover:postgres:0", begin_us);
    atomic_fetch_sub(&n_under_way, 1);
    return NULL;
}

/* A killed PostgreSQL first replays what had not reached its tables: up to 20 s under load. It is
   not calm during that time, but the next step may begin. */
static void begin_recovery(void)
{
    pthread_t thread;

    atomic_fetch_add(&n_under_way, 1);
    cr_assert_eq(
        pthread_create(&thread, NULL, await_recovery, (void *)stack_setting("DATABASE_URL")), 0);
    pthread_detach(thread);
}

static void kill_process(const char *process)
{
    size_t i = 0;

    while (i < n_killed && strcmp(killed[i].process, process) != 0)
        i++;
    if (i == n_killed) {
        cr_assert_lt(n_killed++, KILLED_MAX);
        killed[i].process = process;
    }
    killed[i].n++;
    stack_end(process, SIGKILL);
    if (strcmp(process, fault_servers[FAULT_POSTGRES]) == 0)
        begin_recovery();
}

void faulty_stack_expect_no_crash(void)
{
    char *text = calloc(1, LOG_MAX), line[256] = "";
    struct supervisor_log_done done = {.kills = killed, .n_kills = n_killed};
    FILE *log = open_supervisor_log();

    cr_assert_not_null(text);
    cr_assert_eq(fseek(log, log_begin, SEEK_SET), 0);
    cr_assert_lt(fread(text, 1, LOG_MAX, log), LOG_MAX);
    fclose(log);
    done.n_full = faulty_machine_full(&done.full);
    cr_expect_not(supervisor_log_find_crash(text, &done, line),
                  "a process ended, but not because of this test: %s", line);
    free(text);
}

/* PostgreSQL's processes are children of the one with the recorded pid. */
static void signal_all(const char *process, int number)
{
    const pid_t pid = stack_pid(process);
    const struct dirent *entry;
    DIR *all = opendir("/proc");

    cr_assert_not_null(all);
    if (pid > 1)
        kill(pid, number);
    while ((entry = readdir(all)) != NULL) {
        const pid_t child = atoi(entry->d_name);

        if (child > 1 && pid > 1 && parent_of(child) == pid)
            kill(child, number);
    }
    closedir(all);
}

/* -- faults of links ------------------------------------------------------------------------- */

static bool is_meant(const struct link *link, const char *whom)
{
    const char *server = fault_servers[link->server], *process = strchr(whom, '/');

    return process != NULL && strncmp(whom, server, strlen(server)) == 0 &&
           whom[strlen(server)] == '/' &&
           (strcmp(process + 1, "all") == 0 || strcmp(process + 1, link->process) == 0);
}

static void begin_at_link(struct link *link, enum fault_kind kind)
{
    const struct tcp_proxy_weather weather = {
        .delay_ms = kind == FAULT_SLOW ? FAULT_DELAY_MS : 0,
        .holds_requests = kind == FAULT_DEAF || kind == FAULT_PAUSE,
        .holds_replies = kind == FAULT_MUTE || kind == FAULT_PAUSE,
    };

    if ((kind == FAULT_CUT || kind == FAULT_DROP) && link->proxy.pid != 0)
        tcp_proxy_cut(&link->proxy);
    if (kind == FAULT_DROP)
        tcp_proxy_restore(&link->proxy);
    /* A link may be slow and drop at the same time. */
    if (kind != FAULT_CUT && kind != FAULT_DROP)
        tcp_proxy_change_weather(&link->proxy, &weather);
}

static void end_at_link(struct link *link)
{
    static const struct tcp_proxy_weather calm;

    if (link->proxy.pid == 0)
        tcp_proxy_restore(&link->proxy);
    tcp_proxy_change_weather(&link->proxy, &calm);
}

static void at_links(const struct fault *fault, bool begins)
{
    size_t n = 0;

    for (size_t i = 0; i < n_links; i++) {
        if (!is_meant(&links[i], fault->whom))
            continue;
        n++;
        if (begins)
            begin_at_link(&links[i], fault->kind);
        else
            end_at_link(&links[i]);
    }
    cr_assert_gt(n, 0, "there is no link %s", fault->whom);
}

/* -- steps ----------------------------------------------------------------------------------- */

struct under_way {
    const struct fault *fault;
    int64_t begun_us, ends_us, again_us;
    bool has_ended;
};

bool faulty_stack_was_calm(int64_t from_us)
{
    return n_under_way == 0 && last_ended_us + FAULTY_STACK_AFTERMATH_MS * 1000LL < from_us;
}

int64_t faulty_stack_ended_us(void)
{
    return last_ended_us;
}

static void begin(struct under_way *it, const struct fault *fault)
{
    const int64_t now_us = clock_mono_us();

    *it = (struct under_way){.fault = fault,
                             .begun_us = now_us,
                             .ends_us = now_us + fault->ms * 1000LL,
                             .again_us = now_us};
    atomic_fetch_add(&n_under_way, 1);
    if (fault->kind == FAULT_KILL)
        kill_process(fault->whom);
    else if (fault->kind == FAULT_STOP)
        signal_all(fault->whom, SIGSTOP);
    else if (fault_is_of_machine(fault))
        faulty_machine_begin(fault);
    else
        at_links(fault, true);
}

static void end(struct under_way *it)
{
    struct fault_step alone = {.faults = {*it->fault}, .n = 1};
    char text[96];

    if (it->fault->kind == FAULT_STOP)
        signal_all(it->fault->whom, SIGCONT);
    else if (fault_is_of_machine(it->fault))
        faulty_machine_end(it->fault);
    else if (it->fault->kind != FAULT_KILL)
        at_links(it->fault, false);
    it->has_ended = true;
    /* Without space, sessions may have ended, and PostgreSQL itself. */
    if (it->fault->kind == FAULT_FULL)
        begin_recovery();
    last_ended_us = clock_mono_us();
    atomic_fetch_sub(&n_under_way, 1);
    fault_step_print(&alone, text, sizeof(text));
    write_fault(text, it->begun_us);
}

/* Ends the fault when its time is over, and repeats it if it is of a repeating kind. */
static void look_at(struct under_way *it, int64_t until_us)
{
    const int64_t now_us = clock_mono_us();

    if (it->has_ended)
        return;
    if (now_us >= it->ends_us || now_us >= until_us) {
        end(it);
    } else if (it->fault->kind == FAULT_DROP && now_us - it->again_us >= DROP_EVERY_MS * 1000LL) {
        at_links(it->fault, true);
        it->again_us = now_us;
    } else if (it->fault->kind == FAULT_KILL && now_us - it->again_us >= KILL_EVERY_MS * 1000LL) {
        kill_process(it->fault->whom);
        it->again_us = now_us;
    }
}

/* Any combination is allowed, even killing a stopped process, or a server whose link is cut. */
void faulty_stack_run(const struct fault_step *step, int64_t until_us)
{
    struct under_way faults[FAULT_PAIR];
    bool all_have_ended;
    int64_t healed_us;

    for (size_t i = 0; i < step->n; i++) {
        faults[i] = (struct under_way){.has_ended = true};
        if (!fault_is_of_machine(&step->faults[i]) || faulty_machine_has(step->faults[i].kind))
            begin(&faults[i], &step->faults[i]);
    }
    do {
        all_have_ended = true;
        for (size_t i = 0; i < step->n; i++) {
            look_at(&faults[i], until_us);
            all_have_ended &= faults[i].has_ended;
        }
        if (!all_have_ended)
            poll(NULL, 0, LOOK_EVERY_MS);
    } while (!all_have_ended);
    healed_us = clock_mono_us() + step->heal_ms * 1000LL;
    if (healed_us > until_us)
        healed_us = until_us;
    if (healed_us > clock_mono_us())
        stack_let_run((healed_us - clock_mono_us()) / 1000);
}
