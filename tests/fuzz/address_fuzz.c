/* Every accepted address has one canonical spelling, which reads as the same address. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct address address, again;
    char text[ADDRESS_TEXT], text_again[ADDRESS_TEXT];

    if (!address_parse((struct str){(const char *)data, size}, &address))
        return 0;
    address_format(&address, text);
    if (!address_parse(str_of(text), &again) || !address_equal(&address, &again))
        abort();
    address_format(&again, text_again);
    if (strcmp(text, text_again) != 0)
        abort();
    /* It has no character that needs quoting when it is stored. */
    if (text[strspn(text, "0123456789abcdef.:")] != '\0')
        abort();
    return 0;
}
