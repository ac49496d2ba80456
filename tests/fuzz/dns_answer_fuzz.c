/* Answers of a hostile name server, through c-ares with our options: a lookup always ends, and its
   addresses are in the answer. The input is the answer after its id and without the question:
   flags, counts and records. If c-ares waits for more after that, it gets "no such name". */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/lookup.h"
#include "tests/fuzz/fuzz.h"

enum { MESSAGE_MAX = 1232, ROUNDS_MAX = 64, WAIT_MS = 20, HEAD = 12, NO_SUCH_NAME = 3 };

static struct lookups *lookups;
static int server = -1;
static struct str answer;
static bool is_done;

static void set_up(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    char name[64];

    fuzz_quiet();
    server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(server >= 0 && bind(server, (struct sockaddr *)&at, length) == 0);
    must(getsockname(server, (struct sockaddr *)&at, &length) == 0);
    snprintf(name, sizeof(name), "127.0.0.1:%u", ntohs(at.sin_port));
    lookups = lookups_new(&(struct dns_options){.servers = name, .dns_only = true});
    must(lookups != NULL);
}

/* Each address is four or sixteen bytes of a record. */
static void on_done(void *closure, const struct address *addresses, size_t n)
{
    must(n <= LOOKUP_ADDRESSES_MAX);
    for (size_t i = 0; i < n; i++)
        must(memmem(answer.p, answer.n, addresses[i].b, 16) != NULL ||
             memmem(answer.p, answer.n, addresses[i].b + 12, 4) != NULL);
    is_done = true;
}

/* The end of the question: after its name, type and class. */
static size_t question_end(const uint8_t *query, size_t n)
{
    size_t at = HEAD;

    while (at < n && query[at] != 0)
        at += (size_t)query[at] + 1;
    return at + 5 <= n ? at + 5 : n;
}

static size_t write_answer(const uint8_t *query, size_t n, bool is_first, uint8_t *out)
{
    const size_t begin = question_end(query, n);
    size_t flags = answer.n < HEAD - 2 ? answer.n : HEAD - 2, records = answer.n - flags;

    memcpy(out, query, begin);
    if (!is_first) {
        out[2] |= 0x80;
        out[3] = NO_SUCH_NAME;
        memset(out + 6, 0, 6);
        return begin;
    }
    memcpy(out + 2, answer.p, flags);
    if (records > MESSAGE_MAX - begin)
        records = MESSAGE_MAX - begin;
    memcpy(out + begin, answer.p + flags, records);
    return begin + records;
}

/* Answers each query with "no such name", in the first round after the input. */
static void serve(bool is_first)
{
    uint8_t query[MESSAGE_MAX], out[MESSAGE_MAX];
    struct sockaddr_in from;
    socklen_t length = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(server, query, sizeof(query), 0, (struct sockaddr *)&from, &length)) > 0) {
        size_t size = write_answer(query, (size_t)n, is_first, out);

        (void)sendto(server, out, size, 0, (struct sockaddr *)&from, length);
        if (is_first) {
            size = write_answer(query, (size_t)n, false, out);
            (void)sendto(server, out, size, 0, (struct sockaddr *)&from, length);
        }
        length = sizeof(from);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > MESSAGE_MAX)
        return 0;
    if (lookups == NULL)
        set_up();
    answer = (struct str){(const char *)data, n};
    is_done = false;
    (void)lookup_begin(lookups, "receiver.example", on_done, NULL);
    for (int round = 0; !is_done && round < ROUNDS_MAX; round++) {
        struct pollfd fd = {.fd = lookups_descriptor(lookups), .events = POLLIN};

        serve(round == 0);
        (void)poll(&fd, 1, lookups_timeout_ms(lookups, WAIT_MS));
        lookups_process(lookups);
    }
    must(is_done);
    return 0;
}
