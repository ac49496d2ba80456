/*
 * subject - every subject on the bus, as SUBJECT_NAME; the table is subject.def.
 *
 * Threads  Any; constants.
 */
#ifndef PROTO_SUBJECT_H
#define PROTO_SUBJECT_H

#define BUS_USER(symbol, name)
#define MAILBOX(symbol, subject, user)              extern const char SUBJECT_##symbol[];
#define COMMAND(symbol, subject, senders)           extern const char SUBJECT_##symbol[];
#define NOTICE(symbol, subject, senders, listeners) extern const char SUBJECT_##symbol[];
#include "proto/subject.def"
#undef BUS_USER
#undef MAILBOX
#undef COMMAND
#undef NOTICE

#endif
