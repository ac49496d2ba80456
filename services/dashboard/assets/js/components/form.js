/*
 * form - labelled controls, and a form that sends them: busy while it waits, with the server's errors
 * shown at the fields that they name.
 */
import {h, freshId, replace} from '../dom.js';
import {errorNotice} from './notice.js';

/* A control with its label, hint and a place for an error: {name, element, control, read, complain}. */
function wrap(name, label, hint, control, read) {
  const id = control.id || freshId(name), wrongId = `${id}-wrong`, hintId = `${id}-hint`;
  const wrong = h('p', {class: 'wrong', id: wrongId});

  control.id = id;
  control.setAttribute('name', name);
  control.setAttribute('aria-describedby', hint ? `${hintId} ${wrongId}` : wrongId);
  return {
    name, control, read,
    element: h('div', {class: 'field'}, h('label', {for: id}, label), control,
               hint && h('p', {class: 'hint', id: hintId}, hint), wrong),
    complain(text) {
      wrong.textContent = text ?? '';
      if (text)
        control.setAttribute('aria-invalid', 'true');
      else
        control.removeAttribute('aria-invalid');
    },
  };
}

export function input({name, label, hint, read = (control) => control.value, ...attributes}) {
  const control = h('input', {type: 'text', ...attributes});

  return wrap(name, label, hint, control, () => read(control));
}

export function textarea({name, label, hint, read = (control) => control.value, ...attributes}) {
  const control = h('textarea', {rows: '5', spellcheck: 'false', ...attributes});

  return wrap(name, label, hint, control, () => read(control));
}

/* options: [[value, label], ...] */
export function select({name, label, hint, options, value, ...attributes}) {
  const control = h('select', attributes, options.map(([given, text]) =>
    h('option', {value: given, selected: given === value}, text)));

  return wrap(name, label, hint, control, () => control.value);
}

function choice(type, name, value, label, hint, checked) {
  return h('label', {class: 'choice'}, h('input', {type, name, value, checked}),
           h('span', null, label, hint && h('span', {class: 'hint'}, hint)));
}

/* Radio buttons or checkboxes; options are [value, label, hint]. */
function group(type, {name, label, options, checked}, read) {
  const wrongId = freshId(`${name}-wrong`), wrong = h('p', {class: 'wrong', id: wrongId});
  const element = h('fieldset', {class: 'field', 'aria-describedby': wrongId}, h('legend', null, label),
                    options.map(([value, text, hint]) =>
                      choice(type, name, value, text, hint, checked.includes(value))), wrong);

  return {
    name, element, control: element.querySelector('input'),
    read: () => read([...element.querySelectorAll('input:checked')].map((one) => one.value)),
    complain(text) {
      wrong.textContent = text ?? '';
    },
  };
}

export const radios = (options) => group('radio', options, (values) => values[0]);
export const checkboxes = (options) => group('checkbox', options, (values) => values);

export function checkbox({name, label, hint, checked}) {
  const element = choice('checkbox', name, 'on', label, hint, checked);
  const control = element.querySelector('input');

  return {name, element, control, read: () => control.checked, complain: () => {}};
}

/* Errors at `ip_allowlist[2]` or `policy.name` are shown at the field of the first name. */
function fieldOf(fields, error) {
  const name = (error.field ?? '').split(/[.[]/)[0];

  return name === '' ? undefined : fields.find((field) => field.name === name);
}

function showProblems(error, fields, place) {
  const rest = [];
  let first = null;

  for (const problem of error.errors ?? [{message: error.message}]) {
    const field = fieldOf(fields, problem);

    if (field === undefined) {
      rest.push(problem);
      continue;
    }
    field.complain(`${problem.field === field.name ? '' : `${problem.field} `}${problem.message}`);
    first ??= field;
  }
  if (rest.length > 0)
    replace(place, errorNotice(Object.assign(error, {message: rest[0].message, errors: rest})));
  first?.control.focus();
}

/*
 * run(values) sends them and may throw the server's error. cancel: closes whatever contains the form.
 * kind: a class of the button, 'primary' by default.
 */
export function form({fields, submit, run, cancel, kind = 'primary', extra = null}) {
  const trouble = h('div');
  const button = h('button', {type: 'submit', class: `button ${kind}`}, submit);

  async function onSubmit(event) {
    event.preventDefault();
    if (button.disabled)
      return;
    button.disabled = true;
    button.setAttribute('aria-busy', 'true');
    replace(trouble);
    fields.forEach((field) => field.complain(null));
    try {
      await run(Object.fromEntries(fields.map((field) => [field.name, field.read()])));
    } catch (error) {
      showProblems(error, fields, trouble);
    }
    button.disabled = false;
    button.setAttribute('aria-busy', 'false');
  }

  return h('form', {class: 'stack', method: 'post', on: {submit: onSubmit}},
           fields.map((field) => field.element), trouble,
           h('div', {class: `actions ${cancel ? 'end' : ''}`}, extra,
             cancel && h('button', {type: 'button', class: 'button', on: {click: cancel}}, 'Cancel'),
             button));
}

/* A form that only filters a list: its values become the address. */
export function filters({fields, label, apply, clear}) {
  fields[0].control.setAttribute('data-filter', '');
  return h('form', {
    class: 'filters', role: 'search', 'aria-label': label,
    on: {
      submit: (event) => {
        event.preventDefault();
        apply(Object.fromEntries(fields.map((field) => [field.name, field.read()])));
      },
    },
  }, fields.map((field) => field.element),
  h('div', {class: 'actions'},
    h('button', {type: 'submit', class: 'button'}, 'Apply filters'),
    clear && h('a', {class: 'button quiet', href: clear}, 'Clear')));
}
