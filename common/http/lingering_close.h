/*
 * lingering_close - closes connections whose client may still be sending.
 *
 * What     Closing a socket with unread bytes makes the kernel reset the connection, which can
 *          destroy a response in flight. So a connection whose request was not read to its end
 *          gets a lingering close: a duplicate of the socket outlives h2o's, shuts down our side,
 *          and reads and discards what still arrives, until the client closes, a limit of bytes is
 *          reached or two seconds have passed.
 * Owns     The duplicates.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_LINGERING_CLOSE_H
#define COMMON_HTTP_LINGERING_CLOSE_H

#include <h2o.h>

#include "common/base/list.h"
#include "common/http/timer.h"

#define LINGERING_CLOSES_MAX 256 /* at once; further connections are just closed */

struct lingering_closes {
    struct timers *timers;
    struct list all;
    size_t n;
};

void lingering_close_init(struct lingering_closes *lingering, struct timers *timers);
/* Ends them early. */
void lingering_close_end_all(struct lingering_closes *lingering);

/* Call before h2o closes `sock`, once h2o will not read from it any more. */
void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock);

#endif
