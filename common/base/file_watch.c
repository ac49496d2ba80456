#include "common/base/file_watch.h"

#include <string.h>
#include <sys/stat.h>

#include "common/base/clock.h"

/* The kernel's clock for files advances in steps of up to 10 ms. */
enum { YOUNG_US = 20 * 1000 };

static struct file_state state_of(const char *name)
{
    struct stat found;

    if (name == NULL || stat(name, &found) != 0)
        return (struct file_state){.size = -1};
    return (struct file_state){found.st_dev, found.st_ino, found.st_size, found.st_mtim,
                               found.st_ctim};
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct file_state *a, const struct file_state *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           is_same_time(&a->modified, &b->modified) && is_same_time(&a->changed, &b->changed);
}

/* A time in the future, of another machine's clock, does not make a file young for long. */
static bool is_young(const struct file_state *state)
{
    const int64_t age_us = clock_machine_us() - (state->changed.tv_sec * INT64_C(1000000) +
                                                 state->changed.tv_nsec / 1000);

    return state->size >= 0 && age_us > -YOUNG_US && age_us < YOUNG_US;
}

struct file_watch file_watch_of(const char *first, const char *second)
{
    struct file_watch watch = {.names = {first, second}, .due_us = clock_mono_us() + FILE_WATCH_US};

    for (size_t i = 0; i < FILE_WATCH_FILES; i++) {
        watch.read[i] = state_of(watch.names[i]);
        if (is_young(&watch.read[i]))
            watch.read[i].changed = (struct timespec){0};
    }
    return watch;
}

static bool have_changed(struct file_watch *watch)
{
    struct file_state now[FILE_WATCH_FILES];
    bool is_any = false;

    for (size_t i = 0; i < FILE_WATCH_FILES; i++) {
        now[i] = state_of(watch->names[i]);
        if (is_young(&now[i]))
            return false;
        is_any = is_any || !is_same(&now[i], &watch->read[i]);
    }
    memcpy(watch->read, now, sizeof(now));
    return is_any;
}

enum file_news file_watch_look(struct file_watch *watch)
{
    const int64_t now_us = clock_mono_us();
    const bool had_failed = watch->has_failed;

    if (now_us < watch->due_us)
        return FILES_ARE_SAME;
    watch->due_us = now_us + FILE_WATCH_US;
    watch->has_failed = false;
    if (have_changed(watch))
        return FILES_HAVE_CHANGED;
    return had_failed ? FILES_NEED_RETRY : FILES_ARE_SAME;
}

void file_watch_failed(struct file_watch *watch)
{
    watch->has_failed = true;
}
