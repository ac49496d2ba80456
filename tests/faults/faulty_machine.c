#include "tests/faults/faulty_machine.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/postgres_disk.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SANITIZER = true };
#else
enum { HAS_SANITIZER = false };
#endif

static bool has_disk, has_clocks;
static struct supervisor_log_span full[FAULT_STEPS_MAX];
static size_t n_full;

static const char *folder(void)
{
    return format("%s/clocks", stack_setting("RUN_DIR"));
}

/* Overwritten in place, since the process has mapped the file. */
static void set_clock(const char *process, int64_t seconds_ahead)
{
    const char *path = format("%s/%s", folder(), process);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    cr_assert_eq(fchmod(fd, 0644), 0);
    cr_assert_eq(write(fd, &seconds_ahead, sizeof(seconds_ahead)), (ssize_t)sizeof(seconds_ahead));
    close(fd);
}

/* PostgreSQL runs as another user, who may have no access to the paths of this folder and of the
   build: a descriptor of the folder needs none. */
static void open_clocks(void)
{
    const char *library = stack_program("../tests/support/preload/clock_offset.so");

    cr_assert_eq(system(format("install -d -m 755 '%s' && install -m 755 '%s' '%s'", folder(),
                               library, folder())),
                 0);
    for (size_t i = 0; i < fault_processes_n; i++)
        set_clock(fault_processes[i], 0);
}

void faulty_machine_open(const struct fault_plan *plan)
{
    const bool wants_disk = fault_plan_has(plan, FAULT_FULL);
    const bool wants_clocks =
        fault_plan_has(plan, FAULT_AHEAD) || fault_plan_has(plan, FAULT_BEHIND);

    has_disk = wants_disk && postgres_disk_is_possible();
    has_clocks = wants_clocks && !HAS_SANITIZER;
    if (has_disk)
        postgres_disk_open();
    else if (wants_disk)
        fprintf(stderr, "impossible here: no disk is filled, since none can be mounted\n");
    if (has_clocks)
        open_clocks();
    else if (wants_clocks)
        fprintf(stderr, "impossible here: no clock is set, since the programs have a sanitizer\n");
}

bool faulty_machine_has(enum fault_kind kind)
{
    return kind == FAULT_FULL ? has_disk : has_clocks;
}

const char *faulty_machine_lines(const char *process)
{
    if (!has_clocks)
        return "";
    return format("exec 8<'%s'\n"
                  "export LD_PRELOAD=/proc/self/fd/8/clock_offset.so\n"
                  "export CLOCK_OFFSET_FILE=/proc/self/fd/8/%s\n",
                  folder(), process);
}

void faulty_machine_expect_clocks(void)
{
    for (size_t i = 0; has_clocks && i < fault_processes_n; i++)
        if (strcmp(fault_processes[i], fault_servers[FAULT_NATS]) != 0)
            cr_assert_eq(system(format("grep -q clock_offset.so /proc/%d/maps",
                                       (int)stack_pid(fault_processes[i]))),
                         0, "%s has the clock of the machine", fault_processes[i]);
}

void faulty_machine_begin(const struct fault *fault)
{
    if (fault->kind != FAULT_FULL) {
        set_clock(fault->whom, fault->kind == FAULT_AHEAD ? fault->clock_s : -fault->clock_s);
        return;
    }
    full[n_full++ % FAULT_STEPS_MAX] = (struct supervisor_log_span){.begin = time(NULL)};
    postgres_disk_fill();
}

void faulty_machine_end(const struct fault *fault)
{
    if (fault->kind != FAULT_FULL) {
        set_clock(fault->whom, 0);
        return;
    }
    postgres_disk_free();
    full[(n_full - 1) % FAULT_STEPS_MAX].end = time(NULL);
}

size_t faulty_machine_full(const struct supervisor_log_span **spans)
{
    *spans = full;
    return n_full < FAULT_STEPS_MAX ? n_full : FAULT_STEPS_MAX;
}
