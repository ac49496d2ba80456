#include "services/webhook/transfers.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "services/webhook/ca_bundle.h"
#include "services/webhook/transfer.h"

enum { FDS_MAX = 32 };

struct transfers {
    struct transfers_options options;
    CURLM *multi;
    struct ca_bundles *bundles;
};

struct transfers *transfers_new(const struct transfers_options *options)
{
    struct ca_bundles *bundles = ca_bundles_new(options->ca_file);
    struct transfers *transfers;

    if (bundles == NULL)
        return NULL;
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    transfers = heap_zeroed(1, sizeof(*transfers));
    transfers->options = *options;
    transfers->bundles = bundles;
    transfers->multi = curl_multi_init();
    must(transfers->multi != NULL);
    return transfers;
}

void transfers_free(struct transfers *transfers)
{
    if (transfers == NULL)
        return;
    curl_multi_cleanup(transfers->multi);
    ca_bundles_free(transfers->bundles);
    curl_global_cleanup();
    free(transfers);
}

/* -- beginning and ending ---------------------------------------------------------------------- */

void transfers_begin(struct transfers *transfers, struct attempt *attempt, int fd)
{
    struct transfer *transfer = transfer_new();
    CURLMcode code;

    attempt->transfer = transfer;
    transfer_set_up(transfer, attempt, fd, ca_bundle_take(transfers->bundles));
    code = curl_multi_add_handle(transfers->multi, transfer->easy);
    must(code == CURLM_OK);
}

void transfers_release(struct transfers *transfers, struct attempt *attempt)
{
    struct transfer *transfer = attempt->transfer;

    if (transfer == NULL)
        return;
    attempt->transfer = NULL;
    curl_multi_remove_handle(transfers->multi, transfer->easy);
    transfer_free(transfer);
}

static void finish(struct transfers *transfers, struct transfer *transfer, CURLcode code)
{
    struct attempt *attempt = transfer->attempt;
    const enum failure failure = transfer_classify(transfer, code);
    const bool was_sent = transfer->is_requesting;

    transfers_release(transfers, attempt);
    transfers->options.on_end(transfers->options.closure, attempt, failure, was_sent);
}

void transfers_give_up(struct transfers *transfers, struct attempt *attempt)
{
    finish(transfers, attempt->transfer, CURLE_OPERATION_TIMEDOUT);
}

void transfers_step(struct transfers *transfers)
{
    CURLMsg *message;
    int running, left;
    CURLMcode code = curl_multi_perform(transfers->multi, &running);

    must(code == CURLM_OK);
    while ((message = curl_multi_info_read(transfers->multi, &left)) != NULL) {
        struct transfer *transfer;
        CURLcode found;

        if (message->msg != CURLMSG_DONE)
            continue;
        found = curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        must(found == CURLE_OK);
        finish(transfers, transfer, message->data.result);
    }
}

/* -- waiting ----------------------------------------------------------------------------------- */

void transfers_wait(struct transfers *transfers, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct curl_waitfd waited[FDS_MAX];
    CURLMcode code;

    must(n <= FDS_MAX);
    /* libcurl has its own names for the flags, with the same meanings. */
    for (size_t i = 0; i < n; i++)
        waited[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                              (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
        };
    code = curl_multi_poll(transfers->multi, waited, (unsigned)n, timeout_ms, NULL);
    must(code == CURLM_OK);
    for (size_t i = 0; i < n; i++)
        fds[i].revents = (short)((waited[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
                                 (waited[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
}

void transfers_wake(struct transfers *transfers)
{
    curl_multi_wakeup(transfers->multi);
}
