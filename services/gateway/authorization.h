/*
 * authorization - what the Authorization headers of a request hold.
 *
 * What     `Bearer`, in any case, exactly one space, the token, nothing around it, one header.
 * Owns     Nothing; the token points into the header.
 * Threads  Any; pure.
 */
#ifndef GATEWAY_AUTHORIZATION_H
#define GATEWAY_AUTHORIZATION_H

#include <stddef.h>

#include "common/base/str.h"

enum authorization {
    AUTHORIZATION_MISSING,
    AUTHORIZATION_MALFORMED, /* not what is described above, or a checksum that is wrong */
    AUTHORIZATION_LEGACY,    /* a key of the retired kind */
    AUTHORIZATION_TOKEN,     /* well-formed: worth a look-up */
};

/* `n` headers, of which `value` is the last. *token is set for AUTHORIZATION_TOKEN only. */
enum authorization authorization_read(struct str value, size_t n, struct str *token);

#endif
