/* API reference: renders openapi.json. */
import {get} from '../api.js';
import {h} from '../dom.js';
import {words} from '../format.js';
import {session} from '../session.js';
import {codeBlock} from '../components/copy.js';
import {callOf} from '../components/curl.js';
import {prose} from '../components/prose.js';
import {card, loaded, pageHead} from '../components/section.js';
import {exampleOf, resolver, schemaView, typeOf} from './reference-schema.js';

export const title = 'API reference';

const METHODS = ['get', 'post', 'put', 'delete'];

/* A path with possible line breaks after its slashes. */
const breakable = (path) => path.split(/(?<=\/)/).flatMap((part) => [part, h('wbr')]);

/* Every operation, with what its path defines for all of them. */
function operations(api) {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      ...item[method], path, method: method.toUpperCase(),
      parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])],
    })));
}

function methodMark(method) {
  return h('span', {class: `method ${method.toLowerCase()}`}, method);
}

function parameters(given, resolve) {
  const all = given.map(resolve);

  return all.length > 0 && [
    h('h4', null, 'Parameters'),
    h('dl', {class: 'schema'}, all.map((one) => [
      h('dt', null, h('code', null, one.name), ' ',
        h('span', {class: 'muted small'}, `in ${one.in}, ${typeOf(resolve(one.schema))}`,
          one.required && ', required')),
      h('dd', null, one.description && prose(one.description)),
    ])),
  ];
}

function requestBody(body, resolve) {
  const media = body && resolve(body).content['application/json'];

  return media && [h('h4', null, 'Body'), schemaView(media.schema, resolve)];
}

function response(status, given, resolve) {
  const one = resolve(given), media = one.content?.['application/json'];
  const example = exampleOf(media);

  return h('details', {class: 'more'},
           h('summary', null, h('span', {class: `status s${status[0]}`}, status), ' ',
             firstWords(one.description)),
           h('div', {class: 'stack'}, prose(one.description),
             example !== undefined && codeBlock(JSON.stringify(example, null, 2), {label: 'Example'}),
             media && status.startsWith('2') && [h('h4', null, 'Fields'),
                                                 schemaView(media.schema, resolve)]));
}

/* The first sentence, which may contain line breaks. */
const firstWords = (text) => text.replaceAll('`', '').split(/[.:](?=\s|$)/)[0].replaceAll('\n', ' ');

function operation(one, base, resolve) {
  const media = one.requestBody && resolve(one.requestBody).content['application/json'];
  const address = base + one.path.replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase());

  return h('section', {class: 'card operation', id: one.operationId, 'aria-labelledby':
                       `${one.operationId}-title`, tabindex: '-1'},
           h('h3', {id: `${one.operationId}-title`}, one.summary),
           h('p', {class: 'route'}, methodMark(one.method), h('code', null, one.path)),
           one.description && prose(one.description),
           codeBlock(callOf(one.method, address, exampleOf(media)), {label: 'curl'}),
           parameters(one.parameters, resolve),
           requestBody(one.requestBody, resolve),
           h('h4', null, 'Answers'),
           Object.entries(one.responses).map(([status, given]) => response(status, given, resolve)));
}

function jump(event) {
  const target = document.getElementById(event.currentTarget.getAttribute('href').slice(1));

  event.preventDefault();
  target.scrollIntoView();
  target.focus({preventScroll: true});
}

function contents(all) {
  return h('nav', {class: 'contents', 'aria-label': 'Operations'}, h('ul', null, all.map((one) =>
    h('li', null, h('a', {href: `#${one.operationId}`, on: {click: jump}},
      methodMark(one.method), h('span', null, breakable(one.path)))))));
}

function show(api) {
  const all = operations(api), resolve = resolver(api), base = session().base_url;

  return h('div', {class: 'reference'}, contents(all), h('div', null,
    card({title: `${api.info.title} API, version ${api.info.version}`}, h('div', {class: 'stack'},
      prose(api.info.description), codeBlock(base, {label: 'Base URL', wrap: true}))),
    api.tags.map((tag) => [
      h('h2', {class: 'tag'}, words(tag.name), h('span', {class: 'muted'}, ` ${tag.description}`)),
      all.filter((one) => one.tags.includes(tag.name)).map((one) => operation(one, base, resolve)),
    ])));
}

export function page({signal}) {
  const {element} = loaded({label: 'the reference', signal, render: show,
                            load: () => get('/openapi.json', signal)});

  return [
    pageHead('API reference', 'Every operation, field and response, from the API description that ' +
      'the tests check.',
             h('a', {class: 'button', href: '/openapi.json', download: 'openapi.json'},
               'Download openapi.json')),
    element,
  ];
}
