import type { IncomingMessage, ServerResponse } from 'node:http'

/** Tells a client that waits for it (`Expect: 100-continue`) that its body is going to be read. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  const { expect } = request.headers
  if (expect === undefined || request.httpVersion !== '1.1') return
  if (expect.toLowerCase() === '100-continue') response.writeContinue()
}
