/*
 * bus - one connection to NATS, driven by its owner's thread. The only user of nats.h.
 *
 * What     nats.c runs in its event-loop mode: it reads and writes only when the owner calls
 *          bus_process() and bus_flush(), so that everything published in one step leaves in one
 *          write. Nothing is buffered while the link is down: publishing then fails at once, and
 *          nothing is delivered later. A lost connection is replaced by another, tried for ever,
 *          with jitter; messages that were not taken are lost with it. Each round of attempts reads
 *          the URL's setting again, looks up its hosts and tries all their addresses; each attempt
 *          reads the certificates again. When its server announces that it will stop, the bus moves
 *          to another server, if there is one: no message is lost and bus_is_up() stays true, but
 *          the socket changes.
 * Owns     Free the bus with bus_free(). A message taken from a mailbox is the caller's; free it with
 *          bus_message_free(), on any thread.
 * Threads  All calls belong to the owner's thread, except bus_wake(), bus_is_up() and
 *          bus_trouble(), which any thread may call. Replies arrive on the owner's thread, notices on threads of nats.c,
 *          which inherit the owner's signal mask: block the signals that you wait for beforehand.
 * Fails    ST_UNAVAILABLE = certain that nothing left this process. ST_INTERNAL = the message cannot
 *          be sent at all (larger than the server accepts), and nothing of it was sent.
 *          A server that falls silent during a TLS handshake holds the thread that connects, and
 *          bus_free(), for as long as the connection stays open. The watchdog notices: /livez fails
 *          after 15 s, or two minutes while another link serves. It is for who asks to end that.
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

enum { BUS_WHY = 400 };

/* PEM files; NULL or empty: not given. If none is given, the connection uses TLS if the URL says
   tls://, with the system's CA certificates. */
struct bus_tls {
    const char *ca_file;              /* CA certificates */
    const char *cert_file, *key_file; /* client certificate and key */
    const char *host;                 /* expected host name, if not the URL's */
};

/* All texts, also those of `tls`, must outlive the bus. */
struct bus_options {
    const char *url;           /* bus_url.h; read again with config_current(); never logged */
    const char *name;          /* shown by the server: service and replica */
    const struct bus_tls *tls; /* NULL = nothing given */
    const char *inbox_prefix;  /* of all reply subjects; NULL = "_INBOX" */
    /* Called on any thread when the link comes up or goes down; may only set atomics and wake a
       thread. May be NULL. */
    void (*on_link)(void *closure, bool up);
    void *closure;
};

struct bus_header {
    const char *name; /* from proto/headers.h */
    /* NUL-terminated, no CR or LF. Leading and trailing blanks are dropped. A header whose value is
       empty or only blanks is left out, since nats.c would read the next header as its value. */
    const char *value;
};

/* Returns at once. The connection is made in the background, retried until it succeeds, and adopted
   in the owner's next step. NULL (logged): bus_can_use() is false. A file that becomes unreadable
   later is logged, and read again. */
struct bus *bus_connect(const struct bus_options *options);
/* False: `why` names the setting that is wrong, for example a malformed URL or an unreadable CA. */
bool bus_can_use(const struct bus_options *options, char why[BUS_WHY]);
/* Everything published before reaches the server, unless that takes longer than half a second, or a
   second during a move. */
void bus_free(struct bus *bus);
bool bus_is_up(const struct bus *bus);
/* Why it is not up, by the last round of attempts. In the two cases in the middle a server answered,
   and waiting does not help. */
enum bus_trouble { BUS_UNREACHABLE, BUS_DENIED, BUS_SMALL, BUS_UP };
enum bus_trouble bus_trouble(const struct bus *bus);
const char *bus_trouble_text(enum bus_trouble trouble); /* NULL: BUS_UP */

/* Servers whose max_payload is smaller are not used (BUS_SMALL): a page of 100 conversations with as
   many and as long attributes as possible is 7 MB. */
#define BUS_PAYLOAD_MIN (8 * 1024 * 1024)

/* From now on the body of each message, received or published, is overwritten before it is freed:
   for processes whose messages hold passwords or tokens. Call before threads start. Bytes in the
   connection's buffers in nats.c stay there until other traffic replaces them. */
void bus_wipe_what_is_freed(void);

/* -- driving the connection ------------------------------------------------------------------ */

/* For a thread that waits for nothing else: sleeps until something arrives, bus_wake() is called or
   the time is over; then processes what arrived. It tells the watchdog of the wait, and
   reports after it. */
void bus_wait(struct bus *bus, int timeout_ms);
/* The same for a thread that waits for other sockets, too, according to their `events`; the caller
   handles their `revents`. Descriptors of -1 are ignored. */
void bus_wait_with_sockets(struct bus *bus, struct pollfd *others, size_t n, int timeout_ms);
/* Ends a bus_wait() from any thread. */
void bus_wake(struct bus *bus);

/* For an event loop: watch bus_socket() for reading and call bus_process() only when it is
   readable. The socket changes with every reconnect and every move, so also watch bus_changed_fd().
   When that is readable (a new socket, something to flush or to read elsewhere, or bus_wake()),
   call bus_changed(). True means that the socket is a new one, even if it has the same number, or
   -1 while the link is down. */
int bus_socket(const struct bus *bus);
int bus_changed_fd(const struct bus *bus);
bool bus_changed(struct bus *bus);
void bus_process(struct bus *bus);

/* Writes out what was published since the last call; cheap when there is nothing. Call in each step
   of the loop. True: the socket took all of it. False: some waits for the socket to be writable;
   call again then. */
bool bus_flush(struct bus *bus);
/* In the middle of a step: writes what the socket takes now and leaves the rest to bus_flush().
   More can be published at any time, however much is left. */
void bus_push(struct bus *bus);

/* -- serving --------------------------------------------------------------------------------- */

/* Subscribes to `subject` (may hold wildcards) as a member of `group`. NULL = without a group:
   every subscriber gets every message, and may get one twice during a move. Holds for all links. */
struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group);
/* Also takes bundles for its subject, which must not hold wildcards; their items come as ordinary
   messages. */
void bus_serve_bundles(struct bus_mailbox *mailbox);
/* The oldest waiting message, or NULL; bundles and single messages alternate. Never blocks. */
struct bus_message *bus_take(struct bus_mailbox *mailbox);
size_t bus_waiting(struct bus_mailbox *mailbox);
/* Stops messages from being routed here. Those that wait or are in flight can still be taken: keep
   processing until bus_is_drained(), which takes 5 s at most. Holds for later links, too. */
void bus_stop_serving(struct bus_mailbox *mailbox);
bool bus_is_drained(struct bus_mailbox *mailbox);
/* Subscribes again after bus_stop_serving(); messages not taken by then are lost. */
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

/* Answers a request, over the link that it came by if that still exists; without a reply subject it
   does nothing. Replies to requests of one bundle that are sent in one step travel together: if the
   link is lost before the step ends, they count as lost. */
MUST_CHECK enum status bus_reply(struct bus *bus, struct bus_message *request,
                                 const struct bus_header *headers, size_t n_headers,
                                 struct str body);
/* How many replies could not be sent at the end of their step. Any thread. */
uint64_t bus_lost_replies(const struct bus *bus);

/* The same in two steps, the first on any thread. The message is the caller's until bus_send(),
   which takes it whatever the result. NULL: it cannot be built. */
struct bus_message *bus_message_new(const char *subject, const struct bus_header *headers,
                                    size_t n_headers, struct str body);
struct bus_message *bus_reply_new(const struct bus_message *request,
                                  const struct bus_header *headers, size_t n_headers,
                                  struct str body);
MUST_CHECK enum status bus_send(struct bus *bus, struct bus_message *message);

/* -- requests without blocking --------------------------------------------------------------- */

enum bus_reply_kind { BUS_REPLY, BUS_NO_RESPONDERS };

/* Called on the owner's thread from within bus_process(), bus_changed() or bus_wait(); may send
   further requests. `message` is the callee's for BUS_REPLY and NULL for BUS_NO_RESPONDERS. */
typedef void (*bus_reply_fn)(void *closure, uint64_t handle, enum bus_reply_kind kind,
                             struct bus_message *message);
/* Whether the reply to a request is still awaited. Called from time to time on the owner's thread,
   as the bus has no table of requests and no timeouts. False: the bus stops listening for that
   reply, and drops it if it still comes. */
typedef bool (*bus_awaited_fn)(void *closure, uint64_t handle);

/* Opens the one inbox of this connection. Call once, before the first bus_request(). */
void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, bus_awaited_fn is_awaited,
                    void *closure);
/* Publishes with a reply subject of its own. The reply comes with `handle`, at most once, and
   perhaps after the caller has stopped waiting; the caller must not use a handle twice. Requests in
   flight when the link goes down may get no reply. */
MUST_CHECK enum status bus_request(struct bus *bus, const char *subject, uint64_t handle,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body);

/* The same for a subject whose mailboxes take bundles: the requests of one step travel in one
   message, to SUBJECT.bundle, and reach one mailbox; a request with a large body travels alone. All
   replies come to a subject below PREFIX.ID.SUBJECT, so that a service needs no permission for more
   of an inbox. If the link is lost before the step ends, the reply is BUS_NO_RESPONDERS. */
MUST_CHECK enum status bus_request_bundled(struct bus *bus, const char *subject, uint64_t handle,
                                           const struct bus_header *headers, size_t n_headers,
                                           struct str body);
#define BUS_BUNDLE_SUFFIX ".bundle"
#define BUS_HEADERS_MAX   16 /* of a request that travels in a bundle */

/* Sends an empty message to the bus' own inbox. While the server is alive it soon comes back as a
   BUS_REPLY with `handle`. */
MUST_CHECK enum status bus_send_heartbeat(struct bus *bus, uint64_t handle);

/* -- requests that block: for command-line programs only ------------------------------------- */

/* ST_UNAVAILABLE: no responders, or not connected. ST_REFUSED: this user may not publish to the
   subject. ST_UNCERTAIN: no reply in time. */
MUST_CHECK enum status bus_call(struct bus *bus, const char *subject,
                                const struct bus_header *headers, size_t n_headers, struct str body,
                                int timeout_ms, struct bus_message **reply);

/* -- notices: published to all listeners ----------------------------------------------------- */

/* Called on a nats.c thread; during a move perhaps twice for one message. `message` stays the
   bus's. */
typedef void (*bus_notice_fn)(void *closure, struct bus_message *message);
void bus_listen(struct bus *bus, const char *subject, bus_notice_fn on_notice, void *closure);

/* How many publishes and subscriptions the server refused because this user lacks permission; a
   refused request is never answered. */
uint64_t bus_permission_violations(const struct bus *bus);
/* Also counts them in a metric, for all buses of the process. Call once, before threads start. */
void bus_metrics_open(void);

/*
 * settings - the TLS settings of every program on the bus: rows for its table of settings.
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
