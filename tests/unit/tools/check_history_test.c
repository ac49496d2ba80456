/* tests/faults/check_history finds a broken promise in a history, and none in a sound one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"

/* JSON with single quotes, which are made double ones when it is written. */
#define VERSION_OF(k0, updated)                                                                    \
    "{'id':'v','ext':'x-0','contact':'c-0','attrs':{'born':1" k0                                   \
    "},'created':1700000010,'updated':" updated "}"
#define VERSION(k0) VERSION_OF(k0, "1700000011")
#define OP(name, at, status, id, args, got)                                                        \
    "{'type':'op','op':'" name "','org':0,'gateway':0,'begin':" at "000000,'end':" at              \
    "010000,'status':" status ",'id':'" id "','args':" args ",'got':" got "}\n"
#define LAST "{'type':'verify','org':0,'found':{'ok':true}}\n"
#define KEY(state, at)                                                                             \
    "{'type':'key','key':'a','state':'" state "','begin':" at "000000,'end':" at                   \
    "010000,'done':true}\n"
#define DELIVERY                                                                                   \
    "{'type':'delivery','org':0,'event':'evt_1','delivery':'d1','header':'conversation.created',"  \
    "'signed':true,'at':10100000,'body':{'id':'evt_1','type':'conversation.created',"              \
    "'data':{'id':'v','channel':'api','status':'active'}}}\n"

/* Made at 10 s, changed at 11 s, read at 12 s, and read again when all was over; beside it a key that comes
   and goes. */
static const char *const lines[] = {
    "{'type':'run','seed':1,'seconds':9,'rate':1,'wall':1700000000000000}\n",
    "{'type':'org','org':0,'id':'o'}\n",
    "{'type':'fault','what':'kill:nats:0','begin':50000000,'end':50000001}\n",
    OP("create", "10", "201", "r1", "{'ext':'x-0','contact':'c-0','born':1}", VERSION("")),
    OP("update", "11", "200", "r2", "{'conversation':'v','set':{'k0':5}}", VERSION(",'k0':5")),
    OP("get", "12", "200", "r3", "{'conversation':'v'}", VERSION(",'k0':5")),
    DELIVERY,
    KEY("made", "9"),
    OP("ping", "13", "200", "r6", "{'scope':'full','key':'a'}",
       "{'organization_id':'o','scope':'full','server_time':1700000013}"),
    KEY("revoked", "15"),
    OP("search", "20", "200", "r4", "{'contact':'c-0','final':true}",
       "{'conversations':[" VERSION(",'k0':5") "],'total':1,'more':false}"),
    OP("audit", "21", "200", "r5", "{'final':true}",
       "{'audit_logs':[['r1','conversation.create',201,'v'],['r2','conversation.update',200,'v'],"
       "['r3','conversation.get',200,'v'],['r4','conversation.search',200,null],"
       "['r6','ping',200,null]],'more':false}"),
    LAST,
};

static char sound[4096]; /* the lines */
static char path[] = "/tmp/check-history.XXXXXX";

static void make_file(void)
{
    const int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    close(fd);
    for (size_t i = 0, n = 0; i < ARRAY_SIZE(lines); i++) {
        n += (size_t)snprintf(sound + n, sizeof(sound) - n, "%s", lines[i]);
        cr_assert_lt(n, sizeof(sound));
    }
}

static void remove_file(void)
{
    unlink(path);
}

TestSuite(check_history, .init = make_file, .fini = remove_file);

static void write_json(FILE *file, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc(text[i] == '\'' ? '"' : text[i], file);
}

/* Of the sound history with the first `old` in it replaced: its exit status, and what it says. */
static int check(const char *old, const char *new, char output[8192])
{
    const char *at = strstr(sound, old), *rest;
    char command[256];
    FILE *file = fopen(path, "we");
    int status;

    cr_assert(at != NULL && file != NULL, "%s", old);
    rest = at + strlen(old);
    write_json(file, sound, (size_t)(at - sound));
    write_json(file, new, strlen(new));
    write_json(file, rest, strlen(rest));
    cr_assert_eq(fclose(file), 0);
    snprintf(command, sizeof(command), "tests/faults/check_history %s 2>&1", path);
    file = popen(command, "re");
    cr_assert_not_null(file);
    output[fread(output, 1, 8191, file)] = '\0';
    status = pclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(check_history, finds_nothing_in_a_sound_one)
{
    char output[8192];

    cr_expect_eq(check("wall", "wall", output), 0, "%s", output);
}

/* What breaks which promise. */
static const struct {
    const char *old, *new, *promise;
} broken[] = {
    {"'conversation':'v'},'got':" VERSION(",'k0':5"), "'conversation':'v'},'got':" VERSION(""),
     "no read is stale, and no update lost"},
    {"'conversations':[" VERSION(",'k0':5") "]", "'conversations':[]",
     "what was acknowledged is there"},
    {"'status':201", "'status':503", "what was answered 503 or refused wrote nothing"},
    {"11010000,'status':200", "11010000,'status':503",
     "a value was written by a write that may have been carried out"},
    {"['r2','conversation.update',200,'v'],", "", "an answer has its entry"},
    {"['r2',", "['r1','conversation.create',201,'v'],['r2',", "no answer has two entries"},
    {"['r3','conversation.get',200", "['r3','conversation.get',404",
     "an entry has the answer's status"},
    {"'r3','args'", "'r9','args'", "every entry is of a request"},
    {"'ext':'x-0','contact':'c-0','attrs'", "'ext':'x-1','contact':'c-0','attrs'",
     "an answer is about what was asked for"},
    {"'signed':true", "'signed':false", "a delivery is signed"},
    {"{'type':'delivery','org':0", "{'type':'delivery','org':1", "each event is delivered"},
    {"'data':{'id':'v'", "'data':{'id':'w'", "an event is of what is there"},
    {"{'ok':true}", "{'ok':false}", "the seal verifies"},
    {"12010000,'status':200", "12010000,'status':500", "nothing fails without a fault"},
    {"12010000", "19010000", "no answer is late"},
    {"12010000,'status':200", "12010000,'status':404", "an error is in its envelope"},
    {"12010000,'status':200", "12010000,'status':404",
     "a request gets the status that it is to get"},
    {"'status':201", "'status':200", "a replay says so, and nothing else does"},
    {"'got':{'id':'v'", "'got':{'id':'w'", "an external id has one conversation"},
    {"'contact':'c-0','born':1}", "'contact':'c-0','born':2}",
     "a new conversation has the attributes that it was given"},
    {"'set':{'k0':5}", "'set':{'k0':6}", "an update answers with what it wrote"},
    {"'set':{'k0':5}", "'set':{'k1':5}", "no attribute is there that nobody wrote"},
    {"'k0':5},'created':1700000010,'updated':1700000011",
     "'k0':5},'created':1700000010,'updated':1699999990", "an update moves updated_at"},
    {"{'contact':'c-0','final'", "{'contact':'c-1','final'", "a search is for one contact"},
    {"['r3','conversation.get'", "['r3','conversation.search'", "an entry names the operation"},
    {"'conversation.get',200,'v'", "'conversation.get',200,null",
     "an entry names the conversation"},
    {"'status':'active'", "'state':'active'", "a delivery has the form that was promised"},
    {"'status':201", "'status':409", "a conflict has another that it conflicts with"},
    {"'status':201", "'replay':true,'status':200", "a replay is of what was made"},
    {"{'contact':'c-0','final'", "{'contact':'c-1','final'",
     "a conversation stays with its contact"},
    {"'conversations':[{'id':'v','ext':'x-0'", "'conversations':[{'id':'v','ext':'x-9'",
     "nothing is there that nobody made"},
    {"'conversation':'v'},'got':" VERSION(",'k0':5"),
     "'conversation':'v'},'got':" VERSION_OF(",'k0':5", "1700000010"),
     "updated_at does not go back"},
    {"12010000,'status':200", "12010000,'status':401", "what has no key has no entry"},
    {"13010000,'status':200", "13010000,'status':403", "a key works or does not"},
    {"13010000,'status':200", "13010000,'status':401", "a key works until it is revoked"},
    {"'organization_id':'o'", "'organization_id':'p'",
     "an answer is of the key's own organization"},
    {"'server_time':1700000013", "'server_time':1700000099",
     "server_time is the time of the answer"},
    {LAST, DELIVERY LAST, "each attempt has an id of its own"},
    {LAST,
     OP("create", "10", "201", "r7", "{'ext':'x-0','contact':'c-0','born':1}", VERSION("")) LAST,
     "one of racing creates makes it"},
    {LAST,
     OP("search", "16", "200", "r8", "{'contact':'c-0','walk':1,'page':0,'per_page':2}",
        "{'conversations':[" VERSION(",'k0':5") "],'total':1,'more':true}")
         OP("search", "17", "200", "r9", "{'contact':'c-0','walk':1,'page':1,'per_page':2}",
            "{'conversations':[],'total':1,'more':false}") LAST,
     "a page that has a next one is full"},
    {LAST,
     "{'type':'fault','what':'stop:search-0:9','begin':90000000,'end':92000000}\n" OP(
         "get", "91", "0", "", "{'conversation':'v'}", "null") LAST,
     "a gateway that lives answers"},
};

Test(check_history, finds_each_broken_promise)
{
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        char output[8192];

        cr_expect_eq(check(broken[i].old, broken[i].new, output), 1, "%s", broken[i].promise);
        cr_expect_not_null(strstr(output, broken[i].promise), "%s\n%s", broken[i].promise, output);
    }
}

Test(check_history, tells_a_broken_file_from_a_broken_promise)
{
    char output[8192];

    cr_expect_eq(check("{'type':'org'", "{'type':'orb'", output), 2, "%s", output);
}
