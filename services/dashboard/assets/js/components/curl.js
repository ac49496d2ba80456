/* curl - commands to paste into a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export const pingWith = (base, token) =>
  `curl ${quoted(`${base}/ping`)} \\\n  -H ${quoted(`Authorization: Bearer ${token}`)}`;

export const createWith = (base, token) => [
  `curl ${quoted(`${base}/conversations`)}`,
  `  -H ${quoted(`Authorization: Bearer ${token}`)}`,
  `  -H ${quoted('Content-Type: application/json')}`,
  `  -d ${quoted('{"external_id": "order-1042", "from": {"external_id": "user-7", "name": "Ada"}}')}`,
].join(' \\\n');

/* A call of any operation in the reference; body is an example to send, or undefined. */
export function callOf(method, address, body) {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(address)}`,
                 "  -H 'Authorization: Bearer YOUR_API_KEY'"];

  if (body !== undefined)
    lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(' \\\n');
}
