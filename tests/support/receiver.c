#include "tests/support/receiver.h"

#include <criterion/criterion.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/never_free.h"
#include "tests/support/port.h"
#include "tests/support/stack.h"

enum { REQUEST_MAX = 64 * 1024, STACK = 256 * 1024, DRIP_MS = 100, BIG = 100 * 1024 * 1024 };

struct receiver {
    SSL_CTX *tls; /* NULL: plain */
    int fd;
    uint16_t port;
    pthread_mutex_t lock;
    struct received *all;
    size_t n, capacity, connections, now, max;
    bool keeps_nothing;
};

/* Connections are served until the process ends: OpenSSL must not free at exit what their threads use, and has to be
   told so before its first use. */
static __attribute__((constructor)) void keep_crypto(void)
{
    crypto_open();
}

/* One connection. */
struct visit {
    struct receiver *receiver;
    int fd;
    SSL *tls;
    char request[REQUEST_MAX + 1];
    size_t n;
};

/* -- bytes ------------------------------------------------------------------------------------ */

static bool send_bytes(struct visit *visit, const void *bytes, size_t n)
{
    if (visit->tls != NULL)
        return SSL_write(visit->tls, bytes, (int)n) == (int)n;
    return send(visit->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool say(struct visit *visit, const char *text)
{
    return send_bytes(visit, text, strlen(text));
}

static int receive(struct visit *visit, void *bytes, size_t n)
{
    return visit->tls != NULL ? SSL_read(visit->tls, bytes, (int)n)
                              : (int)recv(visit->fd, bytes, n, 0);
}

static const char *header(const char *request, const char *name, char *out, size_t capacity)
{
    const char *at = request;
    const size_t n = strlen(name);

    out[0] = '\0';
    while ((at = strstr(at, "\r\n")) != NULL && strncmp(at, "\r\n\r\n", 4) != 0) {
        at += 2;
        if (strncasecmp(at, name, n) == 0 && at[n] == ':') {
            snprintf(out, capacity, "%.*s", (int)strcspn(at + n + 2, "\r"), at + n + 2);
            break;
        }
    }
    return out;
}

/* Head and body; false if the connection ends before. */
static bool read_request(struct visit *visit)
{
    char length[16];

    for (;;) {
        const char *body;
        const int got = receive(visit, visit->request + visit->n, REQUEST_MAX - visit->n);

        if (got <= 0)
            return false;
        visit->n += (size_t)got;
        visit->request[visit->n] = '\0';
        if (visit->request[0] == 0x16 && visit->tls == NULL) {
            say(visit, "HTTP/1.1 400 This is not TLS\r\n\r\n");
            return false;
        }
        body = strstr(visit->request, "\r\n\r\n");
        if (body == NULL)
            continue;
        header(visit->request, "Content-Length", length, sizeof(length));
        if (visit->n - (size_t)(body + 4 - visit->request) >= (size_t)atoi(length))
            return true;
    }
}

static void note(struct visit *visit, char path[128])
{
    struct receiver *receiver = visit->receiver;
    const char *request = visit->request, *body = strstr(request, "\r\n\r\n") + 4;
    struct received *one;
    const char *id;

    pthread_mutex_lock(&receiver->lock);
    if (receiver->n == receiver->capacity) {
        receiver->capacity = receiver->capacity * 2 + 64;
        receiver->all = realloc(receiver->all, receiver->capacity * sizeof(*receiver->all));
    }
    one = &receiver->all[receiver->n++];
    memset(one, 0, sizeof(*one));
    sscanf(request, "POST %127s", one->path);
    memcpy(path, one->path, sizeof(one->path));
    header(request, "X-Service-Event", one->event, sizeof(one->event));
    header(request, "X-Service-Delivery", one->delivery, sizeof(one->delivery));
    header(request, "X-Service-Timestamp", one->timestamp, sizeof(one->timestamp));
    header(request, "X-Service-Signature", one->signature, sizeof(one->signature));
    header(request, "Host", one->host, sizeof(one->host));
    header(request, "Content-Type", one->type, sizeof(one->type));
    one->body_n = visit->n - (size_t)(body - request);
    snprintf(one->body, sizeof(one->body), "%s", body);
    id = strstr(body, "\"evt_");
    snprintf(one->event_id, sizeof(one->event_id), "%.36s", id != NULL ? id + 1 : "");
    one->at_us = clock_mono_us();
    one->was_resumed = visit->tls != NULL && SSL_session_reused(visit->tls) == 1;
    if (++receiver->now > receiver->max)
        receiver->max = receiver->now;
    if (receiver->keeps_nothing)
        receiver->n--; /* the next request overwrites it */
    pthread_mutex_unlock(&receiver->lock);
}

/* -- responses -------------------------------------------------------------------------------- */

/* Waits until the other side closes. */
static void outwait(struct visit *visit)
{
    char bytes[512];

    while (receive(visit, bytes, sizeof(bytes)) > 0)
        continue;
}

/* Returns early if the other side closes. */
static void pass(struct visit *visit, int ms)
{
    struct pollfd fd = {.fd = visit->fd, .events = POLLIN};

    poll(&fd, 1, ms);
}

static void drip(struct visit *visit, int ms)
{
    const int64_t until_us = clock_mono_us() + ms * INT64_C(1000);

    say(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (clock_mono_us() < until_us && say(visit, "1\r\n.\r\n")) {
        const int64_t left_ms = (until_us - clock_mono_us()) / 1000;

        pass(visit, left_ms < DRIP_MS ? (int)left_ms + 1 : DRIP_MS);
    }
    say(visit, "0\r\n\r\n");
}

static void repeat(struct visit *visit, const char *first, const char *line)
{
    if (say(visit, first))
        while (say(visit, line))
            continue;
}

static void send_full(struct visit *visit)
{
    static const char max[4096 + 1] = {[0 ... 4095] = 'x'};

    say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    if (say(visit, max))
        outwait(visit);
}

static void send_big(struct visit *visit)
{
    static const char block[16384];

    say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n");
    for (size_t n = 0; n < BIG && send_bytes(visit, block, sizeof(block)); n += sizeof(block))
        continue;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void response_status(struct visit *visit, int status)
{
    char text[128]; /* format() would keep one for each delivery */

    snprintf(text, sizeof(text),
             "HTTP/1.1 %d X\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n", status);
    say(visit, text);
}

static void answer_oddly(struct visit *visit, const char *path)
{
    if (begins(path, "/redirect"))
        say(visit, format("HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:%d/ok/target\r\n"
                          "Content-Length: 0\r\n\r\n",
                          visit->receiver->port));
    else if (begins(path, "/endless-head"))
        repeat(visit, "HTTP/1.1 200 OK\r\n",
               "X-Filler: 0123456789012345678901234567890123456789\r\n");
    else if (begins(path, "/endless-line"))
        repeat(visit, "HTTP/1.1 200 OK\r\nX-Filler: ", "0123456789012345678901234567890123456789");
    else if (begins(path, "/endless-100"))
        repeat(visit, "", "HTTP/1.1 100 Continue\r\n\r\n");
    else if (begins(path, "/big"))
        send_big(visit);
    else if (begins(path, "/gzip"))
        repeat(visit,
               "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1048576\r\n\r\n",
               "\x1f\x8b\x08\x01\x01\x01\x01\x01\x01\x03\xed\xc1\x01\x0d");
    else if (begins(path, "/squeezed"))
        repeat(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
               "10\r\n\x1f\x8b\x08\x01\x01\x01\x01\x01\x01\x03\xed\xc1\x01\x0d\x01\x01\r\n");
    else if (begins(path, "/half"))
        say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    else if (begins(path, "/garbage"))
        say(visit, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
    else if (begins(path, "/bad-chunk"))
        say(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nx\r\n");
    else if (begins(path, "/upgrade"))
        say(visit, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello");
    else if (begins(path, "/no-header"))
        say(visit, "HTTP/1.1 200 OK\r\nno header\r\n\r\n");
    else if (begins(path, "/goes-on"))
        say(visit, "HTTP/1.1 200 OK\r\n X-Filler: x\r\nContent-Length: 2\r\n\r\nok");
    else if (begins(path, "/full"))
        send_full(visit);
    else if (begins(path, "/escape"))
        say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n\x1b[31m<b>\xff\r\nx");
}

static void response(struct visit *visit, const char *path)
{
    int number = 0;

    if (begins(path, "/ok")) {
        response_status(visit, 200);
    } else if (sscanf(path, "/status/%d", &number) == 1) {
        response_status(visit, number);
    } else if (begins(path, "/hang")) {
        outwait(visit);
    } else if (sscanf(path, "/drip/%d", &number) == 1) {
        drip(visit, number);
    } else if (sscanf(path, "/slow/%d", &number) == 1) {
        pass(visit, number);
        response_status(visit, 200);
    } else {
        answer_oddly(visit, path);
    }
}

/* -- connections ------------------------------------------------------------------------------ */

/* While a thread ends, the memory that OpenSSL keeps for it is unreachable, and the process may end
   just then. */
static void hide_from_leak_checker(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_disable();
#endif
}

static void *serve(void *closure)
{
    struct visit *visit = closure;
    struct receiver *receiver = visit->receiver;
    char path[128];

    hide_from_leak_checker();
    if (receiver->tls != NULL) {
        visit->tls = SSL_new(receiver->tls);
        SSL_set_fd(visit->tls, visit->fd);
    }
    if ((visit->tls == NULL || SSL_accept(visit->tls) == 1) && read_request(visit)) {
        note(visit, path);
        response(visit, path);
        if (visit->tls != NULL)
            SSL_shutdown(visit->tls);
        pthread_mutex_lock(&receiver->lock);
        receiver->now--;
        pthread_mutex_unlock(&receiver->lock);
    }
    SSL_free(visit->tls);
    close(visit->fd);
    free(visit);
    return NULL;
}

static void *accept_all(void *closure)
{
    struct receiver *receiver = closure;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    for (;;) {
        struct visit *visit;
        pthread_t thread;
        const int fd = accept4(receiver->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            continue;
        visit = calloc(1, sizeof(*visit));
        visit->receiver = receiver;
        visit->fd = fd;
        pthread_mutex_lock(&receiver->lock);
        receiver->connections++;
        pthread_mutex_unlock(&receiver->lock);
        if (pthread_create(&thread, &attributes, serve, visit) != 0)
            abort();
    }
    return NULL;
}

static SSL_CTX *tls_with(const char *certificate)
{
    const char *folder = stack_setting("WEBHOOK_CERTIFICATES");
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

    cr_assert_eq(SSL_CTX_use_certificate_chain_file(tls, format("%s/%s.pem", folder, certificate)),
                 1);
    cr_assert_eq(
        SSL_CTX_use_PrivateKey_file(tls, format("%s/server.key", folder), SSL_FILETYPE_PEM), 1);
    return tls;
}

struct receiver *receiver_start(const char *certificate)
{
    struct receiver *receiver = never_free(calloc(1, sizeof(*receiver)));
    pthread_t thread;

    signal(SIGPIPE, SIG_IGN);
    receiver->tls = strcmp(certificate, "plain") == 0 ? NULL : tls_with(certificate);
    pthread_mutex_init(&receiver->lock, NULL);
    receiver->fd = port_bound(&receiver->port);
    cr_assert_eq(listen(receiver->fd, 4096), 0);
    cr_assert_eq(pthread_create(&thread, NULL, accept_all, receiver), 0);
    pthread_detach(thread);
    return receiver;
}

int receiver_port(const struct receiver *receiver)
{
    return receiver->port;
}

const char *receiver_url(const struct receiver *receiver, const char *path)
{
    return format("https://127.0.0.1:%d%s", receiver->port, path);
}

void receiver_keep_nothing(struct receiver *receiver)
{
    pthread_mutex_lock(&receiver->lock);
    receiver->keeps_nothing = true;
    pthread_mutex_unlock(&receiver->lock);
}

/* -- what has come ---------------------------------------------------------------------------- */

size_t receiver_count(struct receiver *receiver, const char *path)
{
    size_t n = 0;

    pthread_mutex_lock(&receiver->lock);
    for (size_t i = 0; i < receiver->n; i++)
        n += begins(receiver->all[i].path, path);
    pthread_mutex_unlock(&receiver->lock);
    return n;
}

const struct received *receiver_get(struct receiver *receiver, const char *path, size_t nth)
{
    struct received *copy = NULL;

    pthread_mutex_lock(&receiver->lock);
    for (size_t i = 0; i < receiver->n && copy == NULL; i++) {
        if (!begins(receiver->all[i].path, path) || nth-- > 0)
            continue;
        copy = never_free(malloc(sizeof(*copy)));
        *copy = receiver->all[i];
    }
    pthread_mutex_unlock(&receiver->lock);
    return copy;
}

void receiver_each(struct receiver *receiver,
                   void (*visit)(const struct received *received, void *closure), void *closure)
{
    pthread_mutex_lock(&receiver->lock);
    for (size_t i = 0; i < receiver->n; i++)
        visit(&receiver->all[i], closure);
    pthread_mutex_unlock(&receiver->lock);
}

struct awaited {
    struct receiver *receiver;
    const char *path;
    size_t n;
};

static bool has_come(void *closure)
{
    const struct awaited *awaited = closure;

    return receiver_count(awaited->receiver, awaited->path) >= awaited->n;
}

bool receiver_wait(struct receiver *receiver, const char *path, size_t n, int timeout_ms)
{
    return stack_wait(has_come, &(struct awaited){receiver, path, n}, timeout_ms);
}

void receiver_await(struct receiver *receiver, const char *path, size_t n, int timeout_ms)
{
    cr_assert(receiver_wait(receiver, path, n, timeout_ms), "%zu of %zu requests came to %s",
              receiver_count(receiver, path), n, path);
}

size_t receiver_connections(struct receiver *receiver)
{
    size_t n;

    pthread_mutex_lock(&receiver->lock);
    n = receiver->connections;
    pthread_mutex_unlock(&receiver->lock);
    return n;
}

size_t receiver_most_at_once(struct receiver *receiver)
{
    size_t n;

    pthread_mutex_lock(&receiver->lock);
    n = receiver->max;
    pthread_mutex_unlock(&receiver->lock);
    return n;
}
