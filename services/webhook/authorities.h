/*
 * authorities - whose signatures make a receiver's certificate good: the system's and the
 * operator's, in one file that lives in memory.
 *
 * Owns     authorities_gather() gives a descriptor that authorities_release() closes; `path` leads
 *          to it as long.
 * Threads  Once, at the start.
 * Fails    -1 (logged): the operator's file cannot be read.
 */
#ifndef SERVICES_WEBHOOK_AUTHORITIES_H
#define SERVICES_WEBHOOK_AUTHORITIES_H

#define AUTHORITIES_PATH 32

int authorities_gather(const char *file, char path[AUTHORITIES_PATH]); /* NULL = none of his */
void authorities_release(int fd);

#endif
