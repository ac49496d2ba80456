#include "proto/subject.h"

#define BUS_USER(symbol, name)
#define MAILBOX(symbol, subject, user)              const char SUBJECT_##symbol[] = subject;
#define COMMAND(symbol, subject, senders)           const char SUBJECT_##symbol[] = subject;
#define NOTICE(symbol, subject, senders, listeners) const char SUBJECT_##symbol[] = subject;
#include "proto/subject.def"
#undef BUS_USER
#undef MAILBOX
#undef COMMAND
#undef NOTICE
