/*
 * must - for our own invariants: if one is broken, logs file, line and condition, then aborts.
 *
 * What     Always compiled in. Never use it for input, network or database. The log's own parts use
 *          it too, so this header includes nothing; log.c has the function.
 * Threads  Any.
 */
#ifndef COMMON_BASE_MUST_H
#define COMMON_BASE_MUST_H

#define must(cond) ((cond) ? (void)0 : log_bug(#cond, __FILE__, __LINE__))
_Noreturn void log_bug(const char *condition, const char *file, int line);

#endif
