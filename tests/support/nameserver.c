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

/* A parsed question, and its answer so far. */
struct exchange {
    char labels[LABELS_MAX][64];
    size_t n_labels, question_n;
    unsigned type;
    size_t offset_behind_cname; /* of the name without its first label */
    unsigned char message[MESSAGE_MAX];
    size_t n;
    unsigned n_responses;
};

static bool read_question(struct exchange *exchange)
{
    size_t at = HEAD;

    while (at < exchange->n && exchange->message[at] != 0) {
        const size_t n = exchange->message[at];

        if (n > 63 || at + 1 + n >= exchange->n || exchange->n_labels == LABELS_MAX)
            return false;
        memcpy(exchange->labels[exchange->n_labels], exchange->message + at + 1, n);
        exchange->labels[exchange->n_labels++][n] = '\0';
        at += 1 + n;
        if (exchange->n_labels == 1)
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

static bool read_label(const char *label, unsigned type, unsigned char address[16])
{
    unsigned a, b, c, d;

    if (type == TYPE_A && sscanf(label, "a-%u-%u-%u-%u", &a, &b, &c, &d) == 4) {
        address[0] = (unsigned char)a;
        address[1] = (unsigned char)b;
        address[2] = (unsigned char)c;
        address[3] = (unsigned char)d;
        return true;
    }
    if (type != TYPE_AAAA || strncmp(label, "aaaa-", 5) != 0 || strlen(label) != 37)
        return false;
    for (int i = 0; i < 16; i++) {
        if (sscanf(label + 5 + 2 * i, "%2x", &a) != 1)
            return false;
        address[i] = (unsigned char)a;
    }
    return true;
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

        if (!read_label(exchange->labels[i], exchange->type, address))
            continue;
        if (only < 0 || only == nth)
            add(exchange, name, exchange->type, address, exchange->type == TYPE_A ? 4 : 16);
        nth++;
    }
}

/* 0: send no answer. */
static size_t response(struct exchange *exchange)
{
    static int rebinds;
    bool exists = false;
    unsigned code;

    if (exchange->n < HEAD || !read_question(exchange) || has(exchange, "silent"))
        return 0;
    for (size_t i = 0; i < exchange->n_labels; i++)
        exists |= exchange->labels[i][0] == 'a' && strchr(exchange->labels[i], '-') != NULL;
    if (has(exchange, "rebind"))
        add_addresses(exchange, exchange->type == TYPE_A && rebinds++ == 0 ? 0 : 1);
    else if (!has(exchange, "servfail"))
        add_addresses(exchange, -1);
    code = has(exchange, "servfail") ? 2 : exists ? 0 : 3;
    exchange->message[2] = 0x85;
    exchange->message[3] = (unsigned char)(0x80 | code);
    memset(exchange->message + 6, 0, 6);
    exchange->message[7] = (unsigned char)exchange->n_responses;
    return exchange->n;
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
        size_t n;

        exchange.n = got > 0 ? (size_t)got : 0;
        n = response(&exchange);
        if (n > 0)
            sendto(fd, exchange.message, n, 0, (struct sockaddr *)&from, from_n);
    }
    return NULL;
}

void nameserver_start(void)
{
    static int fd;
    const char *colon = strrchr(stack_setting("WEBHOOK_DNS_SERVER"), ':');
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_t thread;

    cr_assert_not_null(colon);
    at.sin_port = htons((uint16_t)atoi(colon + 1));
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0, "another test has the port");
    cr_assert_eq(pthread_create(&thread, NULL, serve, &fd), 0);
    pthread_detach(thread);
}
