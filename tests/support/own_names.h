/*
 * own_names - what a test's process and its children find in /etc/hosts, /etc/resolv.conf and other
 *             files of the system.
 *
 * Owns     The files, in a mount namespace of the process, which ends with it.
 * Fails    Skips the test if nothing can be mounted; otherwise fails it.
 */
#ifndef TESTS_SUPPORT_OWN_NAMES_H
#define TESTS_SUPPORT_OWN_NAMES_H

#include <stdint.h>

/* The lines of /etc/hosts, and the loopback address of the only name server, which receives
   questions and never answers; NULL = none, so that other names do not exist. */
void own_names(const char *hosts, const char *silent_server);
/* Changes the lines of /etc/hosts. */
void own_names_hosts(const char *hosts);

/* The file `path` in the place of `name`, for the calling thread and those that it starts. */
void own_file(const char *path, const char *name);

/* A listener that never answers. Returns the descriptor to close. */
int own_names_silent(const char *address, uint16_t port);

#endif
