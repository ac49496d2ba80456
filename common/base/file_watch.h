/*
 * file_watch - whether files have changed since they were read.
 *
 * What     Looks at up to two files that are read together, at most once a second. Sees a file that
 *          was renamed over another one, written again in place, even with as many bytes and within
 *          the same second, removed or made; and a link that leads elsewhere, as Kubernetes changes
 *          secrets. A file that was written just now may not be complete, and its next change may
 *          get the same time from the kernel: it counts as changed at the next look.
 *          Only a file system that keeps times in whole seconds can hide a change: one that is made
 *          in place, within a second of another one that was seen, and leaves the size as it was.
 * Owns     Nothing. The names must live as long as the watch.
 * Threads  One at a time.
 */
#ifndef COMMON_BASE_FILE_WATCH_H
#define COMMON_BASE_FILE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define FILE_WATCH_US    1000000 /* between two looks */
#define FILE_WATCH_FILES 2

struct file_state {
    uint64_t device, inode;
    int64_t size; /* -1: there is no such file, or it cannot be looked at */
    struct timespec modified, changed;
};

struct file_watch {
    const char *names[FILE_WATCH_FILES]; /* NULL = none */
    struct file_state read[FILE_WATCH_FILES];
    bool has_failed;
    int64_t due_us; /* clock_mono_us() */
};

enum file_news {
    FILES_ARE_SAME, /* or it is too early to look */
    FILES_HAVE_CHANGED,
    FILES_NEED_RETRY, /* the same, after file_watch_failed() */
};

/* Call it before the files are read: what is written meanwhile is a change for the first look. */
struct file_watch file_watch_of(const char *first, const char *second);
/* The caller reads the files afterwards, unless they are the same. */
enum file_news file_watch_look(struct file_watch *watch);
/* The files could not be used: each look says so until one succeeds in reading them, since the
   cause may have been another one than their content. */
void file_watch_failed(struct file_watch *watch);

#endif
