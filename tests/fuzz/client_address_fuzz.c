/* Whatever X-Forwarded-For contains, the address found is the peer's or one from the header. */
#include <stdint.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/client_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, rest = text, wrong;
    struct str lines[2] = {str_cut(&rest, '\n'), rest};
    struct networks trusted, nobody = {.n = 0}, listed;
    struct address peer = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}}, found;
    size_t n_lines = rest.p != NULL ? 2 : 1;

    must(networks_parse(STR("10.0.0.0/8,fd00::/8"), &trusted, NULL));
    found = client_address(&peer, &nobody, lines, n_lines);
    must(address_equal(&found, &peer));

    found = client_address(&peer, &trusted, lines, n_lines);
    if (!address_equal(&found, &peer)) {
        char spelled[ADDRESS_TEXT];
        struct address again;

        address_format(&found, spelled);
        must(address_parse(str_of(spelled), &again) && address_equal(&again, &found));
    }
    (void)client_is_https(false, &peer, &trusted, text);
    if (networks_parse(text, &listed, &wrong))
        must(listed.n <= NETWORKS_MAX);
    else
        must(wrong.p >= text.p && wrong.p + wrong.n <= text.p + text.n &&
             wrong.n <= NETWORKS_WRONG_MAX);
    return 0;
}
