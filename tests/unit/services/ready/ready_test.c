/* The program, with an admin listener that is ready, not ready, or missing. */
#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/http/admin.h"
#include "tests/support/port.h"

enum { OUTPUT_MAX = 1024 };

struct told {
    int code;
    char text[OUTPUT_MAX]; /* standard output and error */
};

static bool says_ready(void *closure, char reason[128])
{
    const char *why = closure;

    if (why == NULL)
        return true;
    (void)snprintf(reason, 128, "%s", why);
    return false;
}

/* The programs are in bin/ of the folder that this test was built into. */
static void program_path(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

    cr_assert(n > 0);
    path[n] = '\0';
    char *end = strstr(path, "/tests/unit/");
    cr_assert(end != NULL);
    strcpy(end, "/bin/ready");
}

static struct told ask_with(const char *settings, const char *argument)
{
    char path[PATH_MAX], command[PATH_MAX + 256];
    struct told told = {0};

    program_path(path);
    snprintf(command, sizeof(command), "env -i %s '%s' %s 2>&1", settings, path, argument);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL);
    told.text[fread(told.text, 1, sizeof(told.text) - 1, pipe)] = '\0';
    int status = pclose(pipe);
    cr_assert(WIFEXITED(status));
    told.code = WEXITSTATUS(status);
    return told;
}

static struct told ask(const char *settings)
{
    return ask_with(settings, "");
}

/* Runs the program with a listener that is not ready for the reason `why`; NULL = it is ready. */
static struct told ask_beside(const char *listens, const char *why)
{
    const struct admin_options options = {
        .address = listens, .port = port_free(), .is_ready = says_ready, .closure = (char *)why};
    struct admin *admin;
    char settings[128];

    cr_assert_eq(admin_start(&options, &admin), ST_OK);
    snprintf(settings, sizeof(settings), "ADMIN_ADDRESS=%s ADMIN_PORT=%u", listens, options.port);
    struct told told = ask(settings);
    admin_stop(admin);
    return told;
}

Test(ready, is_content_with_a_process_that_is_ready)
{
    struct told told = ask_beside("127.0.0.1", NULL);

    cr_assert_eq(told.code, 0);
    cr_assert_str_empty(told.text);
}

Test(ready, finds_a_listener_on_all_addresses)
{
    cr_assert_eq(ask_beside("0.0.0.0", NULL).code, 0);
    cr_assert_eq(ask_beside("::", NULL).code, 0);
}

/* As haproxy's, which closes the connection with its response. */
static void *answer_once(void *listener)
{
    static const char response[] = "HTTP/1.1 200 OK\r\n\r\n";
    char request[256];
    int fd = accept(*(int *)listener, NULL, NULL);

    if (recv(fd, request, sizeof(request), 0) > 0)
        (void)send(fd, response, sizeof(response) - 1, MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

Test(ready, finds_a_listener_at_a_path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t thread;
    char settings[256];

    snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/ready-%d", getpid());
    snprintf(settings, sizeof(settings), "ADMIN_ADDRESS=%s", at.sun_path);
    cr_assert_eq(ask(settings).code, 1);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(pthread_create(&thread, NULL, answer_once, &listener), 0);
    struct told told = ask(settings);
    unlink(at.sun_path);
    cr_assert_eq(told.code, 0, "%s", told.text);
    pthread_join(thread, NULL);
    close(listener);
}

Test(ready, prints_why_a_process_is_not_ready)
{
    struct told told = ask_beside("127.0.0.1", "the bus is unreachable");

    cr_assert_eq(told.code, 1);
    cr_assert(strstr(told.text, "the bus is unreachable") != NULL, "%s", told.text);
}

Test(ready, fails_if_nothing_listens)
{
    char settings[64];

    snprintf(settings, sizeof(settings), "ADMIN_PORT=%u", port_free());
    struct told told = ask(settings);
    cr_assert_eq(told.code, 1);
    cr_assert(strstr(told.text, "refused") != NULL, "%s", told.text);
}

Test(ready, sends_no_request_when_it_is_used_wrongly)
{
    struct told told = ask_with("ADMIN_PORT=9100", "--help");

    cr_assert_eq(told.code, 1);
    cr_assert_str_eq(told.text, "ready: takes no arguments except --version\n");
}

Test(ready, needs_a_port_and_an_address_in_digits)
{
    cr_assert_eq(ask("").code, 1);
    cr_assert_eq(ask("ADMIN_PORT=http").code, 1);
    cr_assert_eq(ask("ADMIN_ADDRESS=localhost ADMIN_PORT=9100").code, 1);
}
