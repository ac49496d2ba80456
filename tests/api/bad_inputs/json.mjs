// RFC 8259: text that is JSON, and text that only looks like it. Each body is that of a valid create, except for
// what the row names.
import { bad, badJson, create, invalid, missing, refused, search, send, tooLarge, update, utf8 } from './rows.mjs';

const SYNTAX = badJson('syntax error');
const END = badJson('unexpected end of text');
const MORE = badJson('unexpected text after the value');
const NOT_UTF8 = badJson('not UTF-8');
const WIDE = badJson('the text is UTF-16 or UTF-32, but must be UTF-8');
const TWICE = badJson('duplicate key');
const DEEP = badJson('nested too deeply');
const RANGE = badJson('the number is out of range');
const LONG = badJson('the number is too long');
const NO_OBJECT = bad(undefined, 'must be an object');

const START = '{"external_id":"json","from":{"external_id":"bad-inputs"}';
const VALID = `${START}}`;
// A create with one attribute, whose value is the given text.
const value = (text) => create(`${START},"custom_attributes":{"a":${text}}}`);
const string = (text) => value(`"${text}"`);
const whole = (rows) => rows.map(([why, body, ...rest]) => [why, create(body), ...rest]);
const values = (rows) => rows.map(([why, text, ...rest]) => [why, value(text), ...rest]);
const strings = (rows) => rows.map(([why, text, ...rest]) => [why, string(text), ...rest]);

const texts = whole([
  ['nothing', '', badJson('unexpected end of text', [1, 1])],
  ['white space', ' \t\r\n', END],
  ['one brace', '{', badJson('unexpected end of text', [1, 2])],
  ['a closing brace', '}', SYNTAX],
  ['a bracket that a brace closes', '[}', SYNTAX],
  ['a brace that a bracket closes', '{]', SYNTAX],
  ['a value without its end', VALID.slice(0, -1), END],
  ['a value without its end, in a string', VALID.slice(0, -3), END],
  ['a value with an extra bracket', `${VALID}}`, MORE],
  ['two values', `${VALID}${VALID}`, MORE],
  ['two values with a line between', `${VALID}\n${VALID}`, MORE],
  ['two values with a comma between', `${VALID},${VALID}`, MORE],
  ['a record separator in front', `\x1e${VALID}`, SYNTAX],
  ['a semicolon after', `${VALID};`, MORE],
  ['NUL in front', `\0${VALID}`, SYNTAX],
  ['NUL after', `${VALID}\0`, SYNTAX],
  ['NUL between two members', `${START}\0}`, SYNTAX],
  ['a byte order mark', `${utf8('\uFEFF')}${VALID}`,
    badJson('the text begins with a byte order mark; leave it out', [1, 1])],
  ['a byte order mark after', `${VALID}${utf8('\uFEFF')}`, MORE],
  ['UTF-16, big end first', Buffer.from(VALID, 'utf16le').swap16().toString('latin1'), WIDE],
  ['UTF-16, little end first', Buffer.from(VALID, 'utf16le').toString('latin1'), WIDE],
  ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF${VALID}`, 'utf16le').toString('latin1'), WIDE],
  ['UTF-32, big end first', [...VALID].map((c) => `\0\0\0${c}`).join(''), WIDE],
  ['UTF-32, little end first', [...VALID].map((c) => `${c}\0\0\0`).join(''), WIDE],
  ['UTF-7', '+AHs-+AH0-', SYNTAX],
  ['a guard against scripts', `)]}',\n${VALID}`, SYNTAX],
  ['a call of a script', `callback(${VALID})`, SYNTAX],
  ['a block comment', `/* a */${VALID}`, SYNTAX],
  ['a line comment', `${VALID}// a`, MORE],
  ['a comment of a shell', `# a\n${VALID}`, SYNTAX],
  ['a no-break space', `${utf8('\xA0')}${VALID}`, SYNTAX],
  ['a line separator', `${VALID}${utf8('\u2028')}`, MORE],
  ['a vertical tab', `\v${VALID}`, SYNTAX],
  ['a form feed', `${VALID}\f`, MORE],
  ['XML', '<a/>', SYNTAX],
  ['YAML', 'external_id: a\n', SYNTAX],
  ['a form', 'external_id=a&from=b', SYNTAX],
  ['MessagePack', '\x81\xa1a\x01', NOT_UTF8],
  ['a body that gzip has packed', '\x1f\x8b\x08\0\0\0\0\0\0\x03',
    badJson('the text is compressed with gzip; send it as it is')],
  ['a list', `[${VALID}]`, NO_OBJECT],
  ['an empty list', '[]', NO_OBJECT],
  ['a string', '"a"', NO_OBJECT],
  ['JSON in a string', JSON.stringify(VALID), NO_OBJECT],
  ['a number', '1', NO_OBJECT],
  ['true', 'true', NO_OBJECT],
  ['null', 'null', NO_OBJECT],
  ['True', 'True', SYNTAX],
  ['nul', 'nul', SYNTAX],
  ['nulll', 'nulll', SYNTAX],
  ['undefined', 'undefined', SYNTAX],
  ['an empty object', '{}', invalid(['parameter_not_found', 'is required', 'external_id'],
    ['parameter_not_found', 'is required', 'from'])],
]);

const objects = whole([
  ['a comma after the last member', `${START},}`, SYNTAX],
  ['a comma before the first member', `{,${VALID.slice(1)}`, SYNTAX],
  ['two commas', `${START},,"custom_attributes":{}}`, SYNTAX],
  ['no comma', `${START}"custom_attributes":{}}`, SYNTAX],
  ['a semicolon for a comma', `${START};"custom_attributes":{}}`, SYNTAX],
  ['no colon', `${START},"custom_attributes"{}}`, SYNTAX],
  ['two colons', `${START},"custom_attributes"::{}}`, SYNTAX],
  ['an equals sign for a colon', `${START},"custom_attributes"={}}`, SYNTAX],
  ['a name without a value', `${START},"custom_attributes"}`, SYNTAX],
  ['a name without a value but its colon', `${START},"custom_attributes":}`, SYNTAX],
  ['a value without a name', `${START},:{}}`, SYNTAX],
  ['a name without quotes', `${START},custom_attributes:{}}`, SYNTAX],
  ['a name in single quotes', `${START},'custom_attributes':{}}`, SYNTAX],
  ['a name that is a number', `${START},1:{}}`, SYNTAX],
  ['a name that is null', `${START},null:{}}`, SYNTAX],
  ['a name twice', `${START},"external_id":"b"}`, TWICE],
  ['a name twice, with the same value', `${START},"external_id":"json"}`, TWICE],
  ['a name twice, once escaped', `${START},"\\u0065xternal_id":"b"}`, TWICE],
  ['a name twice, inside', '{"external_id":"a","from":{"external_id":"a","external_id":"b"}}', TWICE],
  ['an unknown name, twice', `${START},"x":1,"x":2}`, TWICE],
  ['an empty name twice', `${START},"":1,"":2}`, TWICE],
  ['a name twice, in another letter case', `${START},"External_id":"b"}`,
    bad('External_id', 'is not a field of this request')],
  ['an attribute twice', `${START},"custom_attributes":{"a":1,"a":2}}`, TWICE],
  ['an attribute twice, once null', `${START},"custom_attributes":{"a":null,"a":2}}`, TWICE],
  ['U+0000 in a name', `${START},"a\\u0000":1}`, badJson('U\\+0000 in a key')],
  ['U+0000 in the name of an attribute', `${START},"custom_attributes":{"a\\u0000b":1}}`,
    badJson('U\\+0000 in a key')],
  ['the name __proto__', `${START},"__proto__":{"a":1}}`, bad('__proto__', 'is not a field of this request')],
  ['the name constructor', `${START},"constructor":1}`, bad('constructor', 'is not a field of this request')],
  ['an empty name', `${START},"":1}`, bad('', 'is not a field of this request')],
]);

const lists = values([
  ['a list with a comma after', '[1,]', SYNTAX],
  ['a list with a comma in front', '[,1]', SYNTAX],
  ['a list with two commas', '[1,,2]', SYNTAX],
  ['a list with a colon', '[1:2]', SYNTAX],
  ['a list without commas', '[1 2]', SYNTAX],
  ['a list without an end', '[1', SYNTAX],
]);

const strange = strings([
  ['a line feed in a string', 'a\nb', SYNTAX],
  ['a carriage return in a string', 'a\rb', SYNTAX],
  ['a tab in a string', 'a\tb', SYNTAX],
  ['NUL in a string', 'a\0b', SYNTAX],
  ['an escape in a string', 'a\x1bb', SYNTAX],
  ['the last control character in a string', 'a\x1fb', SYNTAX],
  ['an escaped a', '\\a', SYNTAX],
  ['an escaped zero', '\\0', SYNTAX],
  ['an escaped vertical tab', '\\v', SYNTAX],
  ['an escaped single quote', "\\'", SYNTAX],
  ['an escaped U in capitals', '\\U0041', SYNTAX],
  ['two hexadecimal digits after x', '\\x41', SYNTAX],
  ['an escaped line feed', '\\\n', SYNTAX],
  ['an escaped byte beyond ASCII', `\\${utf8('é')}`, SYNTAX],
  ['u without digits', '\\u', SYNTAX],
  ['u with three digits', '\\u004', SYNTAX],
  ['u with a letter that is not a digit', '\\u00g1', SYNTAX],
  ['u with braces', '\\u{41}', SYNTAX],
  ['u with a sign', '\\u+041', SYNTAX],
  ['u with a blank', '\\u 041', SYNTAX],
  ['a high surrogate alone', '\\ud83d', SYNTAX],
  ['a low surrogate alone', '\\ude00', SYNTAX],
  ['two high surrogates', '\\ud83d\\ud83d', SYNTAX],
  ['two surrogates the wrong way round', '\\ude00\\ud83d', SYNTAX],
  ['a high surrogate before a letter', '\\ud83dx', SYNTAX],
  ['a high surrogate before an escaped letter', '\\ud83d\\u0041', SYNTAX],
  ['a high surrogate before half an escape', '\\ud83d\\u', SYNTAX],
  ['a high surrogate in capitals', '\\uD800', SYNTAX],
]);

const quotes = values([
  ['single quotes', "'a'", SYNTAX],
  ['backticks', '`a`', SYNTAX],
  ['quotes of a typewriter that is none', utf8('“a”'), SYNTAX],
  ['a string without an end', '"a', END],
  ['a string whose end is escaped', '"a\\"', END],
  ['a string that begins with a letter', 'u"a"', SYNTAX],
  ['two strings', '"a""b"', SYNTAX],
  ['two strings with a plus', '"a"+"b"', SYNTAX],
  ['a word', 'a', SYNTAX],
  ['TRUE', 'TRUE', SYNTAX],
  ['yes', 'yes', SYNTAX],
  ['undefined as a value', 'undefined', SYNTAX],
  ['a date', '2026-01-01', SYNTAX],
  ['an expression', '1+1', SYNTAX],
  ['a regular expression', '/a/', SYNTAX],
]);

const numbers = values([
  ['a plus', '+1', SYNTAX],
  ['two minuses', '--1', SYNTAX],
  ['a minus alone', '-', SYNTAX],
  ['a minus with a blank', '- 1', SYNTAX],
  ['a minus after', '1-', SYNTAX],
  ['a zero in front', '01', SYNTAX],
  ['two zeros', '00', SYNTAX],
  ['a minus and a zero in front', '-01', SYNTAX],
  ['a zero before a point and digits', '00.5', SYNTAX],
  ['a point in front', '.5', SYNTAX],
  ['a minus and a point in front', '-.5', SYNTAX],
  ['a point after', '1.', SYNTAX],
  ['a point before an exponent', '1.e1', SYNTAX],
  ['two points', '1.2.3', SYNTAX],
  ['a comma for a point', '1,5', SYNTAX],
  ['a comma between thousands', '1,000', SYNTAX],
  ['an underscore', '1_000', SYNTAX],
  ['a blank inside', '1 000', SYNTAX],
  ['an exponent without digits', '1e', SYNTAX],
  ['an exponent with only a sign', '1e+', SYNTAX],
  ['an exponent with two signs', '1e+-1', SYNTAX],
  ['an exponent with a point', '1e1.5', SYNTAX],
  ['two exponents', '1e1e1', SYNTAX],
  ['an exponent alone', 'e1', SYNTAX],
  ['hexadecimal', '0x1f', SYNTAX],
  ['octal', '0o17', SYNTAX],
  ['binary', '0b11', SYNTAX],
  ['a long integer of a script', '1n', SYNTAX],
  ['a float of C', '1.0f', SYNTAX],
  ['percent', '50%', SYNTAX],
  ['Infinity', 'Infinity', SYNTAX],
  ['minus Infinity', '-Infinity', SYNTAX],
  ['inf', 'inf', SYNTAX],
  ['NaN', 'NaN', SYNTAX],
  ['minus NaN', '-NaN', SYNTAX],
  ['digits of another script', utf8('١'), SYNTAX],
  ['digits of full width', utf8('１'), SYNTAX],
  ['a minus that is a dash', utf8('−1'), SYNTAX],
  ['a fraction in one sign', utf8('½'), SYNTAX],
  ['beyond the range of a double', '1e309', RANGE],
  ['beyond it below zero', '-1e309', RANGE],
  ['just beyond it', '1.7976931348623159e308', RANGE],
  ['an exponent of 400', '1e400', RANGE],
  ['310 digits', '9'.repeat(310), RANGE],
  ['an exponent of 401', '1e401', LONG],
  ['a small one with an exponent of 401', '1e-401', LONG],
  ['an exponent of ten digits', '1e9999999999', LONG],
  ['an exponent of 30 digits', `1e${'9'.repeat(30)}`, LONG],
  ['801 digits', '1'.repeat(801), LONG],
  ['801 characters after a point', `0.${'1'.repeat(799)}`, LONG],
  ['60,000 digits', '1'.repeat(60000), LONG],
].map(([why, ...rest]) => [`a number: ${why}`, ...rest]));

// A zero byte, which a parser in C may mistake for the end of a value.
const nuls = [
  ['a number', '1\0'], ['a number with a point', '1.5\0'], ['a number with an exponent', '1e5\0'],
  ['a negative number', '-1\0'], ['zero', '0\0'], ['the first digit', '1\x002'], ['true', 'true\0'], ['false',
    'false\0'],
  ['null', 'null\0'], ['a string', '"a"\0'], ['two', '1\0\0'], ['a blank', '1 \0'],
].flatMap(([why, text]) => [
  [`NUL behind ${why}, in a create`, value(text), SYNTAX],
  [`NUL behind ${why}, in an update`, update(`{"custom_attributes":{"a":${text}}}`), SYNTAX],
  [`NUL behind ${why}, in a search`, search(`{"query":{"field":"contact_ids","operator":"=","value":${text}}}`),
    SYNTAX],
]);

const nest = (n, open, close, inner = '') => `${open.repeat(n)}${inner}${close.repeat(n)}`;
const sizes = [
  ['32 lists', create(nest(32, '[', ']')), NO_OBJECT],
  ['33 lists', create(nest(33, '[', ']')), DEEP],
  ['33 objects', create(nest(33, '{"a":', '}', '1')), DEEP],
  ['33 lists and objects in turn', create(nest(17, '[{"a":', '}]', '1')), DEEP],
  ['30,000 lists', create(nest(30000, '[', ']')), DEEP],
  ['60,000 lists without an end', create('['.repeat(60000)), DEEP],
  ['60,000 objects without an end', create('{"a":'.repeat(12000)), DEEP],
  ['60,000 closing brackets', create(']'.repeat(60000)), SYNTAX],
  ['10,000 commas', create(`[${','.repeat(10000)}]`), SYNTAX],
  ['65,536 bytes of white space', create(' '.repeat(65536)), END],
  ['65,537 bytes of white space', create(' '.repeat(65537)), tooLarge],
  ['65,537 bytes, a good one', create(`${START},"custom_attributes":{}${' '.repeat(65537 - START.length - 24)}}`),
    tooLarge],
  ['20,000 members', create(`{${Array.from({ length: 5000 }, (_, i) => `"a${i}":1`).join(',')}}`),
    invalid(...Array.from({ length: 10 }, (_, i) =>
      ['parameter_invalid', 'is not a field of this request', `a${i}`]))],
  ['a name of 60,000 letters', create(`${START},"${'a'.repeat(60000)}":1}`),
    bad('a'.repeat(60000), 'is not a field of this request')],
];

// The same parser reads every body.
const everywhere = [
  ['an update that is not JSON', update('{"custom_attributes":{}'), END],
  ['an update with a name twice', update('{"custom_attributes":{},"custom_attributes":{}}'), TWICE],
  ['an update that is not UTF-8', update('{"custom_attributes":{"a":"\xff"}}'), NOT_UTF8],
  ['an update that is a list', update('[]'), NO_OBJECT],
  ['an update that is empty', update(''), END],
  ['an update without its field', update('{}'), missing('custom_attributes')],
  ['an update too deep', update(nest(33, '[', ']')), DEEP],
  ['a search that is not JSON', search('{"query":'), END],
  ['a search with a name twice', search('{"query":{"field":"state","field":"state"}}'), TWICE],
  ['a search that is not UTF-8', search('{"query":"\xc3"}'), NOT_UTF8],
  ['a search that is a string', search('"query"'), NO_OBJECT],
  ['a search that is empty', search(''), END],
  ['a search without its query', search('{}'), missing('query')],
  ['a search with a number out of range', search('{"query":1e309}'), RANGE],
  ['a search with a number too long', search(`{"query":${'1'.repeat(801)}}`), LONG],
  ['a search too deep', search(nest(40, '{"query":', '}', '1')), DEEP],
  ['an update of no conversation that is not JSON', send('PUT', '/api/v1/conversations/none', '{'), END],
  ['an update of no conversation', send('PUT', '/api/v1/conversations/none', '{"custom_attributes":{}}'),
    refused(404, 'not_found', 'No such conversation')],
];

export const rows = [
  ...texts, ...objects, ...lists, ...strange, ...quotes, ...numbers, ...nuls, ...sizes, ...everywhere,
];
