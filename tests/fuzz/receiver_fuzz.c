/* The answer of a webhook's receiver, through libcurl with our options, but without TLS and over a
   socket pair. Whatever the receiver sends, the attempt ends with an answer or as a fault of the
   receiver, never as one of ours, and the stored excerpt is a part of the answer. The input is all
   that the receiver sends. */
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/webhook/transfer.h"
#include "tests/fuzz/fuzz.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

enum { ANSWER_MAX = 64 * 1024, BUFFER = 512 * 1024 };

static struct attempt attempt;
static struct transfer *transfer;
static struct str answer;
static int receiver = -1;

/* -- between transfer.c and libcurl ------------------------------------------------------------ */

/* Replaces the system's for libcurl, which calls it for a connected socket as well (transfer.c). */
int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    return 0;
}

/* Replaces libcurl's: allows plain HTTP. Every value is a pointer or as wide as one. */
CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    static CURLcode (*next)(CURL *, CURLoption, ...);
    va_list arguments;
    void *value;

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "curl_easy_setopt");
    va_start(arguments, option);
    value = va_arg(arguments, void *);
    va_end(arguments);
    if (option == CURLOPT_PROTOCOLS_STR)
        return next(curl, option, "http");
    return next(curl, option, value);
}

/* Pretends that TLS was set up. */
CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    static CURLcode (*next)(CURL *, CURLINFO, ...);
    va_list arguments;
    void *value;

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "curl_easy_getinfo");
    va_start(arguments, info);
    value = va_arg(arguments, void *);
    va_end(arguments);
    if (info != CURLINFO_APPCONNECT_TIME_T && info != CURLINFO_CONNECT_TIME_T)
        return next(curl, info, value);
    *(curl_off_t *)value = 1;
    return CURLE_OK;
}

/* -- one attempt ------------------------------------------------------------------------------- */

/* Returns a connected socket from which the answer can be read. */
static int connected(void)
{
    const int size = BUFFER;
    int pair[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    receiver = pair[1];
    must(setsockopt(receiver, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
    must(send(receiver, answer.p, answer.n, MSG_NOSIGNAL) == (ssize_t)answer.n);
    must(shutdown(receiver, SHUT_WR) == 0);
    return pair[0];
}

static void set_up(void)
{
    static bool is_ready;

    if (is_ready)
        return;
    is_ready = true;
    fuzz_quiet();
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    attempt = (struct attempt){
        .arena = {.cap = 1 << 20},
        .id = STR("01890000-0000-7000-8000-000000000000"),
        .url = STR("http://receiver.example/hook"),
        .event_type = STR("conversation.created"),
        .body = STR("{}"),
        .parsed_url = {.port = 443},
        .address = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1}},
    };
}

static void check_status(void)
{
    const int status = attempt.http_status;

    switch (attempt.failure) {
    case FAILURE_NONE:
        must(status >= 200 && status < 300);
        return;
    case FAILURE_HTTP_3XX:
        must(status >= 300 && status < 400);
        return;
    case FAILURE_HTTP_4XX:
        must(status >= 400 && status < 500);
        return;
    case FAILURE_HTTP_5XX:
        must(status >= 500 && status < 600);
        return;
    case FAILURE_HTTP_OTHER:
        must(status < 200 || status > 599);
        return;
    default:
        must(attempt.failure == FAILURE_CLOSED || attempt.failure == FAILURE_PROTOCOL);
    }
}

/* A chunked body is contiguous in the input only if it has one chunk. */
static void check_excerpt(void)
{
    const struct str excerpt = {attempt.excerpt, attempt.excerpt_n};
    struct str shown;

    must(excerpt.n <= ATTEMPT_EXCERPT_MAX);
    if (excerpt.n > 0 && memmem(answer.p, answer.n, "hunked", 6) == NULL)
        must(memmem(answer.p, answer.n, excerpt.p, excerpt.n) != NULL ||
             memmem(answer.p, answer.n, "HUNKED", 6) != NULL);
    shown = attempt_inert(&attempt.arena, excerpt);
    must(shown.n <= excerpt.n && text_is_utf8(shown) && !text_has_nul(shown));
    must(str_equal(attempt_inert(&attempt.arena, shown), shown));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > ANSWER_MAX)
        return 0;
    set_up();
    transfer = transfer_new();
    answer = (struct str){(const char *)data, n};
    attempt.begun_us = clock_mono_us();
    attempt.excerpt_n = 0;
    transfer_set_up(transfer, &attempt, connected(), NULL);
    attempt.failure = transfer_classify(transfer, curl_easy_perform(transfer->easy));
    must(!transfer->was_blocked);
    check_status();
    check_excerpt();
    transfer_free(transfer);
    close(receiver);
    arena_clear(&attempt.arena);
    return 0;
}
