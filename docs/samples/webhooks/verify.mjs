// Takes a webhook: checks its signature before anything else is done with it.
//
// Run with the endpoint's secret, the two headers and the body on standard input:
//
//     node verify.mjs whsec_... TIMESTAMP SIGNATURE < body
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TOLERANCE_S = 300;

// The event, or null when this is not ours, was changed, or is too old. `body` is the raw Buffer:
// parsed and written again, it would have other bytes.
export function verified(secret, timestamp, signature, body, now = Date.now() / 1000) {
  const mac = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  const expected = Buffer.from(`v1=${mac}`);
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_S) return null;
  return JSON.parse(body);
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const event = verified(...process.argv.slice(2, 5), readFileSync(0));
  if (event === null) {
    console.error('not ours, or too old');
    process.exit(1);
  }
  console.log(event.id, event.type);
}
