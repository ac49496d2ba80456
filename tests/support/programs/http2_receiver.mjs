// A receiver that speaks HTTP/2 and nothing else. Prints its port, then "HTTP-VERSION PATH BODY" of its only request.
// Usage: http2_receiver.mjs CERTIFICATE KEY
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'

const [cert, key] = process.argv.slice(2).map((path) => readFileSync(path))
const server = createSecureServer({ cert, key, allowHTTP1: false }, async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  console.log(request.httpVersion, request.url, body)
  response.end('taken')
  response.stream.session.close()
  server.close()
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
setTimeout(() => process.exit(1), 30000).unref()
