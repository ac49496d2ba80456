/*
 * dom - builds elements. The only way in which pages make markup: text is always text, so nothing
 * that is stored can become an element, an attribute or a script.
 */
const SVG = 'http://www.w3.org/2000/svg';

/* Set on the object: what the attribute of the same name would not change once it is in use. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'hidden', 'open']);

/* Links lead to paths of this site and to places on this page, nowhere else. */
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

/* The same for parts of a drawing. */
export function s(tag, attributes, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

let lastId = 0;

/* An id for elements that name each other (label and field, say). */
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
