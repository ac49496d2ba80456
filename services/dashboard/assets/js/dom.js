/*
 * dom - builds elements. Pages create markup only through this module: text is always text, so no
 * stored data can become an element, an attribute or a script.
 */
const SVG = 'http://www.w3.org/2000/svg';

/* Set as properties: once an element is in use, setting the attribute has no effect. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'hidden', 'open']);

/* Links may lead only to paths of this site and to anchors on this page. */
function isOwnAddress(address) {
  return /^[/#]/.test(address) && new URL(address, location.origin).origin === location.origin;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (PROPERTIES.has(name))
      element[name] = false;
    return;
  }
  if (name === 'on') {
    for (const [type, listener] of Object.entries(value))
      element.addEventListener(type, listener);
  } else if (PROPERTIES.has(name)) {
    element[name] = value;
  } else if (name === 'href' && !isOwnAddress(value)) {
    throw new Error('a link must stay on this site');
  } else {
    element.setAttribute(name, value === true ? '' : String(value));
  }
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false)
      element.append(child);
  }
}

function make(element, attributes, children) {
  add(element, children);
  for (const [name, value] of Object.entries(attributes ?? {}))
    set(element, name, value);
  return element;
}

/* h('p', {class: 'muted'}, 'text', child, [more]) */
export function h(tag, attributes, ...children) {
  return make(document.createElement(tag), attributes, children);
}

/* The same for SVG elements. */
export function s(tag, attributes, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

let lastId = 0;

/* An id for elements that refer to each other (label and field, for example). */
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
