/*
 * creds - credentials files of NATS (NATS_CREDS_FILE), as nsc makes them. Private to common/bus.
 *
 * What     A file has two parts, each on the line below its header: a JWT, with which an account
 *          grants a user its permissions, and the seed of this user's key, which signs what the
 *          server sends as a challenge. The file is read for each connection, and not by nats.c,
 *          which sends all of a file without headers to the server, even a seed alone.
 * Threads  Any.
 * Fails    With words that follow the setting's name and have no text of the file.
 */
#ifndef COMMON_BUS_CREDS_H
#define COMMON_BUS_CREDS_H

#include <nats/nats.h>

#include "common/base/str.h"

struct creds {
    struct str jwt, seed;
};

/* Finds the parts in the text; NULL: they have the right form. */
const char *creds_parse(struct str text, struct creds *out);
/* Has a connection use the file, which must still be at that path when it is made, and whose path
   must outlive the options. NULL: the file can be used. */
const char *creds_set(natsOptions *options, const char *path);
/* Why a server may have refused them: it does not tell. */
const char *creds_refusal(const char *path);

#endif
