/* password - choosing a password, which is entered twice. */
import {input} from './form.js';

export function passwordFields({name, label, first = false}) {
  return [
    input({name, label, type: 'password', required: true, minlength: '15', maxlength: '1024',
           autocomplete: 'new-password', autofocus: first,
           hint: 'At least 15 characters: several words make a good one'}),
    input({name: 'again', label: `Repeat ${label.toLowerCase()}`, type: 'password', required: true,
           maxlength: '1024', autocomplete: 'new-password'}),
  ];
}

/* Throws an error that the form shows at the second field. */
export function samePasswords(values, name) {
  if (values[name] !== values.again)
    throw Object.assign(new Error('differs from the first'),
                        {errors: [{field: 'again', message: 'differs from the first'}]});
}
