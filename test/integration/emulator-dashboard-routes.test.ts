import fc from 'fast-check'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { jsonOf, rawRequest } from '../support/raw-http.ts'
import { send, startSignedIn } from './emulator-dashboard-stage.ts'
import { controlToken } from './emulator-stage.ts'

test('a path that is written out comes before one with an id, and an id is one part of a path', async () => {
  await using stage = await startSignedIn()
  const cases: [string, string, number, RegExp][] = [
    ['GET', '/deliveries/counts', 200, /"pending":0/],
    ['GET', '/deliveries/dlv_1', 404, /there is no delivery dlv_1;/],
    ['POST', '/deliveries/dlv_1/replay', 404, /there is no delivery dlv_1;/],
    ['POST', '/deliveries/dlv_1/duplicate', 404, /there is no delivery dlv_1;/],
    ['GET', '/deliveries/dlv_1/replay', 405, /this path takes POST only/],
    ['POST', '/deliveries/dlv_1/other', 404, /nothing at this path/],
    ['POST', '/deliveries//replay', 404, /nothing at this path/],
    ['POST', '/deliveries/dlv_1/replay/', 404, /nothing at this path/],
    ['POST', '/deliveries/a/b/replay', 404, /nothing at this path/],
    ['PATCH', '/webhooks/', 404, /nothing at this path/],
    ['PATCH', '/webhooks', 405, /this path takes GET, POST only/],
    ['GET', '/webhooks/wh_1', 405, /this path takes PATCH, DELETE only/],
    ['GET', '/webhooks/:id', 405, /this path takes PATCH, DELETE only/],
    ['DELETE', '/webhooks/:id', 404, /there is no webhook :id;/],
    ['DELETE', '/webhooks/a%2fb', 404, /there is no webhook a%2fb;/],
  ]
  for (const [method, path, status, text] of cases) {
    const reply = await stage.browser.ask(method, path)
    expect([method, path, reply.status, reply.text]).toEqual([method, path, status, expect.stringMatching(text)])
  }
})

test('every route that is listed leads somewhere, and without a credential to 401 unless it is that of signing in', async () => {
  await using stage = await startSignedIn()
  const listed = (await stage.browser.ask('GET', '/')).json.data as { method: string; path: string }[]
  const isOpen = (path: string) => path === '/_emulator/session'
  expect(listed.filter(({ path }) => isOpen(path)).map(({ method }) => method)).toEqual(['GET', 'POST', 'DELETE'])
  for (const { method, path } of listed.filter((one) => !isOpen(one.path))) {
    const { status, json } = await send(`${stage.url}${path}`, method)
    expect([method, path, status, json.error.code]).toEqual([method, path, 401, 'unauthorized'])
  }
})

test(
  'whatever the path below /_emulator is, the answer is in the envelope and never a failure',
  { timeout: 3_600_000 },
  async () => {
    await using stage = await startSignedIn()
    const port = Number(new URL(stage.url).port)
    const part = fc.oneof(
      fc.constantFrom(
        '',
        ':id',
        '..',
        '.',
        'deliveries',
        'webhooks',
        'session',
        'replay',
        'counts',
        '__proto__',
        '%00',
      ),
      fc.stringMatching(/^[!-"$-~]{0,12}$/),
    )
    const path = fc.array(part, { maxLength: 5 }).map((parts) => ['/_emulator', ...parts].join('/'))
    const methods = fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'OPTIONS', 'constructor')
    const headers = { Host: 'localhost', Authorization: `Bearer ${controlToken}` }
    await fc.assert(
      fc.asyncProperty(methods, path, async (method, target) => {
        if (target.startsWith('/_emulator/stream')) return
        const answer = await rawRequest(port, { method, target, headers })
        // What Node itself cannot read is refused by REST, in its envelope.
        expect([200, 400, 404, 405, 415]).toContain(answer.status)
        if (method !== 'HEAD') expect(jsonOf(answer)).toHaveProperty('success', answer.status === 200)
      }),
      {
        numRuns: counts.controlPathRuns,
        examples: [
          ['GET', '/_emulator/deliveries/counts'],
          ['GET', '/_emulator/webhooks/__proto__'],
          ['PATCH', '/_emulator/webhooks/constructor'],
          ['HEAD', '/_emulator/session'],
          ['GET', '/_emulator//'],
          ['GET', '/_emulator/deliveries?after=%'],
        ],
      },
    )
  },
)
