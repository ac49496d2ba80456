#include "tests/support/nats_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/port.h"

enum { START_MS = 30000, RETRY_MS = 5 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

void nats_server_configure(const struct nats_server *server, const char *config)
{
    FILE *file = fopen(server->config_file, "we");

    must(file != NULL);
    if (config == NULL || strstr(config, "max_payload") == NULL)
        must(fputs("max_payload: 8MB\n", file) >= 0);
    must(fputs(config != NULL ? config : "", file) >= 0);
    must(fclose(file) == 0);
}

void nats_server_prepare(struct nats_server *server, const char *config)
{
    int fd;

    *server = (struct nats_server){.port = port_free()};
    (void)snprintf(server->url, sizeof(server->url), "nats://127.0.0.1:%u", server->port);
    (void)snprintf(server->config_file, sizeof(server->config_file), "/tmp/nats-test-XXXXXX");
    fd = mkstemp(server->config_file);
    must(fd >= 0 && close(fd) == 0);
    nats_server_configure(server, config);
}

void nats_server_reload(const struct nats_server *server)
{
    must(kill(server->pid, SIGHUP) == 0);
}

static _Noreturn void run(const struct nats_server *server)
{
    char port[8];
    (void)snprintf(port, sizeof(port), "%u", server->port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", port, "-c", server->config_file,
           NULL);
    _exit(127);
}

/* Waits for the greeting, not only for a connection, which the kernel accepts before the server
   reads. */
static bool greets(const struct nats_server *server)
{
    struct sockaddr_in address = loopback(server->port);
    const struct timeval timeout = {.tv_sec = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char greeting[4];
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
              connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              recv(fd, greeting, sizeof(greeting), MSG_WAITALL) == sizeof(greeting);
    close(fd);
    return ok;
}

void nats_server_start(struct nats_server *server)
{
    int64_t until_us = clock_mono_us() + START_MS * 1000;
    server->pid = fork();
    must(server->pid >= 0);
    if (server->pid == 0)
        run(server);
    while (!greets(server)) {
        must(waitpid(server->pid, NULL, WNOHANG) == 0);
        must(clock_mono_us() < until_us);
        (void)poll(NULL, 0, RETRY_MS);
    }
}

void nats_server_kill(struct nats_server *server)
{
    must(kill(server->pid, SIGKILL) == 0);
    must(waitpid(server->pid, NULL, 0) == server->pid);
    server->pid = 0;
}

/* kill() returns before all threads have stopped. */
void nats_server_pause(struct nats_server *server)
{
    int status;

    must(kill(server->pid, SIGSTOP) == 0);
    must(waitpid(server->pid, &status, WUNTRACED) == server->pid && WIFSTOPPED(status));
}

void nats_server_resume(struct nats_server *server)
{
    must(kill(server->pid, SIGCONT) == 0);
}

void nats_server_stop(struct nats_server *server)
{
    if (server->pid != 0)
        nats_server_kill(server);
    if (server->config_file[0] != '\0') /* it was prepared */
        (void)unlink(server->config_file);
}
