#include "services/dashboard/dashboard_headers.h"

static const struct {
    const char *name;
    size_t offset;
} known[] = {
    {"content-type", offsetof(struct dashboard_headers, content_type)},
    {"origin", offsetof(struct dashboard_headers, origin)},
    {"x-csrf-token", offsetof(struct dashboard_headers, csrf)},
    {"sec-fetch-site", offsetof(struct dashboard_headers, fetch_site)},
    {"user-agent", offsetof(struct dashboard_headers, user_agent)},
    {"accept-encoding", offsetof(struct dashboard_headers, accept_encoding)},
    {"if-none-match", offsetof(struct dashboard_headers, if_none_match)},
    {"traceparent", offsetof(struct dashboard_headers, traceparent)},
    {"x-forwarded-proto", offsetof(struct dashboard_headers, forwarded_proto)},
};

static void note(struct dashboard_headers *headers, struct str name, struct str value)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_equal(name, str_of(known[i].name))) {
            struct dashboard_header *header =
                (struct dashboard_header *)(void *)((char *)headers + known[i].offset);

            header->value = value;
            header->n++;
            return;
        }
}

void dashboard_headers_read(const h2o_req_t *req, struct dashboard_headers *headers)
{
    *headers = (struct dashboard_headers){0};
    for (size_t i = 0; i < req->headers.size && i < DASHBOARD_HEADERS_MAX; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        struct str value = {header->value.base, header->value.len};

        if (header->name == &H2O_TOKEN_COOKIE->buf)
            headers->cookies[headers->n_cookies++] = value;
        else if (header->name == &H2O_TOKEN_X_FORWARDED_FOR->buf)
            headers->forwarded_for[headers->n_forwarded_for++] = value;
        else
            note(headers, (struct str){header->name->base, header->name->len}, value);
    }
}
