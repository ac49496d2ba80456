/*
 * bus - one connection to NATS, driven by its owner's thread. The only user of nats.h.
 *
 * What     nats.c runs in its event-loop mode: reading and writing happen when the owner calls
 *          bus_process() and bus_flush(), so that everything published in one step leaves in one
 *          write. Nothing is buffered while the link is down: publishing then fails at once and
 *          nothing of it is delivered later. Reconnecting goes on for ever, with jitter. When its server
 *          says that it will stop, the bus moves to another one, if there is one: nothing is lost by
 *          that, bus_is_up() all the while, and the socket is another one.
 * Owns     bus_connect() gives a bus that bus_free() takes back. Messages taken from a mailbox are
 *          the taker's, to be given back with bus_message_free(), on any thread.
 * Threads  All calls belong to the owner's thread, except bus_wake() and bus_is_up(), which any
 *          thread may call. Replies come on the owner's thread, notices on threads of nats.c,
 *          which inherit the owner's signal mask: block what you wait for beforehand.
 * Fails    ST_UNAVAILABLE = certain that nothing left this process. ST_INTERNAL = the message is
 *          impossible (larger than the server takes); nothing of it was sent either.
 */
#ifndef COMMON_BUS_BUS_H
#define COMMON_BUS_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/config.h"
#include "common/base/status.h"
#include "common/base/str.h"

struct bus;
struct bus_mailbox;
struct bus_message;
struct pollfd;

/* Files in PEM; NULL or empty: not given. Without any, the connection uses TLS where the URL says
   tls://, with the machine's authorities. */
struct bus_tls {
    const char *ca_file;              /* CA certificates */
    const char *cert_file, *key_file; /* client certificate and key */
    const char *host;                 /* expected host name, if not the URL's */
};

struct bus_options {
    const char *url;           /* nats://user:password@host:port[,nats://...]; never logged */
    const char *name;          /* shown by the server: service and replica */
    const struct bus_tls *tls; /* NULL = nothing given */
    const char *inbox_prefix;  /* NULL = "_INBOX"; the only subjects replies come by */
    /* Called on any thread when the link comes up or goes down; may only set atomics and wake a
       thread. May be NULL. */
    void (*on_link)(void *closure, bool up);
    void *closure;
};

struct bus_header {
    const char *name; /* from proto/headers.h */
    /* NUL-terminated, no CR or LF. Blanks at its ends do not travel; one that is empty or nothing
       but blanks is left out altogether, for nats.c would read the next header as its value. */
    const char *value;
};

/* Returns at once; the connection is made in the background, again and again until it succeeds, and
   adopted in the owner's next step. NULL (logged) when the options are unusable: no URL, a ca_file
   that cannot be read. */
struct bus *bus_connect(const struct bus_options *options);
/* What was published before reaches the server, unless that takes longer than half a second, or one
   while it moves. */
void bus_free(struct bus *bus);
bool bus_is_up(const struct bus *bus);
/* The last attempt to connect failed because the server does not know this user or password. */
bool bus_is_denied(const struct bus *bus);

/* From here on the body of each message is overwritten before it is freed, whether it came or was
   published: for processes whose messages hold passwords or tokens. Before threads start. What nats.c
   has in its buffers of the connection stays there until other traffic takes its place. */
void bus_wipe_what_is_freed(void);

/* -- driving the connection ------------------------------------------------------------------ */

/* For a thread that has nothing else to wait for: sleeps until something arrives, it is woken, or
   the time is over; then processes what came. */
void bus_wait(struct bus *bus, int timeout_ms);
/* The same for a thread that waits for other sockets, too, for what their `events` say; the caller deals
   with their `revents`. A descriptor of -1 is none. */
void bus_wait_with_sockets(struct bus *bus, struct pollfd *others, size_t n, int timeout_ms);
/* Ends a bus_wait() from any thread. */
void bus_wake(struct bus *bus);

/* For an event loop: watch bus_socket() for reading and call bus_process() when it is readable, not
   otherwise. The socket changes with every reconnect and every move: watch bus_changed_fd() too; when
   that is readable (a new socket, something to flush or to read besides, or bus_wake()), call
   bus_changed(): true means that the socket is another one, although it may have the same number, or
   -1 while the link is down. */
int bus_socket(const struct bus *bus);
int bus_changed_fd(const struct bus *bus);
bool bus_changed(struct bus *bus);
void bus_process(struct bus *bus);

/* Writes out what was published since the last call; cheap when there is nothing. Call in each step
   of the loop. Returns true when the socket took all of it, false when some waits for the socket to
   be writable (call again then). */
bool bus_flush(struct bus *bus);
/* In the middle of a step: writes what the socket takes now. The rest waits for bus_flush(), and
   however much it is, more can be published behind it. */
void bus_push(struct bus *bus);

/* -- serving --------------------------------------------------------------------------------- */

/* Subscribes to `subject` (may hold wildcards) as a member of `group`; NULL = by itself, so that
   others who do get every message too; and then one may come twice while the bus moves. Survives
   reconnects. */
struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group);
/* Takes bundles of its subject, too, which holds no wildcard: what travelled together comes as messages
   like any other. */
void bus_serve_bundles(struct bus_mailbox *mailbox);
/* The oldest waiting message, or NULL: of those that came in bundles and those that came alone in turn.
   Never blocks. */
struct bus_message *bus_take(struct bus_mailbox *mailbox);
size_t bus_waiting(struct bus_mailbox *mailbox);
/* No more messages are routed here. Those that wait or are under way can still be taken: keep
   processing until bus_is_drained(), which takes 5 s at most. While the link is down it has no effect on
   the next one: do it again then, which never does harm. */
void bus_stop_serving(struct bus_mailbox *mailbox);
bool bus_is_drained(struct bus_mailbox *mailbox);
/* Subscribes again after that; messages not taken by then are lost. */
void bus_serve_again(struct bus_mailbox *mailbox);

struct str bus_message_subject(const struct bus_message *message);
struct str bus_message_body(const struct bus_message *message);
struct str bus_message_reply_to(const struct bus_message *message); /* STR_NONE: no reply */
struct str bus_message_header(struct bus_message *message, const char *name); /* STR_NONE: none */
void bus_message_free(struct bus_message *message);

/* -- sending --------------------------------------------------------------------------------- */

/* `reply_to` may be NULL. */
MUST_CHECK enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body);

/* Answers a request, by the way it came while that is there; without a reply subject it does nothing.
   Replies to requests of one bundle travel together, as far as they come in one step: if their link is
   lost before it ends, they are counted. */
MUST_CHECK enum status bus_reply(struct bus *bus, struct bus_message *request,
                                 const struct bus_header *headers, size_t n_headers,
                                 struct str body);
/* Replies that were to travel together and found no link at the end of their step. Any thread. */
uint64_t bus_lost_replies(const struct bus *bus);

/* The same in two steps, the first of them on any thread: what bus_message_new() makes is the
   caller's until bus_send(), which takes it whatever comes of it. NULL: it is impossible. */
struct bus_message *bus_message_new(const char *subject, const struct bus_header *headers,
                                    size_t n_headers, struct str body);
struct bus_message *bus_reply_new(const struct bus_message *request,
                                  const struct bus_header *headers, size_t n_headers,
                                  struct str body);
MUST_CHECK enum status bus_send(struct bus *bus, struct bus_message *message);

/* -- requests without blocking --------------------------------------------------------------- */

enum bus_reply_kind { BUS_REPLY, BUS_NO_RESPONDERS };

/* Called on the owner's thread from within bus_process(), bus_changed() or bus_wait(); may send further
   requests.
   `message` is the callee's for BUS_REPLY and NULL for BUS_NO_RESPONDERS. */
typedef void (*bus_reply_fn)(void *closure, uint64_t handle, enum bus_reply_kind kind,
                             struct bus_message *message);
/* Whether the reply to a request is still waited for: asked now and again on the owner's thread, as
   the bus has no table of requests and no timeout. False: it stops listening for that reply, which
   is dropped unseen if it comes still later. */
typedef bool (*bus_awaited_fn)(void *closure, uint64_t handle);

/* Opens the one inbox of this connection. Once, before the first bus_request(). */
void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, bus_awaited_fn is_awaited,
                    void *closure);
/* Publishes with its own reply subject; the reply comes with `handle`, at most once, and may come
   after the caller has stopped waiting: it knows its handles, and gives none to two requests. What
   is under way when the link goes down may get no reply. */
MUST_CHECK enum status bus_request(struct bus *bus, const char *subject, uint64_t handle,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body);

/* The same for a subject whose mailboxes take bundles: what one step requests of it travels in one
   message, to SUBJECT.bundle, with one mailbox. All replies come to a subject below
   PREFIX.ID.SUBJECT, so that a service need not be permitted more of an inbox. Where no mailbox
   takes bundles, or the server permits none, requests travel one by one. The link may be lost before
   the step ends: then the reply is BUS_NO_RESPONDERS. */
MUST_CHECK enum status bus_request_bundled(struct bus *bus, const char *subject, uint64_t handle,
                                           const struct bus_header *headers, size_t n_headers,
                                           struct str body);
#define BUS_BUNDLE_SUFFIX ".bundle"
#define BUS_HEADERS_MAX   16 /* of a request that travels in a bundle */

/* Sends an empty message to our own inbox. While the server is alive it comes back soon, as a
   BUS_REPLY with `handle`. */
MUST_CHECK enum status bus_send_heartbeat(struct bus *bus, uint64_t handle);

/* -- requests that block: for command-line programs only ------------------------------------- */

/* ST_UNAVAILABLE: no responders, or not connected. ST_REFUSED: this user may not publish there.
   ST_UNCERTAIN: no reply in time. */
MUST_CHECK enum status bus_call(struct bus *bus, const char *subject,
                                const struct bus_header *headers, size_t n_headers, struct str body,
                                int timeout_ms, struct bus_message **reply);

/* -- notices: published to all listeners ----------------------------------------------------- */

/* Called on a nats.c thread, twice for one message perhaps while the bus moves. `message` stays the
   bus's. */
typedef void (*bus_notice_fn)(void *closure, struct bus_message *message);
void bus_listen(struct bus *bus, const char *subject, bus_notice_fn on_notice, void *closure);

/* What the server refused because this user may not publish or subscribe there; a request that it
   refused is never answered. */
uint64_t bus_permission_violations(const struct bus *bus);
/* Counts them, of all buses of the process, as a metric too. Once, before threads start. */
void bus_metrics_open(void);

/*
 * settings - how every program on the bus is told to trust it: rows for its table of settings.
 *
 *     struct my_config { const char *nats_url; struct bus_tls bus_tls; };
 *     static const struct setting settings[] = {..., BUS_TLS_SETTINGS(struct my_config, bus_tls)};
 *
 * Threads  Constants.
 */

#define BUS_TLS_SETTING(of, field, name_, meaning_)                                                \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field), .fallback = "",    \
        .meaning = (meaning_)                                                                      \
    }
#define BUS_TLS_SETTINGS(of, member)                                                               \
    BUS_TLS_SETTING(of, member.ca_file, "NATS_CA_FILE",                                            \
                    "CA certificates for the connection to NATS, in PEM; enables TLS"),            \
        BUS_TLS_SETTING(of, member.cert_file, "NATS_CERT_FILE",                                    \
                        "Client certificate for the connection to NATS, with its chain, in PEM"),  \
        BUS_TLS_SETTING(of, member.key_file, "NATS_KEY_FILE", "Its private key, in PEM"),          \
        BUS_TLS_SETTING(                                                                           \
            of, member.host, "NATS_TLS_HOST",                                                      \
            "Host name expected in the certificate of NATS; empty = the host in NATS_URL")

#endif
