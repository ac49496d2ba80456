#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/port.h"
#include "tests/support/stack.h"

static int listen_at(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    cr_assert_geq(fd, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, SOMAXCONN), 0);
    return fd;
}

/* A fork of the test would keep its memory and, in a test with hundreds of threads, have each of
   them fault on every page that it writes next. SIGUSR1 is blocked before the process starts, since
   a change of weather may arrive at once. */
void tcp_proxy_restore(struct tcp_proxy *proxy)
{
    const char *program = stack_program("../tests/support/programs/tcp_proxy");
    char *const arguments[] = {(char *)program, format("%u", proxy->to), NULL};
    const int listener = listen_at(proxy->port);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t told;

    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    cr_assert_eq(posix_spawnattr_init(&attributes), 0);
    cr_assert_eq(posix_spawnattr_setsigmask(&attributes, &told), 0);
    cr_assert_eq(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK), 0);
    cr_assert_eq(posix_spawn_file_actions_init(&files), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&files, listener, TCP_PROXY_LISTENER), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&files, proxy->weather_fd, TCP_PROXY_WEATHER), 0);
    cr_assert_eq(posix_spawn(&proxy->pid, program, &files, &attributes, arguments, environ), 0,
                 "%s", program);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(listener);
}

void tcp_proxy_start(struct tcp_proxy *proxy, uint16_t to)
{
    *proxy = (struct tcp_proxy){
        .port = port_free(),
        .to = to,
        .weather_fd = memfd_create("weather", MFD_CLOEXEC),
    };
    cr_assert_geq(proxy->weather_fd, 0);
    cr_assert_eq(ftruncate(proxy->weather_fd, sizeof(*proxy->weather)), 0);
    proxy->weather = mmap(NULL, sizeof(*proxy->weather), PROT_READ | PROT_WRITE, MAP_SHARED,
                          proxy->weather_fd, 0);
    cr_assert(proxy->weather != MAP_FAILED);
    tcp_proxy_restore(proxy);
}

void tcp_proxy_cut(struct tcp_proxy *proxy)
{
    cr_assert_eq(kill(proxy->pid, SIGKILL), 0);
    cr_assert_eq(waitpid(proxy->pid, NULL, 0), proxy->pid);
    proxy->pid = 0;
}

void tcp_proxy_pause(struct tcp_proxy *proxy)
{
    int status;

    cr_assert_eq(kill(proxy->pid, SIGSTOP), 0);
    cr_assert_eq(waitpid(proxy->pid, &status, WUNTRACED), proxy->pid);
    cr_assert(WIFSTOPPED(status));
}

void tcp_proxy_resume(struct tcp_proxy *proxy)
{
    cr_assert_eq(kill(proxy->pid, SIGCONT), 0);
}

void tcp_proxy_change_weather(struct tcp_proxy *proxy, const struct tcp_proxy_weather *now)
{
    proxy->weather->delay_ms = now->delay_ms;
    proxy->weather->holds_requests = now->holds_requests;
    proxy->weather->holds_replies = now->holds_replies;
    if (proxy->pid != 0)
        cr_assert_eq(kill(proxy->pid, SIGUSR1), 0);
}
