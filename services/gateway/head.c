#include "services/gateway/head.h"

#include <string.h>

#define TRACEPARENT_TEXT 55
/* What is passed on as a header of the bus is kept short. */
#define TRACEPARENT_MOST 128

static bool is_hex(struct str s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        if (strchr("0123456789abcdef", s.p[i]) == NULL || s.p[i] == '\0')
            return false;
    return true;
}

static bool is_zero(struct str s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        if (s.p[i] != '0')
            return false;
    return true;
}

bool head_is_traceparent(struct str s)
{
    if (s.n < TRACEPARENT_TEXT || s.n > TRACEPARENT_MOST)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    if (s.p[2] != '-' || s.p[35] != '-' || s.p[52] != '-' || !is_hex(s, 0, 2) ||
        !is_hex(s, 3, 32) || !is_hex(s, 36, 16) || !is_hex(s, 53, 2))
        return false;
    if (str_starts(s, STR("ff")) || is_zero(s, 3, 32) || is_zero(s, 36, 16))
        return false;
    /* Version 00 ends here; a later one may go on behind a hyphen. */
    return s.n == TRACEPARENT_TEXT || (!str_starts(s, STR("00")) && s.p[TRACEPARENT_TEXT] == '-');
}

static void note_by_name(struct head *head, struct str name, struct str value)
{
    if (str_equal(name, STR("x-forwarded-proto")))
        head->forwarded_proto = value;
    else if (str_equal(name, STR("traceparent")))
        head->traceparent =
            head_is_traceparent(str_trim_ows(value)) ? str_trim_ows(value) : STR_NONE;
}

void head_read(const h2o_req_t *req, struct head *head)
{
    head->n_authorization = head->n_content_type = 0;
    head->n_accept = head->n_forwarded_for = 0;
    head->authorization = head->content_type = STR_NONE;
    head->forwarded_proto = head->traceparent = STR_NONE;

    for (size_t i = 0; i < req->headers.size && i < HEAD_LINES_MOST; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        struct str value = {header->value.base, header->value.len};

        if (header->name == &H2O_TOKEN_AUTHORIZATION->buf) {
            head->authorization = value;
            head->n_authorization++;
        } else if (header->name == &H2O_TOKEN_CONTENT_TYPE->buf) {
            head->content_type = value;
            head->n_content_type++;
        } else if (header->name == &H2O_TOKEN_ACCEPT->buf) {
            head->accept[head->n_accept++] = value;
        } else if (header->name == &H2O_TOKEN_X_FORWARDED_FOR->buf) {
            head->forwarded_for[head->n_forwarded_for++] = value;
        } else {
            note_by_name(head, (struct str){header->name->base, header->name->len}, value);
        }
    }
}
