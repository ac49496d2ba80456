#include "common/base/base64url.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

size_t base64url_write(const uint8_t *bytes, size_t n, char *text)
{
    size_t length = 0, bits = 0;
    uint32_t hold = 0;

    for (size_t i = 0; i < n; i++) {
        hold = hold << 8 | bytes[i];
        for (bits += 8; bits >= 6; bits -= 6)
            text[length++] = alphabet[hold >> (bits - 6) & 63];
    }
    if (bits > 0)
        text[length++] = alphabet[hold << (6 - bits) & 63];
    text[length] = '\0';
    return length;
}

bool base64url_read(struct str text, uint8_t *bytes, size_t *n)
{
    size_t length = 0, bits = 0;
    uint32_t hold = 0;

    for (size_t i = 0; i < text.n; i++) {
        const char *at = text.p[i] != '\0' ? strchr(alphabet, text.p[i]) : NULL;

        if (at == NULL)
            return false;
        hold = hold << 6 | (uint32_t)(at - alphabet);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[length++] = (uint8_t)(hold >> bits);
        }
    }
    if (bits >= 6 || (hold & ((1u << bits) - 1)) != 0)
        return false;
    *n = length;
    return true;
}
