#include "tests/support/nameserver.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/stack.h"

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28, HEAD = 12, MESSAGE_MAX = 1024, LABELS_MAX = 16 };
enum { UDP_MAX = 512, TRUNCATED = 0x02 };

/* A parsed question, and its answer so far. */
struct exchange {
    char labels[LABELS_MAX][64]; /* and parts of labels */
    size_t n_labels, question_n;
    unsigned type;
    size_t offset_behind_cname; /* of the name without its first label */
    unsigned char message[MESSAGE_MAX];
    size_t n;
    unsigned n_responses;
};

/* False: there are too many. */
static bool add_label(struct exchange *exchange, const char *bytes, size_t n)
{
    char text[64];

    memcpy(text, bytes, n);
    text[n] = '\0';
    for (char *part = text, *next; part != NULL; part = next) {
        next = strstr(part, "--");
        if (next != NULL) {
            *next = '\0';
            next += 2;
        }
        if (exchange->n_labels == LABELS_MAX)
            return false;
        snprintf(exchange->labels[exchange->n_labels++], sizeof(exchange->labels[0]), "%s", part);
    }
    return true;
}

static bool read_question(struct exchange *exchange)
{
    size_t at = HEAD;

    while (at < exchange->n && exchange->message[at] != 0) {
        const size_t n = exchange->message[at];

        if (n > 63 || at + 1 + n >= exchange->n ||
            !add_label(exchange, (const char *)exchange->message + at + 1, n))
            return false;
        at += 1 + n;
        if (exchange->offset_behind_cname == 0)
            exchange->offset_behind_cname = at;
    }
    if (at + 5 > exchange->n)
        return false;
    exchange->type = exchange->message[at + 2];
    exchange->n = at + 5;
    return true;
}

static bool has(const struct exchange *exchange, const char *label)
{
    for (size_t i = 0; i < exchange->n_labels; i++) {
        if (strcmp(exchange->labels[i], label) == 0)
            return true;
    }
    return false;
}

/* The name is a pointer into the message; the TTL is 0 seconds. */
static void add(struct exchange *exchange, size_t name, unsigned type, const void *data, size_t n)
{
    unsigned char *at = exchange->message + exchange->n;
    const unsigned char head[] = {(unsigned char)(0xc0 | name >> 8),
                                  (unsigned char)name,
                                  0,
                                  (unsigned char)type,
                                  0,
                                  1,
                                  0,
                                  0,
                                  0,
                                  0,
                                  0,
                                  (unsigned char)n};

    cr_assert_lt(exchange->n + sizeof(head) + n, sizeof(exchange->message));
    memcpy(at, head, sizeof(head));
    memcpy(at + sizeof(head), data, n);
    exchange->n += sizeof(head) + n;
    exchange->n_responses++;
}

/* How many addresses it stands for: this one and those after it. */
static unsigned read_label(const char *label, unsigned type, unsigned char address[16])
{
    unsigned a, b, c, d, n = 1;

    if (type == TYPE_A && sscanf(label, "a-%u-%u-%u-%u-%u", &a, &b, &c, &d, &n) >= 4) {
        address[0] = (unsigned char)a;
        address[1] = (unsigned char)b;
        address[2] = (unsigned char)c;
        address[3] = (unsigned char)d;
        return n;
    }
    if (type != TYPE_AAAA || strncmp(label, "aaaa-", 5) != 0 || strlen(label) != 37)
        return 0;
    for (int i = 0; i < 16; i++) {
        if (sscanf(label + 5 + 2 * i, "%2x", &a) != 1)
            return 0;
        address[i] = (unsigned char)a;
    }
    return 1;
}

static void add_addresses(struct exchange *exchange, int only)
{
    size_t name = HEAD;
    int nth = 0;

    if (has(exchange, "cname")) {
        const unsigned char to[] = {(unsigned char)(0xc0 | exchange->offset_behind_cname >> 8),
                                    (unsigned char)exchange->offset_behind_cname};

        name = exchange->offset_behind_cname;
        add(exchange, HEAD, TYPE_CNAME, to, sizeof(to));
    }
    for (size_t i = 0; i < exchange->n_labels; i++) {
        unsigned char address[16];
        const unsigned n = read_label(exchange->labels[i], exchange->type, address);

        for (unsigned k = 0; k < n; k++, address[3]++, nth++)
            if (only < 0 || only == nth)
                add(exchange, name, exchange->type, address, exchange->type == TYPE_A ? 4 : 16);
    }
}

/* `what` for both families, or for the one that is asked for. */
static bool has_for_family(const struct exchange *exchange, const char *what)
{
    char label[32];

    snprintf(label, sizeof(label), "%s-%s", what, exchange->type == TYPE_A ? "a" : "aaaa");
    return has(exchange, what) || has(exchange, label);
}

/* 0: send no answer. */
static size_t response(struct exchange *exchange)
{
    static int rebinds;
    bool exists = false, fails;
    unsigned code;

    if (exchange->n < HEAD || !read_question(exchange) || has_for_family(exchange, "silent"))
        return 0;
    fails = has_for_family(exchange, "servfail");
    for (size_t i = 0; i < exchange->n_labels; i++)
        exists |= exchange->labels[i][0] == 'a' && strchr(exchange->labels[i], '-') != NULL;
    if (has(exchange, "rebind"))
        add_addresses(exchange, exchange->type == TYPE_A && rebinds++ == 0 ? 0 : 1);
    else if (!fails)
        add_addresses(exchange, -1);
    code = fails ? 2 : exists ? 0 : 3;
    exchange->message[2] = 0x85;
    exchange->message[3] = (unsigned char)(0x80 | code);
    memset(exchange->message + 6, 0, 6);
    exchange->message[7] = (unsigned char)exchange->n_responses;
    return exchange->n;
}

/* An answer that is too long is asked for again over TCP. */
static size_t shorten(struct exchange *exchange)
{
    size_t at = HEAD;

    if (exchange->n <= UDP_MAX)
        return exchange->n;
    exchange->message[2] |= TRUNCATED;
    exchange->message[7] = 0;
    while (exchange->message[at] != 0)
        at += exchange->message[at] + 1U;
    return at + 5;
}

static void *serve(void *closure)
{
    const int fd = *(int *)closure;

    for (;;) {
        struct exchange exchange = {0};
        struct sockaddr_storage from;
        socklen_t from_n = sizeof(from);
        const ssize_t got = recvfrom(fd, exchange.message, sizeof(exchange.message), 0,
                                     (struct sockaddr *)&from, &from_n);

        exchange.n = got > 0 ? (size_t)got : 0;
        if (response(&exchange) > 0)
            sendto(fd, exchange.message, shorten(&exchange), 0, (struct sockaddr *)&from, from_n);
    }
    return NULL;
}

/* Questions and answers begin with their length in two bytes. */
static void answer_over_tcp(int fd)
{
    unsigned char length[2];

    while (recv(fd, length, sizeof(length), MSG_WAITALL) == (ssize_t)sizeof(length)) {
        struct exchange exchange = {.n = (size_t)(length[0] << 8 | length[1])};

        if (exchange.n > sizeof(exchange.message) ||
            recv(fd, exchange.message, exchange.n, MSG_WAITALL) != (ssize_t)exchange.n)
            return;
        if (response(&exchange) == 0)
            continue;
        length[0] = (unsigned char)(exchange.n >> 8);
        length[1] = (unsigned char)exchange.n;
        if (send(fd, length, sizeof(length), MSG_NOSIGNAL | MSG_MORE) < 0 ||
            send(fd, exchange.message, exchange.n, MSG_NOSIGNAL) < 0)
            return;
    }
}

static void *serve_connection(void *closure)
{
    const int fd = *(int *)closure;

    free(closure);
    answer_over_tcp(fd);
    close(fd);
    return NULL;
}

static void start_thread(void *(*run)(void *), void *closure)
{
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, run, closure), 0);
    pthread_detach(thread);
}

static void *serve_tcp(void *closure)
{
    const int listener = *(int *)closure;

    for (;;) {
        int *fd = malloc(sizeof(*fd));

        cr_assert_not_null(fd);
        *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (*fd >= 0)
            start_thread(serve_connection, fd);
        else
            free(fd);
    }
    return NULL;
}

void nameserver_start_at(uint16_t port)
{
    static int udp, tcp;
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    const int yes = 1;

    udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    cr_assert_eq(bind(udp, (const struct sockaddr *)&at, sizeof(at)), 0, "another test has it");
    cr_assert_eq(bind(tcp, (const struct sockaddr *)&at, sizeof(at)), 0, "another test has it");
    cr_assert_eq(listen(tcp, SOMAXCONN), 0);
    start_thread(serve, &udp);
    start_thread(serve_tcp, &tcp);
}

void nameserver_start(void)
{
    const char *colon = strrchr(stack_setting("WEBHOOK_DNS_SERVER"), ':');

    cr_assert_not_null(colon);
    nameserver_start_at((uint16_t)atoi(colon + 1));
}
