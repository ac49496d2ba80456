#include "services/gateway/head.h"

static void note_by_name(struct head *head, struct str name, struct str value)
{
    if (str_equal(name, STR("x-forwarded-proto")))
        head->forwarded_proto = value;
    else if (str_equal(name, STR("traceparent")))
        head->traceparent = head->n_traceparent++ == 0 ? str_trim_ows(value) : STR_NONE;
}

void head_read(const h2o_req_t *req, struct head *head)
{
    head->n_authorization = head->n_content_type = 0;
    head->n_accept = head->n_forwarded_for = head->n_traceparent = 0;
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
