/*
 * lingering_close - closes a connection whose request was not read to its end, without losing the
 * response.
 *
 * What     Closing a socket that has unread bytes makes the kernel reset the connection, which can
 *          destroy the response on its way. So a duplicate of the socket outlives h2o's: it ends
 *          our side, reads what still comes and throws it away, until the client closes, a limit of
 *          bytes or two seconds.
 * Owns     The duplicates. lingering_close_end_all() ends them early.
 * Threads  The loop's.
 */
#ifndef COMMON_EDGE_LINGERING_CLOSE_H
#define COMMON_EDGE_LINGERING_CLOSE_H

#include <h2o.h>

#define LINGERING_CLOSES_MAX 256 /* at once; further connections are just closed */

struct lingering_closes {
    h2o_loop_t *loop;
    h2o_linklist_t all;
    size_t n;
    h2o_timeout_t soon, timeout;
};

void lingering_close_init(struct lingering_closes *lingering, h2o_loop_t *loop);
void lingering_close_end_all(struct lingering_closes *lingering);

/* Call before h2o closes `sock`, when it will not read from it any more. */
void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock);

#endif
