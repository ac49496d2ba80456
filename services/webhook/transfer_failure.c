#include "services/webhook/transfer_failure.h"

#include "common/base/log.h"

static enum failure classify_status(int status)
{
    if (status >= 200 && status < 300)
        return FAILURE_NONE;
    if (status >= 300 && status < 400)
        return FAILURE_HTTP_3XX;
    if (status >= 400 && status < 500)
        return FAILURE_HTTP_4XX;
    return status >= 500 && status < 600 ? FAILURE_HTTP_5XX : FAILURE_HTTP_OTHER;
}

enum failure transfer_failure(CURLcode code, const struct attempt *attempt)
{
    switch (code) {
    case CURLE_OK:
        return classify_status(attempt->http_status);
    case CURLE_OPERATION_TIMEDOUT:
        return FAILURE_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
        return FAILURE_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return FAILURE_TLS;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return attempt->tls_us >= 0 ? FAILURE_CLOSED : FAILURE_TLS;
    case CURLE_OUT_OF_MEMORY:
        /* It calls a header line too long so; without memory we would not be here. */
        return attempt->tls_us >= 0 ? FAILURE_PROTOCOL : FAILURE_INTERNAL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_BAD_CONTENT_ENCODING:
        return FAILURE_PROTOCOL;
    default:
        LOG(LOG_WARNING, "a delivery failed for an unknown reason", log_int("curl", code));
        return FAILURE_INTERNAL;
    }
}
