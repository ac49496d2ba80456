#include "tests/support/supervisor_log.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PROCESSES_MAX = 32, AFTER_KILL_S = 10, AFTER_FULL_S = 10 };

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

static int sent_to(const char *process, const struct supervisor_log_done *done)
{
    for (size_t i = 0; i < done->n_kills; i++)
        if (strcmp(done->kills[i].process, process) == 0)
            return done->kills[i].n;
    return 0;
}

static bool was_full(const struct supervisor_log_done *done, time_t at)
{
    for (size_t i = 0; i < done->n_full; i++)
        if (at >= done->full[i].begin &&
            (done->full[i].end == 0 || at - done->full[i].end <= AFTER_FULL_S))
            return true;
    return false;
}

static bool is_expected(const struct end *end, struct past *past,
                        const struct supervisor_log_done *done)
{
    const bool follows_kill = past->killed != 0 && end->at - past->killed <= AFTER_KILL_S;

    past->killed = 0;
    if (end->by_signal && end->number == SIGKILL) {
        past->killed = end->at;
        return ++past->kills <= sent_to(end->process, done);
    }
    if (!end->by_signal && end->number == 1 && strcmp(end->process, "postgres") == 0 &&
        (follows_kill || was_full(done, end->at))) {
        past->killed = follows_kill ? end->at : 0;
        return true;
    }
    return !end->by_signal && end->number == 0;
}

bool supervisor_log_find_crash(const char *text, const struct supervisor_log_done *done,
                               char line[256])
{
    struct past pasts[PROCESSES_MAX + 1] = {0};
    struct end end;

    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        char found[256];

        snprintf(found, sizeof(found), "%.*s", (int)strcspn(at, "\n"), at);
        if (read_end(found, &end) && !is_expected(&end, past_of(pasts, end.process), done)) {
            strcpy(line, found);
            return true;
        }
    }
    return false;
}
