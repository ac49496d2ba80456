#include "common/bus/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/bus/creds.h"

enum {
    /* A silent server is given up when the second ping is due and the first has no answer: after 15 s
       at most. */
    PING_INTERVAL_MS = 7500,
    PINGS_OUT_MAX = 1,
    WRITE_DEADLINE_MS = 2000, /* TLS only: with it nats.c waits for the socket to be writable */
    IO_BUFFER = 128 * 1024,
};

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

bool bus_wants_tls(const struct bus_options *options, const struct bus_server *server)
{
    const struct bus_settings *settings = options->settings;

    if (server->tls || settings == NULL)
        return server->tls;
    return is_given(settings->ca_file) || is_given(settings->cert_file) ||
           is_given(settings->key_file) || is_given(settings->tls_host);
}

/* Without the place in the source of nats.c. */
const char *bus_error_text(natsStatus s)
{
    const char *text = nats_GetLastError(NULL);
    const char *end = text != NULL && text[0] == '(' ? strstr(text, "): ") : NULL;

    if (end != NULL)
        text = end + 3;
    return is_given(text) ? text : natsStatus_GetText(s);
}

static natsStatus refuse_file(const char *name, const char *path, natsStatus s, char why[BUS_WHY])
{
    if (!is_given(path))
        (void)snprintf(why, BUS_WHY, "%s is missing", name);
    else if (access(path, R_OK) != 0)
        (void)snprintf(why, BUS_WHY, "%s cannot be read: %s", name, strerrordesc_np(errno));
    else if (s != NATS_OK)
        (void)snprintf(why, BUS_WHY, "%s cannot be used: %s", name, bus_error_text(s));
    else
        return s;
    return NATS_SSL_ERROR;
}

static natsStatus load_files(natsOptions *options, const struct bus_settings *settings,
                             char why[BUS_WHY])
{
    natsStatus s = NATS_OK;
    if (is_given(settings->ca_file)) {
        s = natsOptions_LoadCATrustedCertificates(options, settings->ca_file);
        s = refuse_file("NATS_CA_FILE", settings->ca_file, s, why);
    }
    if (s == NATS_OK && (is_given(settings->cert_file) || is_given(settings->key_file))) {
        s = refuse_file("NATS_KEY_FILE", settings->key_file, NATS_OK, why);
        if (s != NATS_OK)
            return s;
        s = natsOptions_LoadCertificatesChain(options, settings->cert_file, settings->key_file);
        s = refuse_file("NATS_CERT_FILE", settings->cert_file, s, why);
    }
    return s;
}

/* The server's certificate is always verified. */
static natsStatus set_tls(natsOptions *options, const struct bus_settings *settings,
                          const char *host, char why[BUS_WHY])
{
    natsStatus s = natsOptions_SetSecure(options, true);
    if (s == NATS_OK)
        s = natsOptions_SetWriteDeadline(options, WRITE_DEADLINE_MS);
    if (s == NATS_OK)
        s = natsOptions_SetExpectedHostname(
            options, is_given(settings->tls_host) ? settings->tls_host : host);
    return s == NATS_OK ? load_files(options, settings, why) : s;
}

static natsStatus set_creds(natsOptions *options, const char *path, const struct bus_server *server,
                            char why[BUS_WHY])
{
    const natsStatus s = refuse_file("NATS_CREDS_FILE", path, NATS_OK, why);
    const char *wrong;

    if (s != NATS_OK)
        return s;
    wrong = server->user != NULL ? "is given, and NATS_URL has a user: keep one of them"
                                 : creds_set(options, path);
    if (wrong != NULL)
        (void)snprintf(why, BUS_WHY, "NATS_CREDS_FILE %s", wrong);
    return wrong == NULL ? NATS_OK : NATS_INVALID_ARG;
}

/* A lost connection ends, and another is dialed: nats.c would use these options for ever. */
static natsStatus set_behaviour(natsOptions *o, const char *name)
{
    natsStatus s = natsOptions_SetName(o, name);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, BUS_CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetAllowReconnect(o, false);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(o, PING_INTERVAL_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(o, PINGS_OUT_MAX);
    if (s == NATS_OK)
        s = natsOptions_SetIOBufSize(o, IO_BUFFER);
    /* No flusher thread, which would wait a millisecond before each write. */
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(o, true);
    return s;
}

static natsStatus set_server(natsOptions *o, const struct bus_server *server, const char *where)
{
    char url[sizeof("nats://") + BUS_WHERE];
    natsStatus s;

    (void)snprintf(url, sizeof(url), "nats://%s", where);
    s = natsOptions_SetURL(o, url);
    if (s == NATS_OK && server->password != NULL)
        s = natsOptions_SetUserInfo(o, server->user, server->password);
    else if (s == NATS_OK && server->user != NULL)
        s = natsOptions_SetToken(o, server->user);
    return s;
}

natsStatus bus_make_options(const struct bus_options *options, const struct bus_server *server,
                            const char *where, natsOptions **out, char why[BUS_WHY])
{
    const struct bus_settings *settings =
        options->settings != NULL ? options->settings : &(struct bus_settings){NULL};
    natsStatus s = natsOptions_Create(out);
    if (s == NATS_OK)
        s = set_server(*out, server, where);
    if (s == NATS_OK)
        s = set_behaviour(*out, options->name);
    if (s == NATS_OK && is_given(settings->creds_file))
        s = set_creds(*out, settings->creds_file, server, why);
    if (s == NATS_OK && bus_wants_tls(options, server))
        s = set_tls(*out, settings, server->host, why);
    return s;
}

const char *bus_refusal(const struct bus_options *options)
{
    const char *const path = options->settings != NULL ? options->settings->creds_file : NULL;

    return is_given(path) ? creds_refusal(path) : "the user or the password is refused";
}

bool bus_can_use(const struct bus_options *options, char why[BUS_WHY])
{
    char *const text = config_current(options->url);
    char wrong[BUS_URL_WHY];
    struct bus_url url = {.text = NULL};
    natsOptions *made = NULL;
    natsStatus s = NATS_INVALID_ARG;

    if (bus_url_read(text, &url, wrong))
        s = bus_make_options(options, &url.at[0], "127.0.0.1", &made, why);
    else
        (void)snprintf(why, BUS_WHY, "NATS_URL: %s", wrong);
    natsOptions_Destroy(made);
    bus_url_release(&url);
    config_forget(text);
    return s == NATS_OK;
}
