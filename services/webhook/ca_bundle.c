#include "services/webhook/ca_bundle.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"

#define SYSTEM_FILE "/etc/ssl/certs/ca-certificates.crt"

static bool append(const char *file, int to)
{
    char bytes[8192];
    FILE *from = fopen(file, "re");
    bool is_fine = from != NULL;
    size_t n;

    while (is_fine && (n = fread(bytes, 1, sizeof(bytes), from)) > 0)
        is_fine = write(to, bytes, n) == (ssize_t)n;
    is_fine = is_fine && !ferror(from) && write(to, "\n", 1) == 1;
    if (from != NULL)
        fclose(from);
    return is_fine;
}

int ca_bundle_open(const char *file, char path[CA_BUNDLE_PATH])
{
    const int fd = memfd_create("ca-bundle", MFD_CLOEXEC);

    must(fd >= 0);
    if (!append(SYSTEM_FILE, fd))
        LOG(LOG_WARNING, "the system has no CA certificates", log_str("file", SYSTEM_FILE));
    if (file != NULL && !append(file, fd)) {
        LOG(LOG_ERROR, "WEBHOOK_CA_FILE cannot be read", log_str("file", file));
        close(fd);
        return -1;
    }
    snprintf(path, CA_BUNDLE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

void ca_bundle_close(int fd)
{
    close(fd);
}
