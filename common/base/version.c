#include "common/base/version.h"

/* The linker takes this from the library only where nothing else has said the two. So a commit
   relinks the programs, but no test. */
const char version_text[] = "0.0.0";
const char version_revision[] = "unknown";
