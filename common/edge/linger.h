/*
 * linger - closes a connection whose request was not read to its end, without losing the answer.
 *
 * What     Closing a socket that has unread bytes makes the kernel reset the connection, which can
 *          destroy the answer on its way. So a duplicate of the socket outlives h2o's: it ends our
 *          side, reads what still comes and throws it away, until the client closes, a limit of
 *          bytes or two seconds.
 * Owns     The duplicates. linger_close_all() ends them early.
 * Threads  The loop's.
 */
#ifndef COMMON_EDGE_LINGER_H
#define COMMON_EDGE_LINGER_H

#include <h2o.h>

#define LINGER_MOST 256 /* at once; further connections are just closed */

struct lingerers {
    h2o_loop_t *loop;
    h2o_linklist_t all;
    size_t n;
    h2o_timeout_t soon, patience;
};

void linger_init(struct lingerers *lingerers, h2o_loop_t *loop);
void linger_close_all(struct lingerers *lingerers);

/* Call before h2o closes `sock`, when it will not read from it any more. */
void linger(struct lingerers *lingerers, h2o_socket_t *sock);

#endif
