/* haproxy in front of the gateways under Docker Compose (deploy/compose/front.cfg): whom it admits,
   what it compresses, and how a new one replaces it. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/port.h"

TestSuite(front, .init = stack_share);

enum { WAITS_MS = 30000, OF_SOURCE = 5, OF_NETWORK = 20, LINKS_MAX = 64 };

/* Bounds in the file, and what the test puts in their place. */
static const struct change {
    const char *from, *to;
} bounds[] = {{"sc0_conn_cur(sources) gt 500", "sc0_conn_cur(sources) gt 5"},
              {"sc1_conn_cur(networks) gt 2000", "sc1_conn_cur(networks) gt 20"},
              {"timeout http-request 10s", "timeout http-request 120s"}};

static int port;
static const char *gateway; /* HOST:PORT; NULL: the file's own, which leads nowhere here */

static const char *changed(const char *line)
{
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        const char *at = strstr(line, bounds[i].from);

        if (at != NULL)
            line = format("%.*s%s%s", (int)(at - line), line, bounds[i].to,
                          at + strlen(bounds[i].from));
    }
    if (gateway != NULL && strstr(line, " gateway:8080") != NULL)
        return format("    server gateway-1 %s no-check\n", gateway);
    if (strncmp(line, "    bind ", 9) == 0)
        return format("    bind 127.0.0.1:%d\n",
                      strstr(line, ":8080") != NULL ? port : port_free());
    return line;
}

static void write_config(const char *path)
{
    FILE *const from = fopen("deploy/compose/front.cfg", "re"), *const to = fopen(path, "we");
    char line[1024];

    cr_assert(from != NULL && to != NULL);
    while (fgets(line, sizeof(line), from) != NULL)
        fputs(changed(line), to);
    fclose(from);
    cr_assert_eq(fclose(to), 0);
}

/* A connection from that address; -1 while nothing listens. */
static int connect_from(const char *address)
{
    struct sockaddr_in mine = {.sin_family = AF_INET}, its = {.sin_family = AF_INET};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0);
    mine.sin_addr.s_addr = inet_addr(address);
    its.sin_addr.s_addr = inet_addr("127.0.0.1");
    its.sin_port = htons((uint16_t)port);
    cr_assert_eq(bind(fd, (struct sockaddr *)&mine, sizeof(mine)), 0);
    if (connect(fd, (struct sockaddr *)&its, sizeof(its)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool listens(void *closure)
{
    const int fd = connect_from("127.0.9.1");

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* At `port`, where others may listen, too. */
static pid_t run_front(const char *config)
{
    const pid_t pid = fork();

    cr_assert_geq(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("TRUSTED_PROXIES", "127.0.8.1", 1);
        setenv("TLS_PEM", "", 1);
        execlp("haproxy", "haproxy", "-db", "-q", "-f", config, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static const char *start_front(pid_t *pid)
{
    const char *config;

    port = port_free();
    config = format("%s/front-%d.cfg", stack_setting("RUN_DIR"), port);
    write_config(config);
    *pid = run_front(config);
    cr_assert(stack_wait(listens, NULL, WAITS_MS), "haproxy does not answer");
    return config;
}

struct links {
    struct pollfd fds[LINKS_MAX];
    nfds_t n;
};

static void open_links(struct links *links, const char *address, int n)
{
    for (int i = 0; i < n; i++) {
        cr_assert_lt(links->n, LINKS_MAX);
        links->fds[links->n++] =
            (struct pollfd){.fd = connect_from(address), .events = POLLIN | POLLRDHUP};
    }
}

static int count_shut(struct links *links)
{
    const int n = poll(links->fds, links->n, 10);

    cr_assert_geq(n, 0);
    return n;
}

static bool is_answered(const char *address)
{
    static const char request[] = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
    const int fd = connect_from(address);
    char response[16] = "";
    bool is;

    is = send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0 &&
         recv(fd, response, sizeof(response) - 1, 0) > 0 && strncmp(response, "HTTP/1.1 ", 9) == 0;
    close(fd);
    return is;
}

static struct links links;

static bool are_shut(void *n)
{
    return count_shut(&links) >= *(int *)n;
}

static void expect_shut(int n)
{
    cr_assert(stack_wait(are_shut, &n, WAITS_MS), "%d are closed", count_shut(&links));
    cr_assert(is_answered("127.0.9.1"), "somebody else");
    cr_assert_eq(count_shut(&links), n);
}

Test(front, limits_the_connections_of_a_source_and_a_network)
{
    pid_t pid;

    start_front(&pid);
    open_links(&links, "127.0.1.1", OF_SOURCE + 3);
    expect_shut(3);
    open_links(&links, "127.0.1.2", OF_SOURCE);
    open_links(&links, "127.0.1.3", OF_SOURCE);
    open_links(&links, "127.0.1.4", OF_SOURCE);
    expect_shut(3);
    open_links(&links, "127.0.1.5", 2);
    expect_shut(5);
    open_links(&links, "127.0.8.1", OF_NETWORK + 1);
    expect_shut(5);
}

Test(front, starts_with_whatever_proxies_there_are)
{
    static const char *const proxies[] = {"", "10.0.0.0/8", "10.0.0.0/8 fd00::/8"};

    for (size_t i = 0; i < sizeof(proxies) / sizeof(*proxies); i++)
        cr_expect_eq(system(format("TRUSTED_PROXIES='%s' TLS_PEM= ADMIN_ADDRESS=/tmp/front"
                                   " haproxy -c -q -f deploy/compose/front.cfg",
                                   proxies[i])),
                     0, "%s", proxies[i]);
}

/* -- compression ----------------------------------------------------------------------------- */

static const struct client_response *ask_front(const struct org *org, const char *method,
                                               const char *path, const char *body)
{
    static const char *const headers[] = {"Accept-Encoding: gzip", NULL};

    return http_send(&(struct client_request){
        .method = method,
        .path = path,
        .body = body,
        .key = org->full_key,
        .headers = headers,
        .base = format("http://127.0.0.1:%d/api/v1", port),
        .skip_checks = true,
    });
}

static bool is_compressed(const struct client_response *response)
{
    const char *const encoding = http_header(response, "Content-Encoding");

    cr_assert_eq(response->status, 200, "%s", response->body);
    return encoding != NULL && strcmp(encoding, "gzip") == 0;
}

static void use_gateway(void)
{
    const char *const host = stack_setting("BASE_URL") + strlen("http://");

    gateway = format("%.*s", (int)strcspn(host, "/"), host);
}

Test(front, compresses_pages_and_nothing_else)
{
    struct org org;
    pid_t pid;

    use_gateway();
    start_front(&pid);
    org_new(&org);
    cr_assert(is_compressed(ask_front(&org, "POST", "/conversations/search",
                                      "{\"query\":{\"field\":\"contact.external_id\","
                                      "\"operator\":\"=\",\"value\":\"nobody\"}}")));
    cr_assert(is_compressed(ask_front(&org, "GET", "/audit", NULL)));
    cr_assert_not(is_compressed(ask_front(&org, "GET", "/ping", NULL)));
}

/* -- replacement ------------------------------------------------------------------------------ */

/* Sends a request over the connection; whether the response announces that it closes. */
static bool closes(struct http_connection *connection)
{
    static const char request[] = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n\r\n";
    struct connection_response response;

    cr_assert(http_connection_send(connection, request, sizeof(request) - 1));
    cr_assert(http_connection_receive(connection, &response, HTTP_TIMEOUT_MS));
    return response.closes;
}

static bool has_ended(void *pid)
{
    return waitpid(*(pid_t *)pid, NULL, WNOHANG) == *(pid_t *)pid;
}

/* A client that sends while its connection is being closed gets no response. */
Test(front, answers_on_kept_connections_until_its_successor_has_all)
{
    struct http_connection kept, later;
    const char *config;
    pid_t old;

    use_gateway();
    config = start_front(&old);
    cr_assert(http_connection_open(&kept, port));
    cr_assert_not(closes(&kept));
    run_front(config);
    cr_assert_eq(kill(old, SIGUSR1), 0);
    while (!closes(&kept))
        ;
    http_connection_close(&kept);
    cr_assert(stack_wait(has_ended, &old, WAITS_MS));
    cr_assert(stack_wait(listens, NULL, WAITS_MS));
    cr_assert(http_connection_open(&later, port));
    cr_assert_not(closes(&later));
    http_connection_close(&later);
}
