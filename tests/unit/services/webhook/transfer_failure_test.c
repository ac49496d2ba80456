#include "services/webhook/transfer.h"

#include <criterion/criterion.h>

Test(transfer_failure, follows_the_status_of_a_whole_answer)
{
    static const struct {
        int status;
        enum failure failure;
    } cases[] = {
        {200, FAILURE_NONE},       {204, FAILURE_NONE},       {299, FAILURE_NONE},
        {300, FAILURE_HTTP_3XX},   {399, FAILURE_HTTP_3XX},   {400, FAILURE_HTTP_4XX},
        {499, FAILURE_HTTP_4XX},   {500, FAILURE_HTTP_5XX},   {599, FAILURE_HTTP_5XX},
        {600, FAILURE_HTTP_OTHER}, {199, FAILURE_HTTP_OTHER}, {0, FAILURE_HTTP_OTHER},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct attempt attempt = {.http_status = cases[i].status};

        cr_expect_eq(transfer_failure(CURLE_OK, &attempt), cases[i].failure, "%d", cases[i].status);
    }
}

Test(transfer_failure, distinguishes_a_lost_connection_from_a_failed_handshake)
{
    const struct attempt before = {.tls_us = -1}, after = {.tls_us = 900};

    cr_expect_eq(transfer_failure(CURLE_RECV_ERROR, &before), FAILURE_TLS);
    cr_expect_eq(transfer_failure(CURLE_RECV_ERROR, &after), FAILURE_CLOSED);
    cr_expect_eq(transfer_failure(CURLE_GOT_NOTHING, &after), FAILURE_CLOSED);
}

Test(transfer_failure, blames_the_receiver_for_a_response_too_long_for_memory)
{
    const struct attempt before = {.tls_us = -1}, after = {.tls_us = 900};

    cr_expect_eq(transfer_failure(CURLE_OUT_OF_MEMORY, &before), FAILURE_INTERNAL);
    cr_expect_eq(transfer_failure(CURLE_OUT_OF_MEMORY, &after), FAILURE_PROTOCOL);
    cr_expect_eq(transfer_failure(CURLE_BAD_FUNCTION_ARGUMENT, &before), FAILURE_INTERNAL);
    cr_expect_eq(transfer_failure(CURLE_BAD_FUNCTION_ARGUMENT, &after), FAILURE_PROTOCOL);
    cr_expect_eq(transfer_failure((CURLcode)100, &after), FAILURE_PROTOCOL, "CURLE_TOO_LARGE");
}

Test(transfer_failure, is_no_success_without_a_whole_answer)
{
    const struct attempt answered = {.http_status = 200, .tls_us = 900};

    for (int code = CURLE_OK + 1; code < CURL_LAST; code++)
        cr_expect_neq(transfer_failure((CURLcode)code, &answered), FAILURE_NONE, "curl's %d", code);
}
