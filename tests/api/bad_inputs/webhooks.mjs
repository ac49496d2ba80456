// Server-side request forgery: addresses that an endpoint for webhooks must not have. An address has many
// spellings, and URL parsers differ in which they accept; only the canonical one is accepted, and it must be
// public. Both canonical loopback addresses are left out: the stack under test sends there.
import { bad, utf8 } from './rows.mjs';
import { change } from './dashboard.mjs';

const url = (message) => bad('url', message);
const HTTPS = url('must begin with https://');
const LETTERS = url('has a host that is not in ASCII: write it as xn--...');
const CHARACTERS = url('has a character that URLs do not allow: write it as % and two hexadecimal digits');
const FRAGMENT = url('must not have a fragment');
const NO_HOST = url('has no host');
const USER = url('must not contain a user name or password');
const letter = (character) => url(`has a character that host names do not allow: ${character}`);
const NOT_DNS = url('has a host name with something other than letters, digits, hyphens and full stops');
const HYPHEN = url('has a host name with a part that begins or ends with a hyphen');
const FULL_STOPS = url('has a host with two full stops in a row, or one at its beginning');
const FINAL_STOP = url('must not end its host with a full stop');
const LONG_PART = url('has a host name with a part of more than 63 characters');
const NOT_CANONICAL = url('must spell an address of its host canonically, like 203.0.113.7 or [2001:db8::7]');
const NO_DOMAIN = url('needs a host name with a domain, like hooks.example.com');
const INNER = url('has a host name that is internal to a network; it needs one of the public DNS');
const TOO_LONG_NAME = url('has a host name that is too long');
const PORT = url('must have no port, or one from 443, 8443 and 1024 to 65535, without zeros before it');
const PRIVATE = url('must point to a public address');

const table = [
  [HTTPS, '', 'http://example.com/', 'HTTP://example.com/', 'httpss://example.com/', 'ws://example.com/',
    'wss://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'gopher://127.0.0.1:6379/_INFO',
    'dict://127.0.0.1:11211/', 'ldap://127.0.0.1/', 'unix:///var/run/docker.sock', 'jar:https://example.com!/',
    'data:text/html,a', 'javascript:alert(1)', '//example.com/', '/path', 'example.com', 'https', 'https:',
    'https:/', 'https:/example.com', 'https:example.com', 'https:\\\\example.com', ' https://example.com/',
    '\thttps://example.com/', '\nhttps://example.com/', 'view-source:https://example.com/',
    'url:https://example.com/', '"https://example.com/"', '<https://example.com/>', utf8('https：//example.com/')],
  [CHARACTERS, 'https://example.com/ ', 'https://example.com /', 'https://example.com/\t',
    'https://example.com/\r\nHost: a', 'https://example.com/\n', 'https://example.com/\0', 'https://\0example.com/',
    'https://example.com\\@127.0.0.1/', 'https://example.com\\.127.0.0.1/', 'https://127.0.0.1\\@example.com/',
    'https:// example.com/', 'https://example.com/"', 'https://example.com/<script>', 'https://example.com/`id`',
    'https://example.com/{a}', 'https://example.com/|a', 'https://example.com/^', 'https://example.com/\x7f',
    'https://example.com/\x1b', utf8('https://example.com/é')],
  [LETTERS, utf8('https://exämple.com/'), utf8('https://１２７.0.0.1/'), utf8('https://①②⑦.⓪.⓪.①/'),
    utf8('https://example。com/'), utf8('https://exa\u00admple.com/'), utf8('https://loc\u200balhost.com/'),
    utf8('https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/'), utf8('https://127。0。0。1/'), utf8('https://evil.example\u202e/'),
    utf8('https://\uFEFFexample.com/')],
  [FRAGMENT, 'https://example.com/#', 'https://example.com#@127.0.0.1/', 'https://127.0.0.1#.example.com/',
    'https://#example.com/'],
  [NO_HOST, 'https://', 'https:///', 'https:///127.0.0.1/', 'https://?a=b', 'https:////example.com/'],
  [USER, 'https://user@example.com/', 'https://user:password@example.com/', 'https://:@example.com/',
    'https://@example.com/', 'https://example.com@127.0.0.1/', 'https://example.com:443@127.0.0.1/',
    'https://127.0.0.1@example.com/', 'https://example.com%2f@127.0.0.1/', 'https://a@b@example.com/',
    'https://[::1]@example.com/', 'https://%40@example.com/'],
  [FULL_STOPS, 'https://example..com/', 'https://.example.com/', 'https://example.com../', 'https://./',
    'https://../'],
  [FINAL_STOP, 'https://example.com./', 'https://localhost./', 'https://127.0.0.1./'],
  [HYPHEN, 'https://-example.com/', 'https://example-.com/'],
  [letter('_'), 'https://exa_mple.com/'],
  [letter('%'), 'https://exa%6dple.com/', 'https://%31%32%37.0.0.1/', 'https://127%2e0%2e0%2e1/',
    'https://example.com%00.evil.example/', 'https://example.com%0a.evil.example/',
    'https://example.com%2f.evil.example/', 'https://%/', 'https://%5b::1%5d/'],
  [NOT_DNS, 'https://*.example.com/', "https://example.com'/", 'https://example.com,example.org/',
    'https://example.com;a/', 'https://example.com!/', 'https://$HOME.example.com/', 'https://(example).com/',
    'https://example+a.com/', 'https://example=a.com/', 'https://~example.com/', 'https://&example.com/'],
  [LONG_PART, `https://${'a'.repeat(64)}.com/`],
  [NO_DOMAIN, 'https://localhost/', 'https://LOCALHOST/', 'https://LocalHost:8443/', 'https://intranet/',
    'https://postgres/', 'https://nats:4222/', 'https://metadata/', 'https://kubernetes/', 'https://com/',
    'https://a/', 'https://ip6-localhost/', 'https://broadcasthost/', 'https://gateway:8080/', 'https://host/'],
  [INNER, 'https://app.localhost/', 'https://APP.LOCALHOST/', 'https://localhost.localdomain/',
    'https://printer.local/', 'https://printer.LOCAL/', 'https://metadata.google.internal/',
    'https://instance-data.ec2.internal/', 'https://host.docker.internal/', 'https://router.home.arpa/',
    'https://nas.lan/', 'https://api.default.svc/', 'https://api.default.svc.cluster.local/', 'https://wiki.corp/',
    'https://wiki.intranet/', 'https://db.private/', 'https://tv.home/', 'https://a.b.c.internal/',
    'https://home.arpa/'],
  [TOO_LONG_NAME, `https://${'a.'.repeat(127)}example.com/`],
  [PORT, 'https://example.com:/', 'https://example.com:a/', 'https://example.com:https/',
    'https://example.com:0443/', 'https://example.com:00443/', 'https://example.com:+443/',
    'https://example.com:-443/', 'https://example.com:443.0/', 'https://example.com:0x1bb/',
    'https://example.com:4e2/', 'https://example.com:443:443/', 'https://example.com:65536/',
    'https://example.com:65979/', 'https://example.com:4294967739/', 'https://example.com:99999/',
    'https://example.com::443/', 'https://example.com:443%20/', 'https://example.com:443,8443/',
    'https://example.com:0/', 'https://1.1.1.1:/', 'https://[2606:4700::1111]:/', 'https://[2606:4700::1111]:a/',
    'https://[2606:4700::1111]:443]/'],
  [PORT, ...[1, 7, 21, 22, 23, 25, 53, 80, 110, 111, 143, 389, 442, 444, 445, 465, 587, 993, 1023]
    .map((port) => `https://example.com:${port}/`), 'https://[2606:4700::1111]:22/', 'https://1.1.1.1:80/'],
  // IPv4 addresses in spellings that C libraries, browsers or language runtimes accept.
  [NOT_CANONICAL, 'https://0/', 'https://1/', 'https://127.1/', 'https://127.0.1/', 'https://10.1/',
    'https://169.254.43518/', 'https://2130706433/', 'https://2852039166/', 'https://167772161/',
    'https://3232235777/', 'https://4294967295/', 'https://4294967297/', 'https://017700000001/',
    'https://0177.0.0.1/', 'https://0177.0.0.01/', 'https://00000177.0.0.1/', 'https://0251.0376.0251.0376/',
    'https://025177524776/', 'https://0x7f000001/', 'https://0x7F.0x0.0x0.0x1/', 'https://0x7f.1/',
    'https://0X7F.0.0.1/', 'https://0xa9fea9fe/', 'https://0xa9.0xfe.0xa9.0xfe/', 'https://0x0a000001/',
    'https://0x100000001/', 'https://0x/', 'https://0x.0x.0x.0x/', 'https://127.0.0.0x1/', 'https://127.0.0.010/',
    'https://127.000.000.001/', 'https://01.1.1.1/', 'https://1.1.1.01/', 'https://256.256.256.256/',
    'https://127.0.0.256/', 'https://383.0.0.1/', 'https://1.1.1.1.1/', 'https://1.2.3/', 'https://1.1.1.1111/',
    'https://example.1/', 'https://example.com.1/', 'https://a.0x1/', 'https://[127.0.0.1]/', 'https://[1.1.1.1]/',
    'https://[2130706433]/', 'https://[0x7f.1]/'],
  [PRIVATE, ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200',
    '100.127.255.254', '169.254.0.1', '169.254.169.254', '169.254.170.2', '169.254.169.123', '172.16.0.1',
    '172.17.0.1', '172.31.255.254', '192.0.0.1', '192.0.0.170', '192.0.0.192', '192.0.2.1', '192.31.196.1',
    '192.52.193.1', '192.88.99.1', '192.168.0.1', '192.168.99.100', '192.168.255.255', '192.175.48.1', '198.18.0.1',
    '198.19.255.254', '198.51.100.7', '203.0.113.7', '224.0.0.1', '224.0.0.251', '239.255.255.250', '240.0.0.1',
    '255.255.255.255', '168.63.129.16']
    .map((address, i) => `https://${address}${i % 2 ? '/' : ':8443/latest/meta-data/?a=b'}`)],
  // IPv6 addresses that are not global or contain an IPv4 address.
  [PRIVATE, ...['::', '::2', '64:ff9b::a00:1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a00:1',
    '100::1', '100:0:0:1::1', '2001::1', '2001:0:7f00:1::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1',
    '2001:db8:ffff::1', '2002:7f00:1::1', '2002:a00:1::1', '2002:a9fe:a9fe::1', '2620:4f:8000::1', '3fff::1',
    '4000::1', '5f00::1', '8000::1', 'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fd12:3456:789a:1::1',
    'fe80::1', 'fe80::a9fe:a9fe', 'fec0::1', 'ff02::1', 'ff05::1:3', 'ffff::1',
    '::ffff:0:7f00:1'].map((address) => `https://[${address}]/`)],
  [NOT_CANONICAL, ...['0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:0000:0000:0001', '::0001', '0::1', '::00:1',
    '::1%lo', '::1%251', 'fe80::1%eth0', 'fe80::1%25eth0', '::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:127.0.0.1',
    '::ffff:0x7f.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8', '0:0:0:0:0:ffff:127.0.0.1',
    '2606:4700:0:0:0:0:0:1111', '2606:4700::0:1111', '2606:4700:0000::1111', '2606:4700::ABCD', '2606:4700::1111::',
    ':1', '1:', '1::2::3', '12345::1', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', 'g::1', 'example.com', '', ':',
    '::1.2.3', '::1/64', 'v1.a', '[::1]', '::1.'].map((address) => `https://[${address}]/`), 'https://[::1/',
    'https://[::1', 'https://[', 'https://[::1]a/', 'https://[::1].example.com/', 'https://[2606:4700::1111]8443/'],
  [NOT_DNS, 'https://]/'],
  [NO_HOST, 'https://::1]/'],
];

const posted = (text) => change('POST', '/data/webhooks',
  `{"url":"${[...text].map((c) => c < ' ' || c === '\x7f' || c === '"' || c === '\\'
    ? `\\u00${c.charCodeAt(0).toString(16).padStart(2, '0')}` : c).join('')}","events":["ticket.created"]}`);

const urls = table.flatMap(([answer, ...texts]) => texts.map((text) =>
  [`an endpoint at ${JSON.stringify(text.length > 80 ? `${text.slice(0, 60)}...` : text)}`, posted(text), answer]));

const members = (text) => change('POST', '/data/webhooks', text);
const GOOD = '"url":"https://example.com/"';
const EVENT = 'must be conversation.created, ticket.created, ticket.resolved or ai.handoff';
const others = [
  ['an endpoint at a URL of 2,049 letters', posted(`https://example.com/${'a'.repeat(2029)}`),
    url('must be at most 2048 characters long')],
  ['an endpoint at a number', members('{"url":1,"events":["ticket.created"]}'), url('must be a string')],
  ['an endpoint at null', members('{"url":null,"events":["ticket.created"]}'), url('must not be null')],
  ['an endpoint at a list', members('{"url":["https://example.com/"],"events":["ticket.created"]}'),
    url('must be a string')],
  ['an endpoint for no event', members(`{${GOOD},"events":[]}`), bad('events', 'must be an array of 1 to 10 events')],
  ['an endpoint for an unknown event', members(`{${GOOD},"events":["ticket.deleted"]}`), bad('events[0]',
    EVENT)],
  ['an endpoint for everything', members(`{${GOOD},"events":["*"]}`), bad('events[0]', EVENT)],
  ['an endpoint for a word', members(`{${GOOD},"events":"ticket.created"}`),
    bad('events', 'must be an array of 1 to 10 events')],
  ['an endpoint with a secret of its own', members(`{${GOOD},"events":["ticket.created"],"secret":"whsec_a"}`),
    bad('secret', 'is not a field of this request')],
  ['an endpoint of another organization', members(`{${GOOD},"events":["ticket.created"],"organization_id":"a"}`),
    bad('organization_id', 'is not a field of this request')],
  ['an endpoint that signs maybe', members(`{${GOOD},"events":["ticket.created"],"signing":"no"}`),
    bad('signing', 'must be true or false')],
];

export const rows = [...urls, ...others];
