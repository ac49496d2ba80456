/* tests/faults/watch-endurance: what it reports as growth, slower, failed and unwatched. */
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/tools/check_tree.h"

enum {
    RUN_S = 2400,
    SETTLING_S = RUN_S / 12,
    LIFE_S = 300,
    SAMPLE_S = 10,
    PER_SECOND = 100,
    REQUESTS = RUN_S * PER_SECOND,
    RSS_KB = 40000,
    MS = 10,
    WORK_MS = 20,
};

/* Samples of audit-0 and the load, which keep running, and nats, which is killed. */
struct process {
    int rss_kb, descriptors, connections, series, disk_kb; /* the rise a minute */
    int begins_s, ends_s, gap_s; /* of its samples; the gap is in the middle */
    int life_s;                  /* 0: one life */
    bool has_no_series;          /* its /metrics never answers */
};

/* Answers to two requests a second of each operation. */
struct answers {
    int ms;
    int slower_ms; /* in the second half */
    int failed_in_1000, failed_status, fails_from_s;
    int late_ms;         /* of one request */
    int slow_until_s;    /* requests before this are slow */
    const char *without; /* the operation that is never answered */
};

static const char *const operations[] = {"across", "audit",   "conflict", "create", "get",
                                         "ping",   "refused", "search",   "update"};

static struct process audit, nats, load;
static struct answers answers;
static int postgres_files, files_in_recovery;
static int partition_lines, partitions, waiting_s, failed_answers;
static int seconds;                 /* of the run, to the report */
static int work_ms_at_end;          /* 0: the machine is not measured */
static int snapshots;               /* taken */
static int turn_ms, turn_ms_at_end; /* of the sender; 0: it is not measured */
static const char *why_none;

static void set_up(void)
{
    open_tree();
    audit = (struct process){.rss_kb = 100, .disk_kb = 20, .ends_s = RUN_S};
    nats = (struct process){.rss_kb = 100, .ends_s = RUN_S, .life_s = LIFE_S};
    load = (struct process){.rss_kb = 1500, .connections = 100, .ends_s = RUN_S};
    answers = (struct answers){.ms = MS, .failed_status = 503, .fails_from_s = RUN_S / 2};
    postgres_files = files_in_recovery = 20;
    partition_lines = 3;
    partitions = 1;
    waiting_s = 1;
    failed_answers = 0;
    work_ms_at_end = WORK_MS;
    snapshots = 1;
    turn_ms = turn_ms_at_end = 3;
    seconds = RUN_S;
    why_none = NULL;
}

TestSuite(watch_endurance, .init = set_up, .fini = remove_tree);

static FILE *file_in_tree(const char *name)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    file = fopen(path, "we");
    cr_assert_not_null(file);
    return file;
}

static void write_samples_of(FILE *file, const char *name, const struct process *p)
{
    const int life_s = p->life_s > 0 ? p->life_s : RUN_S + 1;

    for (int s = p->begins_s; s <= p->ends_s; s += SAMPLE_S) {
        const int age_s = s % life_s;
        char series[16];

        if (s > RUN_S / 2 && s < RUN_S / 2 + p->gap_s)
            continue;
        snprintf(series, sizeof(series), "%d", 60 + p->series * age_s / 60);
        fprintf(file,
                "{\"name\":\"%s\",\"pid\":%d,\"at\":%d,\"processes\":1,\"rss_kb\":%d,"
                "\"descriptors\":%d,\"connections\":%d,\"series\":%s,\"disk_kb\":%d}\n",
                name, 100 + s / life_s, s, RSS_KB + p->rss_kb * age_s / 60,
                20 + p->descriptors * age_s / 60, 9 + p->connections * age_s / 60,
                p->has_no_series ? "null" : series, p->disk_kb * s / 60);
    }
}

/* The sender has a turn a second. */
static void write_sender(FILE *file, int s)
{
    const int late_s = s > RUN_S / 2 ? s - RUN_S / 2 : 0;

    fprintf(file, "{\"name\":\"sender\",\"at\":%d,\"turns\":{\"count\":%d,\"sum\":%g}}\n", s, s,
            ((s - late_s) * turn_ms + late_s * turn_ms_at_end) / 1000.0);
}

static void write_samples(void)
{
    FILE *file = file_in_tree("samples");

    write_samples_of(file, "audit-0", &audit);
    write_samples_of(file, "nats", &nats);
    write_samples_of(file, "load", &load);
    for (int s = 0; s <= RUN_S; s += SAMPLE_S) {
        const int processes = s == SETTLING_S ? 3 : 30;

        fprintf(file,
                "{\"name\":\"postgres\",\"pid\":7,\"at\":%d,\"processes\":%d,\"rss_kb\":9,"
                "\"descriptors\":%d,\"connections\":9,\"series\":null,\"disk_kb\":0}\n",
                s, processes, processes * (processes == 3 ? files_in_recovery : postgres_files));
        if (work_ms_at_end > 0)
            fprintf(file, "{\"name\":\"machine\",\"at\":%d,\"work_ms\":%d}\n", s,
                    s < RUN_S / 2 ? WORK_MS : work_ms_at_end);
        if (turn_ms > 0)
            write_sender(file, s);
    }
    for (int i = 0; i < partition_lines; i++)
        fprintf(file, "{\"name\":\"partitions\",\"made\":%d,\"keys\":%d,\"waiting_s\":%d%s%s%s}\n",
                partitions, i, i == 1 ? waiting_s : 0, why_none != NULL ? ",\"why\":\"" : "",
                why_none != NULL ? why_none : "", why_none != NULL ? "\"" : "");
    cr_assert_eq(fclose(file), 0);
}

static void write_answers(void)
{
    FILE *file = file_in_tree("answers");

    for (int n = 0; n < 2 * RUN_S; n++) {
        const int s = n / 2;
        const bool is_late = s >= RUN_S / 2;
        const bool fails = s >= answers.fails_from_s && n % 1000 < answers.failed_in_1000;
        const int ms = s < answers.slow_until_s ? 1000
                       : is_late                ? answers.ms + answers.slower_ms
                                                : answers.ms;

        for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
            if (answers.without == NULL || strcmp(operations[i], answers.without) != 0)
                fprintf(file, "%d %d %d %d %d %s\n", s, ms,
                        n == 2000 && i == 0 ? answers.late_ms : 0,
                        fails ? answers.failed_status : 200, !fails, operations[i]);
    }
    cr_assert_eq(fclose(file), 0);
}

/* The exit status; its output is in `output`. */
static int run(const char *command)
{
    FILE *said = popen(command, "re");
    int status;

    cr_assert_not_null(said);
    output[fread(output, 1, sizeof(output) - 1, said)] = '\0';
    status = pclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int report_written(const char *lives)
{
    char command[256];

    snprintf(command, sizeof(command),
             "tests/faults/watch-endurance report %s/samples %s/answers --seconds %d --requests %d"
             " --failed %d --snapshots %d --lives %s --killed nats,postgres 2>&1",
             root, root, seconds, REQUESTS, failed_answers, snapshots, lives);
    return run(command);
}

static void expect_report(const char *word)
{
    write_samples();
    write_answers();
    cr_expect_eq(report_written("audit-0,load"), word != NULL, "%s", output);
    cr_expect(word == NULL || strstr(output, word) != NULL, "%s", output);
}

Test(watch_endurance, finds_a_sender_that_an_old_snapshot_slows_down)
{
    turn_ms_at_end = 8;
    expect_report("SLOWER");
}

Test(watch_endurance, finds_a_snapshot_that_was_not_held)
{
    snapshots = 2;
    expect_report("NOT HELD");
}

Test(watch_endurance, demands_figures_of_the_sender)
{
    turn_ms = 0;
    expect_report("NOT MEASURED");
}

Test(watch_endurance, finds_nothing_in_unchanged_values)
{
    answers.slower_ms = 1;
    answers.failed_in_1000 = 1;
    answers.late_ms = 900;
    expect_report(NULL);
}

/* -- processes ------------------------------------------------------------------------------- */

/* The bound is 6,144 kB, and little more for keys and partitions: 167 kB a minute in the 2,200 s
   after the warm-up. */
Test(watch_endurance, names_memory_that_grows)
{
    audit.rss_kb = 160;
    expect_report(NULL);
    audit.rss_kb = 170;
    expect_report("GROWS");
}

/* Growth that all lives of a process share counts, even if each begins at the same size. */
Test(watch_endurance, names_memory_of_a_server_that_grows_in_each_life)
{
    nats.rss_kb = 9000;
    expect_report("GROWS");
}

/* Its memory may rise by 10 kB a second more than that of other servers. */
Test(watch_endurance, allows_for_connections_that_the_bus_remembers)
{
    nats.life_s = 0;
    nats.rss_kb = 1100;
    expect_report(NULL);
    nats.rss_kb = 1600;
    expect_report("GROWS");
}

/* 64 MB; its connections come and go. */
Test(watch_endurance, names_a_load_whose_memory_grows)
{
    load.rss_kb = 2200;
    expect_report("GROWS");
}

/* Memory of a server may rise this much in its longest life, whose first third is not judged. */
Test(watch_endurance, judges_a_life_by_its_real_length)
{
    nats.rss_kb = 4000;
    expect_report(NULL);
}

Test(watch_endurance, names_descriptors_that_grow)
{
    audit.descriptors = 1;
    expect_report("GROWS");
}

Test(watch_endurance, names_connections_that_grow)
{
    audit.connections = 1;
    expect_report("GROWS");
}

Test(watch_endurance, names_series_that_grow)
{
    audit.series = 2;
    expect_report("GROWS");
}

Test(watch_endurance, names_a_figure_that_was_never_measured)
{
    nats.has_no_series = true;
    expect_report(NULL);
    audit.has_no_series = true;
    expect_report("NOT MEASURED");
    cr_expect_null(strstr(output, "TOO"), "%s", output);
}

Test(watch_endurance, names_files_of_postgresql_that_are_too_many)
{
    postgres_files = 61;
    expect_report("TOO MANY");
}

Test(watch_endurance, allows_more_files_for_the_few_processes_of_a_recovery)
{
    files_in_recovery = 200;
    expect_report(NULL);
}

Test(watch_endurance, names_a_process_that_was_started_again)
{
    audit.life_s = RUN_S / 2;
    audit.rss_kb = 0;
    expect_report("STARTED AGAIN");
}

Test(watch_endurance, names_a_process_whose_lives_are_too_short_to_judge)
{
    nats.life_s = 70;
    expect_report("TOO SHORT");
}

Test(watch_endurance, names_a_process_that_was_never_seen)
{
    write_samples();
    write_answers();
    cr_expect_eq(report_written("audit-0,search-0"), 1);
    cr_expect_not_null(strstr(output, "NOT WATCHED"), "%s", output);
}

Test(watch_endurance, names_a_watch_that_ended_early_or_began_late)
{
    audit.ends_s = RUN_S - 130;
    expect_report("NOT WATCHED");
    audit.ends_s = RUN_S;
    audit.begins_s = 130;
    expect_report("NOT WATCHED");
}

Test(watch_endurance, names_a_gap_in_the_watch)
{
    audit.gap_s = 70;
    expect_report("GAP OF 70 s");
}

/* -- deliveries ------------------------------------------------------------------------------ */

Test(watch_endurance, names_deliveries_that_fall_behind)
{
    waiting_s = 30;
    expect_report(NULL);
    waiting_s = 31;
    expect_report("FALL BEHIND");
}

Test(watch_endurance, names_deliveries_that_nobody_has_seen)
{
    partition_lines = 0;
    expect_report("NOT SEEN");
}

/* -- disk ------------------------------------------------------------------------------------ */

/* The bound is 40 bytes a request. */
Test(watch_endurance, names_logs_that_are_too_large)
{
    audit.disk_kb = 250;
    expect_report("LOGS TOO MUCH");
}

Test(watch_endurance, allows_more_logs_for_failed_requests)
{
    audit.disk_kb = 250;
    failed_answers = 2000;
    expect_report(NULL);
}

Test(watch_endurance, names_a_disk_that_fills)
{
    nats.disk_kb = 15000;
    expect_report("USES TOO MUCH");
}

Test(watch_endurance, says_why_no_partition_was_made)
{
    partitions = 0;
    why_none = "it was busy";
    expect_report("not created: it was busy");
}

Test(watch_endurance, names_a_run_that_created_no_partition)
{
    partition_lines = 0;
    expect_report("NONE");
}

/* -- answers --------------------------------------------------------------------------------- */

/* Only one in a thousand of all answers, but all of them at the end. */
Test(watch_endurance, names_answers_that_fail_at_the_end)
{
    answers.failed_in_1000 = 2;
    expect_report("FAILS");
    cr_expect_not_null(strstr(output, "of get: 503"), "%s", output);
}

Test(watch_endurance, names_answers_that_fail)
{
    answers.failed_in_1000 = 5;
    answers.failed_status = 0;
    answers.fails_from_s = 0;
    expect_report("FAILS");
    cr_expect_not_null(strstr(output, "of get: no response"), "%s", output);
}

Test(watch_endurance, names_a_request_that_was_sent_late)
{
    answers.late_ms = 1100;
    expect_report("1 requests  LATE");
}

Test(watch_endurance, names_operations_that_become_slower)
{
    answers.slower_ms = 3;
    expect_report("SLOWER");
}

/* Its two parts have different faults. */
Test(watch_endurance, allows_more_in_a_short_run)
{
    seconds = RUN_S * 2 / 3;
    answers.slower_ms = 12;
    expect_report(NULL);
    answers.slower_ms = 17;
    expect_report("SLOWER");
}

/* It is not the services that have become slower by as much as the machine. */
Test(watch_endurance, allows_for_a_machine_that_becomes_slower)
{
    answers.slower_ms = 4;
    work_ms_at_end = WORK_MS * 5 / 4;
    expect_report(NULL);
    answers.slower_ms = 6;
    expect_report("SLOWER");
}

Test(watch_endurance, allows_no_more_if_the_machine_becomes_faster)
{
    work_ms_at_end = WORK_MS / 2;
    answers.ms = 20;
    answers.slower_ms = 3;
    expect_report(NULL);
    answers.slower_ms = 5;
    expect_report("SLOWER");
}

Test(watch_endurance, judges_nothing_on_a_machine_that_becomes_much_slower)
{
    work_ms_at_end = WORK_MS * 3 / 2;
    expect_report("CHANGED TOO MUCH");
}

Test(watch_endurance, names_a_machine_that_was_not_measured)
{
    work_ms_at_end = 0;
    expect_report("NOT MEASURED");
}

/* Answers are slow for the settling time and a little longer: in most of the first ten parts if
   these began with the run, in fewer than half as they begin after settling. */
Test(watch_endurance, leaves_out_the_time_in_which_all_settles)
{
    answers.slower_ms = 3;
    answers.slow_until_s = SETTLING_S + 240;
    expect_report("SLOWER");
}

Test(watch_endurance, names_an_operation_of_which_too_few_were_answered)
{
    FILE *file;
    char path[64];

    write_samples();
    write_answers();
    snprintf(path, sizeof(path), "%s/answers", root);
    file = fopen(path, "ae");
    cr_assert_not_null(file);
    fputs("200 10 0 200 1 other\n2300 10 0 200 1 other\n", file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_eq(report_written("audit-0"), 1);
    cr_expect_not_null(strstr(output, "TOO FEW"), "%s", output);
}

Test(watch_endurance, names_an_operation_that_was_never_answered)
{
    answers.without = "search";
    expect_report("TOO FEW");
    cr_expect_not_null(strstr(output, "search      0 and 0 parts"), "%s", output);
}

Test(watch_endurance, judges_nothing_by_nothing)
{
    write_samples();
    cr_assert_eq(fclose(file_in_tree("answers")), 0);
    cr_expect_eq(report_written("audit-0"), 1);
    cr_expect_not_null(strstr(output, "nothing to evaluate"), "%s", output);
}

/* -- watch ----------------------------------------------------------------------------------- */

/* A port that answers connections with something other than HTTP. */
static int speak_no_http(pid_t *pid)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    const int listening = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(bind(listening, (struct sockaddr *)&address, length), 0);
    cr_assert_eq(listen(listening, 8), 0);
    cr_assert_eq(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    *pid = fork();
    cr_assert_geq(*pid, 0);
    for (int fd; *pid == 0 && (fd = accept(listening, NULL, NULL)) >= 0;) {
        char request[512];

        if (read(fd, request, sizeof(request)) < 0 || write(fd, "garbage\r\n\r\n", 11) != 11)
            _exit(1);
        close(fd);
    }
    close(listening);
    return ntohs(address.sin_port);
}

Test(watch_endurance, watches_until_sigterm_whatever_a_process_answers)
{
    char text[512];
    pid_t server;
    const int port = speak_no_http(&server);

    snprintf(text, sizeof(text), "audit-0 %d\n", port);
    write_file("ports", text);
    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    write_file("pids/audit-0", text);
    snprintf(text, sizeof(text),
             "RUN_DIR=%s DATABASE_URL=host=/nowhere ENDURANCE_SAMPLE_S=0.05 timeout "
             "--preserve-status 60 sh -c '"
             "tests/faults/watch-endurance watch %s/samples & p=$!;"
             " until [ $(wc -l <%s/samples) -ge 6 ]; do kill -0 $p || break; sleep 0.05; done;"
             " kill $p; wait $p' 2>&1",
             root, root, root);
    cr_expect_eq(run(text), 0, "%s", output);
    cr_assert_eq(kill(server, SIGKILL), 0);
    snprintf(text, sizeof(text), "grep -c '\"series\": null' %s/samples", root);
    cr_assert_eq(run(text), 0);
    cr_expect_geq(atoi(output), 3);
    snprintf(text, sizeof(text), "grep -Ec '\"work_ms\": [0-9.]*[1-9]' %s/samples", root);
    cr_assert_eq(run(text), 0);
    cr_expect_geq(atoi(output), 1);
}

/* psql may wait for a server that hangs. */
Test(watch_endurance, waits_for_psql_only_so_long)
{
    char text[640];

    write_file("psql", "#!/bin/sh\nexec sleep 100\n");
    snprintf(text, sizeof(text),
             "chmod +x %s/psql; PATH=%s:$PATH DATABASE_URL=x timeout 60 python3 -B -c '"
             "import importlib.machinery as m;"
             "w = m.SourceFileLoader(\"w\", \"tests/faults/watch-endurance\").load_module();"
             "w.PSQL_S, w.PARTITION_TRIES = 0.1, 2;"
             "print(w.make_partition())' 2>&1",
             root, root);
    cr_expect_eq(run(text), 0, "%s", output);
    cr_expect_not_null(strstr(output, "psql took more than 0.1 s"), "%s", output);
}
