/* Operator interface: GATEWAY_TLS_PORT terminates TLS 1.2 and 1.3, and carries HTTP/1.1 alone. */
#include <criterion/criterion.h>
#include <openssl/ssl.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"

TestSuite(gateway_tls, .init = stack_share);

/* What a client offers. */
struct tls_offer {
    int version;           /* the only one */
    const char *protocols; /* ALPN: each with its length in front, NULL = none */
};

struct tls_connection {
    SSL_CTX *context;
    SSL *tls;
};

static void hang_up(struct tls_connection *connection)
{
    SSL_free(connection->tls);
    SSL_CTX_free(connection->context);
}

/* Whether the handshake succeeds. */
static bool call(const struct tls_offer *offer, struct tls_connection *connection)
{
    const char *address = format("127.0.0.1:%s", stack_setting("GATEWAY_TLS_PORT"));
    BIO *bio = BIO_new_connect(address);

    connection->context = SSL_CTX_new(TLS_client_method());
    cr_assert_eq(
        SSL_CTX_load_verify_locations(connection->context, stack_setting("GATEWAY_TLS_CERT"), NULL),
        1);
    SSL_CTX_set_verify(connection->context, SSL_VERIFY_PEER, NULL);
    /* Keeps the client's own library from refusing old versions. */
    cr_assert_eq(SSL_CTX_set_cipher_list(connection->context, "ALL:@SECLEVEL=0"), 1);
    cr_assert_eq(SSL_CTX_set_min_proto_version(connection->context, offer->version), 1);
    cr_assert_eq(SSL_CTX_set_max_proto_version(connection->context, offer->version), 1);
    if (offer->protocols != NULL)
        cr_assert_eq(SSL_CTX_set_alpn_protos(connection->context,
                                             (const unsigned char *)offer->protocols,
                                             (unsigned)strlen(offer->protocols)),
                     0);
    connection->tls = SSL_new(connection->context);
    cr_assert_eq(BIO_do_connect(bio), 1, "no listener at %s", address);
    SSL_set_bio(connection->tls, bio, bio);
    return SSL_connect(connection->tls) == 1;
}

Test(gateway_tls, is_of_version_1_2_or_1_3)
{
    static const struct {
        int version;
        bool is_taken;
    } versions[] = {{TLS1_VERSION, false},
                    {TLS1_1_VERSION, false},
                    {TLS1_2_VERSION, true},
                    {TLS1_3_VERSION, true}};

    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct tls_connection connection;

        cr_assert_eq(call(&(struct tls_offer){.version = versions[i].version}, &connection),
                     versions[i].is_taken, "version %x", (unsigned)versions[i].version);
        hang_up(&connection);
    }
}

static void expect_chosen(const char *protocols, const char *expected)
{
    const unsigned char *chosen;
    struct tls_connection connection;
    unsigned n;

    cr_assert(call(&(struct tls_offer){TLS1_3_VERSION, protocols}, &connection));
    SSL_get0_alpn_selected(connection.tls, &chosen, &n);
    cr_assert_eq(n, strlen(expected));
    cr_assert(n == 0 || memcmp(chosen, expected, n) == 0);
    hang_up(&connection);
}

Test(gateway_tls, carries_http_1_1_whatever_else_is_offered)
{
    expect_chosen("\x02h2\x08http/1.1", "http/1.1");
    expect_chosen("\x02h2", "");
}

Test(gateway_tls, answers_the_preface_of_http_2_as_any_request_that_is_unsound)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct tls_connection connection;
    char response[2048];
    size_t n = 0;
    int got;

    cr_assert(call(&(struct tls_offer){TLS1_3_VERSION, "\x02h2"}, &connection));
    cr_assert_eq(SSL_write(connection.tls, preface, sizeof(preface) - 1), (int)sizeof(preface) - 1);
    while (n < sizeof(response) - 1 &&
           (got = SSL_read(connection.tls, response + n, (int)(sizeof(response) - 1 - n))) > 0)
        n += (size_t)got;
    response[n] = '\0';
    cr_assert_eq(strncmp(response, "HTTP/1.1 400 ", 13), 0, "%s", response);
    cr_assert_not_null(strstr(response, "\"type\":\"error.list\""), "%s", response);
    hang_up(&connection);
}
