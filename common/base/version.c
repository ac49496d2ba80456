#include "common/base/version.h"

/* The linker takes this file from the library only if nothing else defines the two. So a commit
   relinks the programs, but no test. */
const char version_text[] = "0.0.0";
const char version_revision[] = "unknown";
