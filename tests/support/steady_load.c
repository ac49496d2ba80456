#include "tests/support/steady_load.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { RESPONSE_CAPACITY = 64 * 1024 };

static int connect_to(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

static bool send_whole(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Reads an answer of whatever length and keeps none of it: its status, 0 when the connection ended.
 */
static int read_response(int fd)
{
    char head[RESPONSE_CAPACITY];
    size_t n = 0;
    long long left;
    const char *end = NULL, *length;
    int status = 0;

    while (end == NULL) {
        const ssize_t got = recv(fd, head + n, sizeof(head) - 1 - n, 0);

        if (got <= 0)
            return 0;
        n += (size_t)got;
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    length = strcasestr(head, "\r\ncontent-length:");
    if (length == NULL || sscanf(head, "HTTP/1.1 %d", &status) != 1)
        return 0;
    left =
        atoll(length + strlen("\r\ncontent-length:")) - (long long)(n - (size_t)(end + 4 - head));
    while (left > 0) {
        const ssize_t got = recv(fd, head, sizeof(head), 0);

        if (got <= 0)
            return 0;
        left -= got;
    }
    return status;
}

static void pause_until(int64_t due_us)
{
    const int64_t left_us = due_us - clock_mono_us();

    if (left_us > 0)
        poll(NULL, 0, (int)(left_us / 1000));
}

static void *ask(void *closure)
{
    struct steady_load_client *const self = closure;
    const struct steady_load *const load = self->load;
    const int64_t every_us = INT64_C(1000000) * STEADY_LOAD_CLIENTS / load->per_second;
    int64_t due_us = clock_mono_us() + every_us * self->number / STEADY_LOAD_CLIENTS;
    int fd = connect_to(load->port);

    for (int i = self->number; clock_mono_us() < load->end_us; i++, due_us += every_us) {
        const char *const request = load->requests[i % load->n_requests];
        int status;

        pause_until(due_us);
        due_us = clock_mono_us() > due_us + every_us ? clock_mono_us() : due_us;
        status = send_whole(fd, request, strlen(request)) ? read_response(fd) : 0;
        self->count.responses += status == 200;
        self->count.refused += status == 429 || status == 503;
        if (status == 0) {
            close(fd);
            fd = connect_to(load->port);
        }
    }
    close(fd);
    return NULL;
}

void steady_load_start(struct steady_load *load, int64_t end_us)
{
    load->end_us = end_us;
    for (int i = 0; i < STEADY_LOAD_CLIENTS; i++) {
        struct steady_load_client *const member = &load->members[i];

        *member = (struct steady_load_client){.load = load, .number = i};
        cr_assert_eq(pthread_create(&member->thread, NULL, ask, member), 0);
    }
}

struct steady_load_count steady_load_stop(struct steady_load *load)
{
    struct steady_load_count count = {.responses = 0};

    for (int i = 0; i < STEADY_LOAD_CLIENTS; i++) {
        pthread_join(load->members[i].thread, NULL);
        count.responses += load->members[i].count.responses;
        count.refused += load->members[i].count.refused;
    }
    return count;
}
