#include "tests/faults/faulty_clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/api_client.h"

bool faulty_clock_is_possible(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

static const char *folder(void)
{
    return format("%s/clocks", stack_setting("RUN_DIR"));
}

/* PostgreSQL runs as another user, who may have no access to the paths of this folder and of the
   build: a descriptor of the folder needs none. */
const char *faulty_clock_lines(const char *process)
{
    const char *library = stack_program("../tests/support/preload/clock_offset.so");

    cr_assert_eq(system(format("install -d -m 755 '%s' && install -m 755 '%s' '%s'", folder(),
                               library, folder())),
                 0);
    faulty_clock_set(process, 0);
    return format("exec 8<'%s'\n"
                  "export LD_PRELOAD=/proc/self/fd/8/clock_offset.so\n"
                  "export CLOCK_OFFSET_FILE=/proc/self/fd/8/%s\n",
                  folder(), process);
}

/* Overwritten in place, since the process has mapped the file. */
void faulty_clock_set(const char *process, int seconds_ahead)
{
    const char *path = format("%s/%s", folder(), process);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const int64_t seconds = seconds_ahead;

    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    cr_assert_eq(fchmod(fd, 0644), 0);
    cr_assert_eq(write(fd, &seconds, sizeof(seconds)), (ssize_t)sizeof(seconds));
    close(fd);
}
