/* libcurl reads every accepted URL of an endpoint in the same way. */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "services/webhook/webhook_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str without_brackets(const char *host)
{
    struct str text = str_of(host);

    if (text.n >= 2 && text.p[0] == '[')
        text = (struct str){text.p + 1, text.n - 2};
    return text;
}

static void compare(const char *url, const struct webhook_url *to)
{
    CURLU *parsed = curl_url();
    char *host = NULL, *port = NULL, *user = NULL, *fragment = NULL;

    if (parsed == NULL || curl_url_set(parsed, CURLUPART_URL, url, CURLU_PATH_AS_IS) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        abort();
    if (!str_equal_nocase(without_brackets(host), to->host) || atoi(port) != to->port)
        abort();
    if (curl_url_get(parsed, CURLUPART_USER, &user, 0) != CURLUE_NO_USER ||
        curl_url_get(parsed, CURLUPART_FRAGMENT, &fragment, 0) != CURLUE_NO_FRAGMENT)
        abort();
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct webhook_url to;
    char *url;

    if (webhook_url_read((struct str){(const char *)data, size}, &to) != NULL)
        return 0;
    url = strndup((const char *)data, size);
    if (url == NULL || strlen(url) != size)
        abort();
    compare(url, &to);
    free(url);
    return 0;
}
