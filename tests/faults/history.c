#include "tests/faults/history.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

void history_open(const char *path)
{
    file = fopen(path, "we");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
}

void history_write(json_t *line)
{
    char *text = file != NULL ? json_dumps(line, JSON_COMPACT) : NULL;

    if (file == NULL) {
        json_decref(line);
        return;
    }
    cr_assert_not_null(text);
    pthread_mutex_lock(&lock);
    cr_assert(fputs(text, file) >= 0 && fputc('\n', file) == '\n');
    pthread_mutex_unlock(&lock);
    free(text);
    json_decref(line);
}

void history_close(void)
{
    cr_assert_eq(fclose(file), 0);
    file = NULL;
}
