/*
 * Takes a webhook: checks its signature before anything else is done with it.
 *
 *     cc -o verify verify.c -lcrypto
 *     ./verify whsec_... TIMESTAMP SIGNATURE < body
 */
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOLERANCE_S = 300, BODY_MAX = 64 * 1024, TIMESTAMP_MAX = 20 };

/* False when this is not ours, was changed, or is too old. */
static bool is_verified(const char *secret, const char *timestamp, const char *signature,
                        const char *body, size_t n)
{
    static char bytes[TIMESTAMP_MAX + 1 + BODY_MAX];
    const size_t timestamp_n = strlen(timestamp);
    unsigned char mac[32];
    char expected[3 + 2 * sizeof(mac) + 1] = "v1=";

    if (timestamp_n > TIMESTAMP_MAX || n > BODY_MAX)
        return false;
    memcpy(bytes, timestamp, timestamp_n);
    bytes[timestamp_n] = '.';
    memcpy(bytes + timestamp_n + 1, body, n);
    HMAC(EVP_sha256(), secret, (int)strlen(secret), (unsigned char *)bytes, timestamp_n + 1 + n,
         mac, NULL);
    for (size_t i = 0; i < sizeof(mac); i++)
        snprintf(expected + 3 + 2 * i, 3, "%02x", mac[i]);
    return strlen(signature) == strlen(expected) &&
           CRYPTO_memcmp(signature, expected, strlen(expected)) == 0 &&
           llabs((long long)time(NULL) - atoll(timestamp)) <= TOLERANCE_S;
}

int main(int argc, char **argv)
{
    static char body[BODY_MAX + 1];
    size_t n;

    if (argc != 4)
        return 2;
    n = fread(body, 1, sizeof(body), stdin);
    if (!is_verified(argv[1], argv[2], argv[3], body, n)) {
        fputs("not ours, or too old\n", stderr);
        return 1;
    }
    fwrite(body, 1, n, stdout);
    return 0;
}
