#include "services/webhook/deliver.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "services/webhook/ca_bundle.h"
#include "services/webhook/transfer.h"

enum { FDS_MAX = 32 };

struct deliver {
    struct deliver_options options;
    CURLM *multi;
    char ca_path[CA_BUNDLE_PATH];
    int ca_fd;
    struct transfer *idle; /* handles that can be used again */
};

/* -- beginning and ending --------------------------------------------------------------------- */

static struct transfer *idle_transfer(struct deliver *deliver)
{
    struct transfer *transfer = deliver->idle;

    if (transfer == NULL)
        return transfer_new();
    deliver->idle = transfer->next;
    return transfer;
}

void deliver_begin(struct deliver *deliver, struct attempt *attempt)
{
    struct transfer *transfer = idle_transfer(deliver);

    attempt->transfer = transfer;
    transfer_set_up(transfer, attempt, deliver->ca_path);
    must(curl_multi_add_handle(deliver->multi, transfer->easy) == CURLM_OK);
}

void deliver_release(struct deliver *deliver, struct attempt *attempt)
{
    struct transfer *transfer = attempt->transfer;

    attempt->transfer = NULL;
    curl_multi_remove_handle(deliver->multi, transfer->easy);
    transfer_clear(transfer);
    transfer->next = deliver->idle;
    deliver->idle = transfer;
}

static void finish(struct deliver *deliver, struct transfer *transfer, CURLcode code)
{
    struct attempt *attempt = transfer->attempt;

    transfer_classify(transfer, code);
    deliver_release(deliver, attempt);
    deliver->options.on_end(deliver->options.closure, attempt);
}

void deliver_step(struct deliver *deliver)
{
    CURLMsg *message;
    int running, left;

    must(curl_multi_perform(deliver->multi, &running) == CURLM_OK);
    while ((message = curl_multi_info_read(deliver->multi, &left)) != NULL) {
        struct transfer *transfer;

        if (message->msg != CURLMSG_DONE)
            continue;
        must(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer) == CURLE_OK);
        finish(deliver, transfer, message->data.result);
    }
}

/* -- waiting ---------------------------------------------------------------------------------- */

void deliver_wait(struct deliver *deliver, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct curl_waitfd waited[FDS_MAX];

    must(n <= FDS_MAX);
    /* The flags have libcurl's names and the same meaning. */
    for (size_t i = 0; i < n; i++)
        waited[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                              (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
        };
    must(curl_multi_poll(deliver->multi, waited, (unsigned)n, timeout_ms, NULL) == CURLM_OK);
    for (size_t i = 0; i < n; i++)
        fds[i].revents = (short)((waited[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
                                 (waited[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
}

void deliver_wake(struct deliver *deliver)
{
    curl_multi_wakeup(deliver->multi);
}

/* -- opening and closing ----------------------------------------------------------------------- */

struct deliver *deliver_new(const struct deliver_options *options)
{
    struct deliver *deliver = calloc(1, sizeof(*deliver));

    must(deliver != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    deliver->options = *options;
    deliver->ca_fd = ca_bundle_open(options->ca_file, deliver->ca_path);
    if (deliver->ca_fd < 0) {
        free(deliver);
        return NULL;
    }
    deliver->multi = curl_multi_init();
    must(deliver->multi != NULL);
    return deliver;
}

void deliver_free(struct deliver *deliver)
{
    struct transfer *transfer;

    if (deliver == NULL)
        return;
    while ((transfer = deliver->idle) != NULL) {
        deliver->idle = transfer->next;
        transfer_free(transfer);
    }
    curl_multi_cleanup(deliver->multi);
    curl_global_cleanup();
    ca_bundle_close(deliver->ca_fd);
    free(deliver);
}
