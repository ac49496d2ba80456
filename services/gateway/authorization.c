#include "services/gateway/authorization.h"

#include "common/crypto/token.h"

enum authorization authorization_read(struct str value, size_t n, struct str *token)
{
    struct str scheme, rest = value;

    if (n == 0)
        return AUTHORIZATION_MISSING;
    if (n > 1)
        return AUTHORIZATION_MALFORMED;
    scheme = str_cut(&rest, ' ');
    if (!str_equal_nocase(scheme, STR("bearer")) || rest.p == NULL)
        return AUTHORIZATION_MALFORMED;
    switch (token_classify(rest)) {
    case TOKEN_LIVE:
    case TOKEN_READ:
        *token = rest;
        return AUTHORIZATION_TOKEN;
    case TOKEN_LEGACY:
        return AUTHORIZATION_LEGACY;
    case TOKEN_MALFORMED:
        break;
    }
    return AUTHORIZATION_MALFORMED;
}
