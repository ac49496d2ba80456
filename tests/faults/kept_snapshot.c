#include "tests/faults/kept_snapshot.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/stack.h"

static pid_t holder; /* 0: none */
static int n_taken;

static void hold(const char *url)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Its log would report the server's end, which is no news. */
    if (dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO) < 0 ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(126);
    execlp("psql", "psql", "-qXw", "-v", "ON_ERROR_STOP=1", url, "-c",
           "BEGIN ISOLATION LEVEL REPEATABLE READ", "-c", "SELECT count(*) FROM pg_class", "-c",
           "SELECT pg_sleep(86400)", NULL);
    _exit(127);
}

void kept_snapshot_renew(void)
{
    const char *const url = stack_setting("DATABASE_URL");
    int status;

    if (holder != 0 && waitpid(holder, &status, WNOHANG) == 0)
        return;
    cr_assert(holder == 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 127, "there is no psql");
    holder = fork();
    cr_assert_geq(holder, 0);
    if (holder == 0)
        hold(url);
    n_taken++;
}

int kept_snapshot_end(void)
{
    const int n = n_taken;

    if (holder != 0) {
        kill(holder, SIGKILL);
        cr_assert_eq(waitpid(holder, NULL, 0), holder);
    }
    holder = 0;
    n_taken = 0;
    return n;
}
