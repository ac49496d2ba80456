#include "tests/faults/fault_plan.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

const char *const fault_processes[] = {
    "postgres", "nats",      "access-0",    "conversation-0", "conversation-1", "search-0",
    "audit-0",  "webhook-0", "dashboard-0", "gateway-0",      "gateway-1",
};
const size_t fault_processes_n = ARRAY_SIZE(fault_processes);
const char *const fault_servers[FAULT_SERVERS] = {"nats", "postgres"};

static const char *const kinds[FAULT_KINDS] = {
    [FAULT_KILL] = "kill",   [FAULT_STOP] = "stop",     [FAULT_CUT] = "cut",
    [FAULT_DROP] = "drop",   [FAULT_SLOW] = "slow",     [FAULT_MUTE] = "mute",
    [FAULT_DEAF] = "deaf",   [FAULT_PAUSE] = "pause",   [FAULT_FULL] = "full",
    [FAULT_AHEAD] = "ahead", [FAULT_BEHIND] = "behind",
};

enum {
    FIRST_OF_OURS = 2,
    FAULT_MIN_MS = 300,
    FAULT_MAX_MS = 3500,
    HEAL_MIN_MS = 600,
    HEAL_MAX_MS = 2500
};

static bool is_gateway(const char *process)
{
    return strncmp(process, "gateway", 7) == 0;
}

bool fault_has_link(const char *process, enum fault_server server)
{
    const bool is_front = is_gateway(process) || strncmp(process, "dashboard", 9) == 0;
    const bool is_server = strcmp(process, "postgres") == 0 || strcmp(process, "nats") == 0;

    return !is_server && (server == FAULT_NATS || !is_front);
}

/* splitmix64 */
uint64_t fault_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int between(uint64_t *state, int least, int most)
{
    return least + (int)(fault_random(state) % (uint64_t)(most - least + 1));
}

/* One time in three all services lose a server together: then the link is called "all". */
static void draw_link(struct fault *fault, uint64_t *state)
{
    const enum fault_server server = (enum fault_server)between(state, 0, FAULT_SERVERS - 1);
    const char *process = "all";

    if (between(state, 0, 2) > 0)
        do
            process = fault_processes[between(state, FIRST_OF_OURS, (int)fault_processes_n - 1)];
        while (!fault_has_link(process, server));
    snprintf(fault->whom, sizeof(fault->whom), "%s/%s", fault_servers[server], process);
}

/* Within what all allow for, beyond a deadline, beyond what the seal allows, and by a time zone. */
static const int clocks_s[] = {FAULT_CLOCK_S, 6, 90, 3600};

/* The sender of webhooks verifies the receivers' certificates, which are as old as the stack. */
static int clock_of(const char *process, enum fault_kind kind, uint64_t *state)
{
    const bool verifies = kind == FAULT_BEHIND && strcmp(process, "webhook-0") == 0;
    const int last = verifies ? 1 : ARRAY_SIZE(clocks_s) - 1;

    return clocks_s[between(state, 0, last)];
}

/* The clock of nats-server, a Go program, cannot be moved; it does not need the time. */
static void draw_of_machine(struct fault *fault, uint64_t *state)
{
    const char *process = fault_servers[FAULT_POSTGRES];

    fault->kind = (enum fault_kind)between(state, FAULT_FULL, FAULT_BEHIND);
    if (fault->kind != FAULT_FULL) {
        do
            process = fault_processes[between(state, 0, (int)fault_processes_n - 1)];
        while (strcmp(process, fault_servers[FAULT_NATS]) == 0);
        fault->clock_s = clock_of(process, fault->kind, state);
    }
    snprintf(fault->whom, sizeof(fault->whom), "%s", process);
}

/* Half of the other faults are of processes, half of links. Drawn in sequence, since an initializer
   has no defined order. */
static struct fault draw_fault(uint64_t *state, bool with_machines)
{
    const bool is_of_machine = with_machines && between(state, 1, 5) == 1;
    const bool is_of_process = between(state, 0, 1) == 0;
    struct fault fault = {.ms = between(state, FAULT_MIN_MS, FAULT_MAX_MS)};

    if (is_of_machine) {
        draw_of_machine(&fault, state);
    } else if (is_of_process) {
        fault.kind = (enum fault_kind)between(state, FAULT_KILL, FAULT_STOP);
        snprintf(fault.whom, sizeof(fault.whom), "%s",
                 fault_processes[between(state, 0, (int)fault_processes_n - 1)]);
    } else {
        fault.kind = (enum fault_kind)between(state, FAULT_CUT, FAULT_PAUSE);
        draw_link(&fault, state);
    }
    if (fault.kind == FAULT_KILL)
        fault.ms = 0;
    return fault;
}

/* Whether the two faults of a pair are about different processes or links. */
static bool are_apart(const struct fault *a, const struct fault *b)
{
    const char *a_link = strchr(a->whom, '/'), *b_link = strchr(b->whom, '/');

    if (a_link != NULL && b_link != NULL)
        return strncmp(a->whom, b->whom, (size_t)(a_link - a->whom)) != 0;
    return strcmp(a->whom, b->whom) != 0;
}

void fault_plan_draw(struct fault_plan *plan, uint64_t seed, int64_t ms, bool with_machines)
{
    uint64_t state = seed;

    plan->n = 0;
    while (ms > 0 && plan->n < FAULT_STEPS_MAX) {
        struct fault_step *step = &plan->steps[plan->n++];
        int lasts_ms;

        step->faults[0] = draw_fault(&state, with_machines);
        step->n = between(&state, 0, 2) == 0 ? FAULT_PAIR : 1;
        if (step->n == FAULT_PAIR)
            do
                step->faults[1] = draw_fault(&state, with_machines);
            while (!are_apart(&step->faults[0], &step->faults[1]));
        lasts_ms = step->faults[0].ms;
        if (step->n == FAULT_PAIR && step->faults[1].ms > lasts_ms)
            lasts_ms = step->faults[1].ms;
        step->heal_ms = between(&state, HEAL_MIN_MS, HEAL_MAX_MS);
        ms -= lasts_ms + step->heal_ms;
    }
}

bool fault_is_of_machine(const struct fault *fault)
{
    return fault->kind >= FAULT_FULL;
}

/* Whether there is such a disk or clock; other faults fail when they begin. */
static bool has_target(const struct fault *fault)
{
    if (fault->kind == FAULT_FULL)
        return strcmp(fault->whom, fault_servers[FAULT_POSTGRES]) == 0;
    for (size_t i = 0; i < fault_processes_n; i++)
        if (strcmp(fault->whom, fault_processes[i]) == 0)
            return strcmp(fault->whom, fault_servers[FAULT_NATS]) != 0;
    return false;
}

static void read_fault(struct fault *fault, const char *text)
{
    char kind[16] = "";

    *fault = (struct fault){.kind = FAULT_KINDS, .clock_s = FAULT_CLOCK_S};
    (void)sscanf(text, "%15[a-z]:%39[a-z/0-9-]:%d:%d", kind, fault->whom, &fault->ms,
                 &fault->clock_s);
    for (int i = 0; i < FAULT_KINDS; i++)
        if (strcmp(kind, kinds[i]) == 0)
            fault->kind = (enum fault_kind)i;
    cr_assert(fault->kind != FAULT_KINDS && fault->whom[0] != '\0', "no fault: %s", text);
    cr_assert(!fault_is_of_machine(fault) || has_target(fault), "no disk or clock: %s", text);
}

void fault_plan_read(struct fault_plan *plan, const char *text, int64_t ms)
{
    char *copy = strdup(text), *left = copy;
    int64_t lasting_ms = 0;

    cr_assert_not_null(copy);
    plan->n = 0;
    for (char *word; (word = strsep(&left, " ")) != NULL;) {
        struct fault_step *step = &plan->steps[plan->n];
        char *second = strchr(word, '+');

        if (word[0] == '\0')
            continue;
        cr_assert_lt(plan->n++, FAULT_STEPS_MAX);
        step->n = 1;
        read_fault(&step->faults[0], word);
        if (second != NULL)
            read_fault(&step->faults[step->n++], second + 1);
        lasting_ms += step->faults[0].ms;
    }
    for (size_t i = 0; i < plan->n; i++)
        plan->steps[i].heal_ms =
            ms > lasting_ms ? (int)((ms - lasting_ms) / (int64_t)plan->n) : HEAL_MIN_MS;
    free(copy);
}

bool fault_plan_has(const struct fault_plan *plan, enum fault_kind kind)
{
    for (size_t i = 0; i < plan->n; i++)
        for (size_t j = 0; j < plan->steps[i].n; j++)
            if (plan->steps[i].faults[j].kind == kind)
                return true;
    return false;
}

void fault_step_print(const struct fault_step *step, char *out, size_t capacity)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < step->n && n < capacity; i++) {
        const struct fault *fault = &step->faults[i];

        n += (size_t)snprintf(out + n, capacity - n, "%s%s:%s:%d", i > 0 ? "+" : "",
                              kinds[fault->kind], fault->whom, fault->ms);
        if (fault->kind >= FAULT_AHEAD && n < capacity)
            n += (size_t)snprintf(out + n, capacity - n, ":%d", fault->clock_s);
    }
}
