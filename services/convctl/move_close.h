/*
 * move_close - closes an organization in its cell for good, in a moment.
 *
 * What     Everything that may take long comes before: deliveries in flight end, and the steps of
 *          closing are rehearsed while the organization is served. While it is closed, the move waits
 *          only for transactions that services have open at that moment, and for the log that they
 *          have written: nothing depends on the size of the organization.
 * Threads  One thread.
 * Fails    As move_cells.h. The organization is served as before, unless move->is_held is set.
 */
#ifndef SERVICES_CONVCTL_MOVE_CLOSE_H
#define SERVICES_CONVCTL_MOVE_CLOSE_H

#include "services/convctl/move_cells.h"

/* Sets move->is_held and move->closed_us. On success the new cell has every row. `is_ready` says whether
   the directory can be told the next step. */
MUST_CHECK enum status move_close(struct move *move, const char *org,
                                  enum status (*is_ready)(struct move *move));

#endif
