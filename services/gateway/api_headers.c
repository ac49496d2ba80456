#include "services/gateway/api_headers.h"

static void note_by_name(struct api_headers *headers, struct str name, struct str value)
{
    if (str_equal(name, STR("x-forwarded-proto")))
        headers->forwarded_proto = value;
    else if (str_equal(name, STR("traceparent")))
        headers->traceparent = headers->n_traceparent++ == 0 ? str_trim_ows(value) : STR_NONE;
}

void api_headers_read(const h2o_req_t *req, struct api_headers *headers)
{
    headers->n_authorization = headers->n_content_type = 0;
    headers->n_accept = headers->n_forwarded_for = headers->n_traceparent = 0;
    headers->authorization = headers->content_type = STR_NONE;
    headers->forwarded_proto = headers->traceparent = STR_NONE;

    for (size_t i = 0; i < req->headers.size && i < API_HEADERS_MAX; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        struct str value = {header->value.base, header->value.len};

        if (header->name == &H2O_TOKEN_AUTHORIZATION->buf) {
            headers->authorization = value;
            headers->n_authorization++;
        } else if (header->name == &H2O_TOKEN_CONTENT_TYPE->buf) {
            headers->content_type = value;
            headers->n_content_type++;
        } else if (header->name == &H2O_TOKEN_ACCEPT->buf) {
            headers->accept[headers->n_accept++] = value;
        } else if (header->name == &H2O_TOKEN_X_FORWARDED_FOR->buf) {
            headers->forwarded_for[headers->n_forwarded_for++] = value;
        } else {
            note_by_name(headers, (struct str){header->name->base, header->name->len}, value);
        }
    }
}
