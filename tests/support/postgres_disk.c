#include "tests/support/postgres_disk.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/api_client.h"

#define SIZE      "4G" /* of a file that takes as much as is written */
#define MAKE_DISK "PATH=$PATH:/sbin:/usr/sbin mke2fs -q -F -t ext4 -m 0"

enum { START_MS = 60000, BLOCK = 4096 };

static const char balloon[] = "balloon";

/* Our own descriptor of its root folder keeps the disk mounted while PostgreSQL is down. */
static int disk = -1;

bool postgres_disk_is_possible(void)
{
    const char *file = format("%s/disk.try", stack_setting("RUN_DIR"));
    const bool is_possible =
        system(format("{ " MAKE_DISK " '%s' 1M && unshare --mount --propagation private"
                      " mount -o loop '%s' /mnt; } >/dev/null 2>&1",
                      file, file)) == 0;

    unlink(file);
    return is_possible;
}

/* The supervisor runs start/postgres; the stack's own script is kept beside it. Making the disk is
   left to the script, since PostgreSQL must not be running then. mount() uses the loop device that
   the file already has, so old processes of PostgreSQL and new ones share one file system. */
static void replace_script(void)
{
    const char *run = stack_setting("RUN_DIR"), *own = format("%s/start/postgres", run);
    const char *kept = format("%s.own", own);
    FILE *script;

    if (access(kept, F_OK) == 0)
        return;
    cr_assert_eq(rename(own, kept), 0, "%s: %s", own, strerror(errno));
    script = fopen(own, "we");
    cr_assert_not_null(script, "%s: %s", own, strerror(errno));
    fprintf(script,
            "set -e\n"
            "home='%s/postgres'\n"
            "if [ ! -e \"$home.disk\" ]; then\n"
            "  " MAKE_DISK " -d \"$home\" \"$home.new\" " SIZE "\n"
            "  mv \"$home.new\" \"$home.disk\"\n"
            "fi\n"
            "exec unshare --mount --propagation private sh -ec '\n"
            "  mount -o loop \"$1.disk\" \"$1\"\n"
            "  exec sh \"$2\"' sh \"$home\" '%s'\n",
            run, kept);
    cr_assert_eq(fclose(script), 0);
    /* Smart shutdown would wait for the services, and a crash would need a recovery. */
    stack_end("postgres", SIGINT);
}

/* Whether it runs on the disk; takes hold of that. A link in the path would lead out of PostgreSQL's
   view of the file systems into ours. */
static bool is_mounted(void *unused)
{
    const char *run = stack_setting("RUN_DIR");
    char home[PATH_MAX];
    struct stat inside, outside;
    const char *seen;

    (void)unused;
    cr_assert_not_null(realpath(format("%s/postgres", run), home), "%s", strerror(errno));
    seen = format("/proc/%d/root%s", (int)stack_pid("postgres"), home);
    if (PQping(stack_setting("DATABASE_URL")) != PQPING_OK || stat(seen, &inside) != 0 ||
        stat(home, &outside) != 0 || inside.st_dev == outside.st_dev)
        return false;
    disk = open(seen, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    return disk >= 0;
}

void postgres_disk_open(void)
{
    cr_assert_lt(disk, 0, "the disk is open already");
    replace_script();
    cr_assert(stack_wait(is_mounted, NULL, START_MS), "PostgreSQL does not start on its disk");
    postgres_disk_free();
}

void postgres_disk_fill(void)
{
    const int fd = openat(disk, balloon, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    off_t taken = 0, next = (off_t)1 << 32;

    cr_assert_geq(fd, 0, "%s", strerror(errno));
    while (next >= BLOCK)
        if (fallocate(fd, 0, taken, next) == 0) {
            taken += next;
        } else {
            cr_assert_eq(errno, ENOSPC, "%s", strerror(errno));
            next /= 2;
        }
    close(fd);
}

void postgres_disk_free(void)
{
    cr_assert(unlinkat(disk, balloon, 0) == 0 || errno == ENOENT, "%s", strerror(errno));
}
