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
 *          bus_trouble(), which any thread may call. Replies arrive on the owner's thread, notices
 *          on threads of nats.c, which inherit the owner's signal mask: block the signals that you
 *          wait for beforehand.
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

#include "common/base/status.h"
#include "common/base/str.h"
#include "common/bus/bundle.h"
#include "common/bus/bus_message.h"
#include "common/bus/bus_options.h"
#include "common/bus/mailbox.h"

struct bus;
struct pollfd;

/* Returns at once. The connection is made in the background, retried until it succeeds, and adopted
   in the owner's next step. NULL (logged): bus_can_use() is false. A file that becomes unreadable
   later is logged, and read again. */
struct bus *bus_connect(const struct bus_options *options);
/* Everything published before reaches the server, unless that takes longer than half a second, or a
   second during a move. */
void bus_free(struct bus *bus);
bool bus_is_up(const struct bus *bus);
enum bus_trouble bus_trouble(const struct bus *bus);    /* why it is not up */
const char *bus_trouble_text(enum bus_trouble trouble); /* NULL: BUS_UP */

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
   every subscriber gets every message, and may get one twice during a move. Holds for all links.
   Requests from bus_request() come in bundles (bundle.h), which the mailbox takes apart. */
struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group);

/* -- sending --------------------------------------------------------------------------------- */

/* `reply_to` may be NULL. */
MUST_CHECK enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body);

/* Answers a request; without a reply subject it does nothing. Any bus whose user owns the request's
   mailbox can do so, on its own thread; a plain message only the bus that has taken it, as long as
   the connection that it came by is open (allow_responses of nats-server): ST_UNAVAILABLE after
   that. The replies of one step to one bundle, from the bus that has taken it, travel together: if
   the link is lost before the step ends, they count as lost. */
MUST_CHECK enum status bus_reply(struct bus *bus, struct bus_message *request,
                                 const struct bus_header *headers, size_t n_headers,
                                 struct str body);
/* How many replies could not be sent at the end of their step. Any thread. */
uint64_t bus_lost_replies(const struct bus *bus);

/* -- requests without blocking --------------------------------------------------------------- */

/* Opens the one inbox of this connection. Call once, before the first bus_request(). */
void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, bus_awaited_fn is_awaited,
                    void *closure);
/* The requests of one step to one subject leave in one message, a bundle, at the end of the step or
   when it is full, and reach one mailbox; one with a large body leaves at once, alone. The replies
   come to PREFIX.ID.SUBJECT.N, where ID is this inbox: a user who owns the subject's mailbox may be
   permitted to publish there, and nowhere else in the inbox.
   The reply comes with `handle`, at most once, and perhaps after the caller has stopped waiting; the
   caller must not use a handle twice. It is BUS_NO_RESPONDERS if no mailbox takes the request, or if
   the link is lost before the step ends; if the server denies the request, there is none. Requests
   in flight when the link goes down may get no reply. */
MUST_CHECK enum status bus_request(struct bus *bus, const char *subject, uint64_t handle,
                                   const struct bus_header *headers, size_t n_headers,
                                   struct str body);

/* Sends a request without a body to the bus' own inbox. While the server is alive it soon comes back as a
   BUS_REPLY with `handle`. */
MUST_CHECK enum status bus_send_heartbeat(struct bus *bus, uint64_t handle);

/* -- requests that block: for command-line programs only ------------------------------------- */

/* ST_UNAVAILABLE: no responders, or not connected. ST_REFUSED: this user may not publish to the
   subject. ST_UNCERTAIN: no reply in time. */
MUST_CHECK enum status bus_call(struct bus *bus, const char *subject,
                                const struct bus_header *headers, size_t n_headers, struct str body,
                                int timeout_ms, struct bus_message **reply);

/* -- notices: published to all listeners ----------------------------------------------------- */

/* `on_notice` runs on threads of nats.c. */
void bus_listen(struct bus *bus, const char *subject, bus_notice_fn on_notice, void *closure);

/* How many publishes and subscriptions the server refused because this user lacks permission; a
   refused request is never answered. */
uint64_t bus_permission_violations(const struct bus *bus);
/* Also counts them in a metric, for all buses of the process. Call once, before threads start. */
void bus_metrics_open(void);

#endif
