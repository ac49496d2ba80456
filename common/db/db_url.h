/*
 * db_url - whether a URL of the database can be used.
 *
 * What     Judges what libpq's parser takes (a URL, or "host=... port=..."). Each host is connected
 *          to by itself (db_hosts.h), so what only libpq could take apart, with lookups that block,
 *          is refused. So is a target_session_attrs that db_hosts.h does not know.
 * Owns     Nothing.
 * Threads  Any.
 */
#ifndef COMMON_DB_DB_URL_H
#define COMMON_DB_DB_URL_H

/* NULL: it can be used. Otherwise the fault, to be written after the URL's name. It quotes nothing of
   the URL; the error texts of libpq would quote the password, and so would those of a lookup whose
   name has a part of it, so check first. */
const char *db_url_fault(const char *url);

#endif
