/*
 * webhook_url - the URL of an endpoint, parsed by rules that allow only one interpretation.
 *
 * What     https://HOST[:PORT][/PATH][?QUERY], the scheme in any case, in printable ASCII, at most
 *          2,048 characters: no userinfo, no fragment, no backslash. HOST is a DNS name of two labels
 *          or more (letters, digits, hyphens), a dotted quad or an IPv6 literal in brackets, both in
 *          their canonical spelling; other notations of numbers are refused. PORT is 443, 8443 or
 *          1024-65535. Names that have a meaning only inside a network are refused.
 * Owns     Slices of the text.
 * Threads  Any; pure.
 * Fails    NULL: the URL is valid; otherwise a sentence that names the fault, without a full stop.
 */
#ifndef SERVICES_WEBHOOK_WEBHOOK_URL_H
#define SERVICES_WEBHOOK_WEBHOOK_URL_H

#include "common/base/ip.h"
#include "common/base/status.h"
#include "common/base/str.h"

#define WEBHOOK_URL_MAX      2048
#define WEBHOOK_URL_NAME_MAX 253

struct webhook_url {
    struct str host; /* without brackets */
    uint16_t port;
    bool is_literal;
    struct address address; /* of a literal */
};

MUST_CHECK const char *webhook_url_read(struct str url, struct webhook_url *out);

#endif
