// Unicode: bytes that are not UTF-8, code points that are not characters, unusual white space, and letters of
// more than one code point.
import { bad, badJson, create, invalid, search, taken, update, utf8 } from './rows.mjs';

const NOT_UTF8 = badJson('not UTF-8');
const OUTER = 'must not begin or end with white space';

const attribute = (text) => update(`{"custom_attributes":{"a":"${text}"}}`);
const externalId = (text) => create(`{"external_id":"${text}","from":{"external_id":"bad-inputs"}}`);
const contact = (members) => create(`{"external_id":"unicode","from":{"external_id":"bad-inputs",${members}}}`);
const u = (code) => `\\u${code.toString(16).padStart(4, '0')}`;

// Raw bytes. A truncated sequence is followed by the quote that ends the string.
const bytes = [
  ['a byte that continues nothing', '\x80'],
  ['the last byte that continues nothing', '\xbf'],
  ['five bytes that continue nothing', '\x80\x81\x82\x83\x84'],
  ['a first byte of two, alone', '\xc3'],
  ['a first byte of two, before a letter', '\xc3a'],
  ['a first byte of three, alone', '\xe2'],
  ['two bytes of three', '\xe2\x82'],
  ['two bytes of three, before a letter', '\xe2\x82a'],
  ['three bytes of four', '\xf0\x9f\x98'],
  ['a first byte of four, before two letters', '\xf0ab'],
  ['a character and half of the next', '\xc3\xa9\xc3'],
  ['the byte C0', '\xc0'],
  ['the byte C1', '\xc1'],
  ['NUL in two bytes', '\xc0\x80'],
  ['a quote in two bytes', '\xc0\xa2'],
  ['a slash in two bytes', '\xc0\xaf'],
  ['DEL in two bytes', '\xc1\xbf'],
  ['a slash in three bytes', '\xe0\x80\xaf'],
  ['a letter in three bytes', '\xe0\x81\x81'],
  ['the last of two bytes, in three', '\xe0\x9f\xbf'],
  ['a slash in four bytes', '\xf0\x80\x80\xaf'],
  ['the last of three bytes, in four', '\xf0\x8f\xbf\xbf'],
  ['a slash in five bytes', '\xf8\x80\x80\x80\xaf'],
  ['a slash in six bytes', '\xfc\x80\x80\x80\x80\xaf'],
  ['the first surrogate', '\xed\xa0\x80'],
  ['the last high surrogate', '\xed\xaf\xbf'],
  ['the last surrogate', '\xed\xbf\xbf'],
  ['a character as two surrogates', '\xed\xa0\xbd\xed\xb8\x80'],
  ['the first code point that is none', '\xf4\x90\x80\x80'],
  ['the code point 1FFFFF', '\xf7\xbf\xbf\xbf'],
  ['the byte F5', '\xf5\x80\x80\x80'],
  ['the byte FE', '\xfe'],
  ['the byte FF', '\xff'],
  ['Latin-1', 'caf\xe9'],
  ['a code page of Windows', '\x93a\x94'],
  ['Shift-JIS', '\x83\x65\x83\x58'],
  ['a byte order mark of UTF-16', '\xff\xfe'],
].map(([why, text]) => [why, attribute(text), NOT_UTF8]);

const places = [
  ['no UTF-8 in the name of a field', create('{"external_id":"a","from":{"external_id":"b"},"\xff":1}'), NOT_UTF8],
  ['no UTF-8 in the name of an attribute', update('{"custom_attributes":{"\xc0\xaf":1}}'), NOT_UTF8],
  ['no UTF-8 in an external id', externalId('\xed\xa0\x80'), NOT_UTF8],
  ['no UTF-8 between two members', create('{"external_id":"a",\xff"from":{"external_id":"b"}}'),
    badJson('(not UTF-8|syntax error)')],
];

const nul = [
  ['U+0000 in an external id', externalId('a\\u0000b'), bad('external_id', 'must not contain U+0000')],
  ['U+0000 alone as an external id', externalId('\\u0000'), bad('external_id', 'must not contain U+0000')],
  ['U+0000 in a contact’s id', create('{"external_id":"a","from":{"external_id":"\\u0000"}}'),
    bad('from.external_id', 'must not contain U+0000')],
  ['U+0000 in a name', contact('"name":"a\\u0000"'), bad('from.name', 'must not contain U+0000')],
  ['U+0000 in an email', contact('"email":"a\\u0000@b"'), bad('from.email', 'must not contain U+0000')],
  ['U+0000 in a phone', contact('"phone":"\\u00001"'), bad('from.phone', 'must not contain U+0000')],
  ['U+0000 in an attribute', attribute('\\u0000'),
    bad('custom_attributes.a', 'custom_attributes.a must not contain U+0000')],
  ['U+0000 in the kind of customer', contact('"type":"user\\u0000"'),
    bad('from.type', 'must be one of: contact, user, lead, customer')],
  ['U+0000 in the id of a contact', create('{"external_id":"a","from":{"id":"\\u0000"}}'),
    bad('from.id', 'must be a UUID')],
  ['U+0000 in what is searched for',
    search('{"query":{"field":"contact.external_id","operator":"=","value":"a\\u0000"}}'),
    bad('query.value', 'must not contain U+0000')],
  ['U+0000 in a field that is searched',
    search('{"query":{"operator":"AND","value":[{"field":"contact_ids","operator":"=","value":"a"},'
      + '{"field":"state\\u0000","operator":"=","value":"open"}]}}'),
    bad('query.value[1].field', 'must not contain U+0000')],
  ['U+0000 in an operator',
    search('{"query":{"field":"contact_ids","operator":"=\\u0000","value":"a"}}'),
    bad('query.operator', 'must not contain U+0000')],
  ['U+0000 in a cursor', search('{"query":{"field":"contact_ids","operator":"=","value":"a"},'
    + '"pagination":{"starting_after":"\\u0000"}}'),
  bad('pagination.starting_after', 'must not contain U+0000')],
];

// Every code point with the property White_Space: in turn before a letter, after a letter, and alone.
const spaces = [9, 10, 11, 12, 13, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
  0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000]
  .map((code, i) => [`an external id with U+${code.toString(16)} ${['in front', 'behind', 'alone'][i % 3]}`,
    externalId([`${u(code)}a`, `a${u(code)}`, u(code)][i % 3]), bad('external_id', OUTER)]);

const blank = [
  ['an email of blanks', contact('"email":" \\t"'), bad('from.email', 'must not be blank')],
  ['an email of wide blanks', contact('"email":"\\u3000"'), bad('from.email', 'must not be blank')],
  ['a phone of blanks', contact('"phone":"\\u00a0\\u2003"'), bad('from.phone', 'must not be blank')],
  ['a contact’s id with a blank after', create('{"external_id":"a","from":{"external_id":"b\\u2028"}}'),
    bad('from.external_id', OUTER)],
  ['a blank after what is searched for',
    search('{"query":{"field":"contact.external_id","operator":"=","value":"a\\u205f"}}'),
    bad('query.value', OUTER)],
];

const emoji = '\\ud83d\\ude00';
const lengths = [
  ['256 letters as an external id', externalId('a'.repeat(256)),
    bad('external_id', 'must be 1 to 255 characters long')],
  ['256 characters of two bytes', externalId(utf8('é').repeat(256)),
    bad('external_id', 'must be 1 to 255 characters long')],
  ['256 characters of four bytes', externalId(emoji.repeat(256)),
    bad('external_id', 'must be 1 to 255 characters long')],
  ['128 letters with an accent each, which are 256', externalId('e\\u0301'.repeat(128)),
    bad('external_id', 'must be 1 to 255 characters long')],
  ['no character', externalId(''), bad('external_id', 'must be 1 to 255 characters long')],
  ['256 characters as a name', contact(`"name":"${emoji.repeat(256)}"`),
    bad('from.name', 'must be at most 255 characters long')],
  ['256 characters as an email', contact(`"email":"${'a'.repeat(256)}"`),
    bad('from.email', 'must be 1 to 255 characters long')],
  ['51 characters as a phone', contact(`"phone":"${utf8('１').repeat(51)}"`),
    bad('from.phone', 'must be 1 to 50 characters long')],
  ['501 characters as an attribute', attribute(emoji.repeat(501)),
    bad('custom_attributes.a', 'custom_attributes.a must be at most 500 characters long')],
  ['501 characters that are searched for',
    search('{"query":{"operator":"AND","value":[{"field":"contact_ids","operator":"=","value":"a"},'
      + `{"field":"custom_attributes.a","operator":"=","value":"${utf8('é').repeat(501)}"}]}}`),
    bad('query.value[1].value', 'must be at most 500 characters long')],
];

const KEY = 'must begin with a letter and consist of letters, digits, \'_\', \'-\' and \'.\'';
const keys = [
  ['with an umlaut', utf8('ä')],
  ['that is Cyrillic and looks Latin', utf8('а')],
  ['of full width', utf8('ａ')],
  ['with a digit of another script', utf8('a١')],
  ['with an accent of its own', utf8('e\u0301')],
  ['with a zero-width joiner', utf8('a\u200db')],
  ['with a soft hyphen', utf8('a\u00adb')],
  ['with a mark that turns the text', utf8('a\u202eb')],
  ['with a tag', utf8('a\u{E0061}')],
  ['with a picture', utf8('a😀')],
  ['with a byte order mark', utf8('\uFEFFa')],
].map(([why, key]) => [`the name of an attribute ${why}`, update(`{"custom_attributes":{"${key}":1}}`),
  bad(key, KEY)]).map(([why, request, answer]) => {
  const path = `custom_attributes.${Buffer.from(answer.errors[0].field, 'latin1')}`;
  return [why, request, bad(path, `${path} ${KEY}`)];
});

const wrongKinds = [
  ['the kind of customer in full width', contact(`"type":"${utf8('ｕｓｅｒ')}"`),
    bad('from.type', 'must be one of: contact, user, lead, customer')],
  ['the kind of customer with a long s', contact('"type":"u\\u017fer"'),
    bad('from.type', 'must be one of: contact, user, lead, customer')],
  ['a state with a dotless letter', search('{"query":{"operator":"AND","value":['
    + '{"field":"contact_ids","operator":"=","value":"a"},{"field":"status","operator":"=","value":"act\\u0131ve"}]}}'),
  bad('query.value[1].value', 'must be one of: active, waiting, human_takeover, resolved, archived')],
  ['an operator of full width', search(`{"query":{"field":"contact_ids","operator":"${utf8('＝')}","value":"a"}}`),
    invalid(['invalid_operator', 'this operator is not supported here; use one of: =', 'query.operator'])],
  ['an operator with a mark of its own',
    search('{"query":{"field":"contact_ids","operator":"=\\u0338","value":"a"}}'),
    invalid(['invalid_operator', 'this operator is not supported here; use one of: =', 'query.operator'])],
];

// Valid: stored as sent, code point by code point.
const good = [
  ['a code point that is not a character', '\\uffff'],
  ['the last code point, which is not a character', '\\udbff\\udfff'],
  ['a code point from the middle that is not a character', '\\ufdd0'],
  ['one for private use', '\\ue000'],
  ['one that is not assigned', '\\u0378'],
  ['a byte order mark inside', 'a\\ufeffb'],
  ['marks that turn the text, and not back', '\\u202e\\u2066abc'],
  ['a hundred accents on one letter', `a${'\\u0301'.repeat(100)}`],
  ['control characters that are escaped', '\\u0001\\u001f\\u007f\\u0080\\u009f'],
  ['a family of four', utf8('👨‍👩‍👧‍👦')],
].map(([why, value]) =>
  [`an attribute with ${why}`, update(`{"custom_attributes":{"good":"${value}"}}`), taken()]);

export const rows = [
  ...bytes, ...places, ...nul, ...spaces, ...blank, ...lengths, ...keys, ...wrongKinds, ...good,
];
