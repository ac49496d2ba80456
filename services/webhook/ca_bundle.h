/*
 * ca_bundle - the CA certificates that receivers' certificates are checked against: the system's
 * and the operator's, in one file in memory.
 *
 * Owns     ca_bundle_open() gives a descriptor that ca_bundle_close() closes; `path` leads
 *          to it as long.
 * Threads  Once, at the start.
 * Fails    -1 (logged): the operator's file cannot be read.
 */
#ifndef SERVICES_WEBHOOK_CA_BUNDLE_H
#define SERVICES_WEBHOOK_CA_BUNDLE_H

#define CA_BUNDLE_PATH 32

int ca_bundle_open(const char *file, char path[CA_BUNDLE_PATH]); /* NULL = the system's only */
void ca_bundle_close(int fd);

#endif
