#include "common/base/process.h"

#include <pthread.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/base/log_writer.h"
#include "common/base/version.h"

void process_prepare(sigset_t *ends)
{
    const struct rlimit none = {0, 0};

    log_writer_start();
    LOG(LOG_INFO, "starting", log_str("version", version_text),
        log_str("revision", version_revision));
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    must(pthread_sigmask(SIG_BLOCK, ends, NULL) == 0);
}
