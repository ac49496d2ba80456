/* Which texts are URLs of the bus, what they mean, and what a refusal says. */
#include "common/bus/bus_url.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char why[BUS_URL_WHY];

/* "USER PASSWORD HOST PORT", with - for what is not given; or why the text is refused. */
static const char *server(const char *text, size_t i)
{
    static char described[256];
    struct bus_url url;
    const struct bus_server *at;

    if (!bus_url_read(text, &url, why))
        return why;
    cr_assert_lt(i, url.n);
    at = &url.at[i];
    snprintf(described, sizeof(described), "%s %s %s %u", at->user != NULL ? at->user : "-",
             at->password != NULL ? at->password : "-", at->host, at->port);
    bus_url_release(&url);
    return described;
}

static void expect(const char *text, const char *expected)
{
    cr_expect_str_eq(server(text, 0), expected, "%s: %s", text, server(text, 0));
}

static void expect_refused(const char *text, const char *part)
{
    cr_expect_not_null(strstr(server(text, 0), part), "%s: %s", text, server(text, 0));
}

Test(bus_url, reads_each_part)
{
    expect("nats://gateway:secret@bus.example:4223", "gateway secret bus.example 4223");
    expect("tls://bus_1.example-2", "- - bus_1.example-2 4222");
    expect("NATS://10.0.0.1/", "- - 10.0.0.1 4222");
    expect("localhost:1", "- - localhost 1");
    expect("nats://token@bus", "token - bus 4222");
    expect("nats://a:@bus:65535", "a  bus 65535");
}

Test(bus_url, decodes_user_and_password)
{
    expect("nats://op%65rator:p%40ss%3Aw%2Frd%251@bus", "operator p@ss:w/rd%1 bus 4222");
    expect("nats://comma:a%2Cb%20c@bus", "comma a,b c bus 4222");
    expect("nats://a:%c5%82+!$&'()*;=~<^@bus", "a \xc5\x82+!$&'()*;=~<^ bus 4222");
}

Test(bus_url, reads_addresses_in_brackets)
{
    expect("nats://a:b@[2001:db8::1]:4223", "a b 2001:db8::1 4223");
    expect("[::1]", "- - ::1 4222");
    expect_refused("nats://2001:db8::1", "in brackets");
    expect_refused("nats://[::1", "closing bracket");
    expect_refused("nats://[::1]4222", "the port");
    expect_refused("nats://[127.0.0.1]", "must be an IPv6 address");
    expect_refused("nats://[bus]", "must be an IPv6 address");
}

Test(bus_url, reads_several_servers)
{
    struct bus_url url;

    cr_expect_str_eq(server("nats://a:b@one:1,nats://c:d@two, three:3\r\n", 0), "a b one 1");
    cr_expect_str_eq(server("nats://a:b@one:1,nats://c:d@two, three:3\r\n", 1), "c d two 4222");
    cr_expect_str_eq(server("nats://a:b@one:1,nats://c:d@two, three:3\r\n", 2), "- - three 3");
    cr_assert(bus_url_read("nats://one,tls://two", &url, why));
    cr_expect_eq(url.n, 2);
    cr_expect(url.at[0].tls && url.at[1].tls);
    bus_url_release(&url);
    cr_assert(bus_url_read("nats://one,two", &url, why));
    cr_expect_not(url.at[0].tls || url.at[1].tls);
    bus_url_release(&url);
    expect_refused("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16");
    expect_refused("nats://one,nats://two:0", "server 2: the port");
    expect_refused(" ,\n", "there is none");
}

Test(bus_url, refuses_what_could_mean_something_else)
{
    expect_refused("nats://a:p@ss@bus", "%40");
    expect_refused("nats://a:p:ss@bus", "%3A");
    expect_refused("nats://a:p/ss@bus", "%2F");
    expect_refused("nats://a:p?ss@bus", "%3F");
    expect_refused("nats://a:p%ss@bus", "%25");
    expect_refused("nats://a:p%4@bus", "%25");
    expect_refused("nats://a:p%@bus", "%25");
    expect_refused("nats://a:p%00ss@bus", "%25");
    expect_refused("nats://a:p%22ss@bus", "control characters");
    expect_refused("nats://a%5c:pass@bus", "control characters");
    expect_refused("nats://a:p%0Ass@bus", "control characters");
    expect_refused("nats://a:p,ss@bus", "%2C");
    expect_refused("nats://a:1,2@bus", "%2C");
    expect_refused("nats://a:1 2:3@bus", "%20");
}

Test(bus_url, refuses_what_has_no_meaning)
{
    expect_refused("http://bus", "nats:// or tls://");
    expect_refused("ws://a:b@bus", "nats:// or tls://");
    expect_refused("nats://", "no host");
    expect_refused("nats://a:b@", "no host");
    expect_refused("nats://:b@bus", "no user");
    expect_refused("nats://bus:0", "from 1 to 65535");
    expect_refused("nats://bus:65536", "from 1 to 65535");
    expect_refused("nats://bus:", "from 1 to 65535");
    expect_refused("nats://bus/path", "nothing may follow");
    expect_refused("nats://b(s", "a name or an address");
    expect_refused("", "there is none");
}

Test(bus_url, repeats_nothing_of_a_refused_text)
{
    static const char *const texts[] = {"nats://user:s3cr3t:x@bus", "s3cr3t://bus",
                                        "nats://user:s3cr3t%@bus", "nats://user:s3cr3t,@bus"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_expect_null(strstr(server(texts[i], 0), "s3cr3t"), "%s", why);
}
