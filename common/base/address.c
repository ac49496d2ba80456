#include "common/base/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/log.h"

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const struct address *address)
{
    return memcmp(address->b, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

bool address_parse(struct str text, struct address *out)
{
    struct address address;
    char copy[ADDRESS_TEXT];

    /* inet_pton() takes a C string and is strict about the rest. */
    if (text.p == NULL || text.n >= sizeof(copy) || memchr(text.p, '\0', text.n) != NULL)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';

    if (inet_pton(AF_INET6, copy, address.b) == 1) {
        *out = address;
        return true;
    }
    memcpy(address.b, mapped_prefix, sizeof(mapped_prefix));
    if (inet_pton(AF_INET, copy, address.b + sizeof(mapped_prefix)) != 1)
        return false;
    *out = address;
    return true;
}

void address_format(const struct address *address, char text[ADDRESS_TEXT])
{
    const char *done;

    if (is_mapped(address))
        done = inet_ntop(AF_INET, address->b + sizeof(mapped_prefix), text, ADDRESS_TEXT);
    else
        done = inet_ntop(AF_INET6, address->b, text, ADDRESS_TEXT);
    must(done != NULL);
}

bool address_equal(const struct address *a, const struct address *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}
