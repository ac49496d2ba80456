/*
 * postgres_disk - a disk of its own for the stack's PostgreSQL, which a test can fill.
 *
 * What     A file system in a file beside the data. Only PostgreSQL's processes see it, in a mount
 *          namespace that ends with them, so nothing stays mounted. Before the test opens it, the
 *          data is copied there; what PostgreSQL writes later is on the disk alone, so the stack
 *          must not be started again after `stack down`.
 * Threads  One at a time.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_POSTGRES_DISK_H
#define TESTS_SUPPORT_POSTGRES_DISK_H

#include <stdbool.h>

/* Whether such a disk can be made and mounted: tries it. Only root may, and in a container only a
   privileged one. */
bool postgres_disk_is_possible(void);
/* Restarts PostgreSQL on its disk, or takes hold of the one that an earlier test has opened.
   Returns once it accepts connections. */
void postgres_disk_open(void);
/* Takes all of the space that is left; and gives it back. */
void postgres_disk_fill(void);
void postgres_disk_free(void);

#endif
