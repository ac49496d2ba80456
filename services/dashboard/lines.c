#include "services/dashboard/lines.h"

static const struct {
    const char *name;
    size_t offset;
} known[] = {
    {"content-type", offsetof(struct lines, content_type)},
    {"origin", offsetof(struct lines, origin)},
    {"x-csrf-token", offsetof(struct lines, csrf)},
    {"sec-fetch-site", offsetof(struct lines, fetch_site)},
    {"user-agent", offsetof(struct lines, user_agent)},
    {"accept-encoding", offsetof(struct lines, accept_encoding)},
    {"if-none-match", offsetof(struct lines, if_none_match)},
    {"traceparent", offsetof(struct lines, traceparent)},
    {"x-forwarded-proto", offsetof(struct lines, forwarded_proto)},
};

static void note(struct lines *lines, struct str name, struct str value)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_equal(name, str_of(known[i].name))) {
            struct line *line = (struct line *)(void *)((char *)lines + known[i].offset);

            line->value = value;
            line->n++;
            return;
        }
}

void lines_read(const h2o_req_t *req, struct lines *lines)
{
    *lines = (struct lines){0};
    for (size_t i = 0; i < req->headers.size && i < LINES_MOST; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        struct str value = {header->value.base, header->value.len};

        if (header->name == &H2O_TOKEN_COOKIE->buf)
            lines->cookies[lines->n_cookies++] = value;
        else if (header->name == &H2O_TOKEN_X_FORWARDED_FOR->buf)
            lines->forwarded_for[lines->n_forwarded_for++] = value;
        else
            note(lines, (struct str){header->name->base, header->name->len}, value);
    }
}
