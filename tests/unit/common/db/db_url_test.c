#include "common/db/db_url.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/str.h"

static const struct {
    const char *url, *fault; /* part of the fault; NULL: none */
} cases[] = {
    {"postgresql://u:p@a:1,[::1]:2,c/d", NULL},
    {"host=a,b port=7", NULL},
    {"host=a,b hostaddr=127.0.0.1,127.0.0.2 port=1,", NULL},
    {"dbname=d", NULL},
    {"postgresql://a/d?target_session_attrs=", NULL},
    {"postgresql://a/d?target_session_attrs=any", NULL},
    {"postgresql://a/d?target_session_attrs=read-write", NULL},
    {"postgresql://a/d?target_session_attrs=read-only", NULL},
    {"postgresql://a/d?target_session_attrs=primary", NULL},
    {"postgresql://a/d?target_session_attrs=standby", NULL},
    {"postgresql://a/d?target_session_attrs=prefer-standby", NULL},
    {"host=/run/postgresql,@abstract", NULL},
    {"host=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", NULL},
    {"\"postgresql://a@b/c\"", "quotation marks"},
    {"postgresql://u:a/b@c/d", "%2F"},
    {"postgresql://u:a@b@c/d", "%40"},
    {"host=a,b,c port=1,2", "differ in length"},
    {"host=a,b hostaddr=127.0.0.1", "differ in length"},
    {"host=a,,c", "empty part"},
    {"host=,b", "empty part"},
    {"host=a,b hostaddr=127.0.0.1,", "empty part"},
    {"host=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16"},
    {"service=s", "service"},
    {"postgresql://a/d?target_session_attrs=master", "target_session_attrs other than any, "},
    {"host=a target_session_attrs=Any", "target_session_attrs other than any, "},
};

Test(db_url, names_what_cannot_be_used)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *fault = db_url_fault(cases[i].url);

        if (cases[i].fault == NULL)
            cr_expect_null(fault, "%s: %s", cases[i].url, fault);
        else
            cr_expect(fault != NULL && strstr(fault, cases[i].fault) != NULL, "%s: %s",
                      cases[i].url, fault != NULL ? fault : "sound");
    }
}
