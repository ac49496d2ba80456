#include "tests/support/supervisor_log.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PROCESSES_MAX = 32, AFTER_KILL_S = 10 };

struct end {
    char process[48];
    bool by_signal;
    int number; /* of the signal, or the status */
    time_t at;
};

/* What has been read so far about a process. */
struct past {
    char process[48];
    int kills;
    time_t killed; /* when killed, or when it last failed to start after that; 0: neither */
};

/* "2026-11-26T00:13:57Z supervisor: nats: ended by signal 9" */
static bool read_end(const char *line, struct end *out)
{
    char stamp[32];
    struct tm utc = {0};

    if (sscanf(line, "%31s supervisor: %47[^:]: ended by signal %d", stamp, out->process,
               &out->number) == 3)
        out->by_signal = true;
    else if (sscanf(line, "%31s supervisor: %47[^:]: exited with status %d", stamp, out->process,
                    &out->number) == 3)
        out->by_signal = false;
    else
        return false;
    cr_assert_not_null(strptime(stamp, "%Y-%m-%dT%H:%M:%SZ", &utc), "%s", line);
    out->at = timegm(&utc);
    return true;
}

static struct past *past_of(struct past pasts[PROCESSES_MAX], const char *process)
{
    struct past *past = pasts;

    while (past->process[0] != '\0' && strcmp(past->process, process) != 0) {
        past++;
        cr_assert_lt(past - pasts, PROCESSES_MAX);
    }
    strcpy(past->process, process);
    return past;
}

static struct supervisor_log_kills done_to(const char *process,
                                           const struct supervisor_log_kills *kills, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(kills[i].process, process) == 0)
            return kills[i];
    return (struct supervisor_log_kills){.process = process};
}

static bool is_expected(const struct end *end, struct past *past, struct supervisor_log_kills done)
{
    const bool follows_kill = past->killed != 0 && end->at - past->killed <= AFTER_KILL_S;

    past->killed = 0;
    if (end->by_signal && end->number == SIGKILL) {
        past->killed = end->at;
        return ++past->kills <= done.n;
    }
    if ((follows_kill || done.had_full_disk) && !end->by_signal && end->number == 1 &&
        strcmp(end->process, "postgres") == 0) {
        past->killed = end->at;
        return true;
    }
    return !end->by_signal && end->number == 0;
}

bool supervisor_log_find_crash(const char *text, const struct supervisor_log_kills *kills, size_t n,
                               char line[256])
{
    struct past pasts[PROCESSES_MAX + 1] = {0};
    struct end end;

    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        char found[256];

        snprintf(found, sizeof(found), "%.*s", (int)strcspn(at, "\n"), at);
        if (read_end(found, &end) &&
            !is_expected(&end, past_of(pasts, end.process), done_to(end.process, kills, n))) {
            strcpy(line, found);
            return true;
        }
    }
    return false;
}
