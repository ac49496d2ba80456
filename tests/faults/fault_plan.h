/*
 * fault_plan - which faults a run has, and when: drawn from a seed, or read from a text.
 *
 * What     A plan is a list of steps; a step is one fault, or two at the same time, followed by
 *          time to recover. The same seed and length give the same plan. As text, which the run
 *          prints:
 *
 *              stop:search-0:1800 mute:postgres/audit-0:900+kill:nats ...
 *
 *          KIND:WHOM[:MS[:SECONDS]], where WHOM is a process, or the link from a process to a
 *          server, and SECONDS how wrong a clock is, FAULT_CLOCK_S if it does not say.
 * Owns     A plan belongs to the caller and contains no pointers.
 * Fails    fault_plan_read() fails the test if the text is not a plan.
 */
#ifndef TESTS_FAULTS_FAULT_PLAN_H
#define TESTS_FAULTS_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
    FAULT_KILL,  /* a process, by SIGKILL, repeated for that long; the supervisor restarts it */
    FAULT_STOP,  /* a process with all of its threads; a server with all of its processes */
    FAULT_CUT,   /* a link is closed, and refuses connections for that long */
    FAULT_DROP,  /* a link is closed repeatedly for that long, and accepts connections at once */
    FAULT_SLOW,  /* everything on a link takes FAULT_DELAY_MS longer, in each direction */
    FAULT_MUTE,  /* a link is half open: replies of the server are held */
    FAULT_DEAF,  /* a link is half open: requests of the process are held */
    FAULT_PAUSE, /* both */
    FAULT_FULL,  /* the disk of PostgreSQL has no space left */
    FAULT_AHEAD, /* the clock of a process, which may be PostgreSQL, is ahead */
    FAULT_BEHIND,
    FAULT_KINDS
};

enum { FAULT_STEPS_MAX = 4096, FAULT_PAIR = 2, FAULT_DELAY_MS = 25, FAULT_CLOCK_S = 2 };

struct fault {
    enum fault_kind kind;
    char whom[40];
    int ms;      /* how long it lasts; 0 = a single kill */
    int clock_s; /* how wrong the clock is */
};

struct fault_step {
    struct fault faults[FAULT_PAIR];
    size_t n;
    int heal_ms; /* after the last of them has ended */
};

struct fault_plan {
    struct fault_step steps[FAULT_STEPS_MAX];
    size_t n;
};

/* The processes of the stack under test, in the order of their start; and which of them has a link
   to which server. */
extern const char *const fault_processes[];
extern const size_t fault_processes_n;
enum fault_server { FAULT_NATS, FAULT_POSTGRES, FAULT_SERVERS };
extern const char *const fault_servers[FAULT_SERVERS];
bool fault_has_link(const char *process, enum fault_server server);

/* Steps that take about `ms` in all; a fifth of the faults are of disks and clocks if these are
   wanted. */
void fault_plan_draw(struct fault_plan *plan, uint64_t seed, int64_t ms, bool with_machines);
/* Spread over about `ms` in all. */
void fault_plan_read(struct fault_plan *plan, const char *text, int64_t ms);
bool fault_plan_has(const struct fault_plan *plan, enum fault_kind kind);
bool fault_is_of_machine(const struct fault *fault); /* of a disk or a clock */
void fault_step_print(const struct fault_step *step, char *out, size_t capacity);

/* Numbers from a seed, the next one at each call. */
uint64_t fault_random(uint64_t *state);

#endif
