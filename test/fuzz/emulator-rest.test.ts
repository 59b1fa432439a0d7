import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { createRestStage, unseen, type RestStage } from '../integration/emulator-rest-stage.ts'
import type { Json } from '../support/api-document.ts'
import { createContract, type Sent } from '../support/openapi-contract.ts'
import type { DocumentedOperation } from '../support/openapi-document.ts'
import { headerOf, jsonOf, rawRequest, type RawAnswer } from '../support/raw-http.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)
const timeout = 3_600_000
const contract = createContract()
const { operations } = contract.document

let stage: RestStage
let headers: Readonly<Record<string, string>>
beforeAll(async () => {
  stage = await createRestStage({ seed: 'fuzz', hours: 3 })
  headers = { Authorization: `Bearer ${stage.newKey()}`, 'Content-Type': 'application/json' }
  console.log(`fuzz of the REST service: SEED=${seed}`)
})
afterAll(() => stage[Symbol.asyncDispose]())

const owned = () => ({ alerts: stage.accounts.alerts(stage.accountId), webhooks: stage.accounts.allWebhooks() })

function clear(): void {
  const { accounts, accountId } = stage
  for (const { alertId } of accounts.alerts(accountId)) accounts.removeAlert(accountId, alertId)
  for (const { webhookId } of accounts.webhooks(accountId)) accounts.removeWebhook(accountId, webhookId)
}

/** Runs a property. Afterwards the world is unchanged and the service still responds. */
async function unchanged<T>(property: fc.IAsyncProperty<T>, runs = counts.restFuzzRuns): Promise<void> {
  const before = stage.world.digest()
  await fc.assert(property, { numRuns: runs, seed })
  expect(stage.world.digest()).toBe(before)
  expect((await rawRequest(stage.port, { method: 'GET', target: '/v1/networks', headers })).status).toBe(200)
}

/** The response must match the document. `sent` is null if the request isn't one of an operation. */
function expectDocumented(answer: RawAnswer, sent: Sent | null): void {
  const text = answer.body.toString()
  const got = { status: answer.status, header: (name: string) => headerOf(answer, name), text }
  expect(contract.check(sent ?? { method: 'NONE', target: '*' }, got), text.slice(0, 500)).toEqual([])
  if (answer.status < 400) return
  const { error } = jsonOf(answer) as { error: { message: string } }
  // oxlint-disable-next-line no-control-regex
  expect(error.message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
}

async function send(operation: DocumentedOperation, target: string, bytes: Buffer | null): Promise<RawAnswer> {
  await stage.wall.advance(60_000)
  const parts = { method: operation.method, target, headers, ...(bytes !== null && { body: bytes }) }
  const answer = await rawRequest(stage.port, parts)
  expectDocumented(answer, { method: operation.method, target, body: bytes === null ? undefined : parse(bytes) })
  expect(answer.status === 501 || answer.status < 500, answer.body.toString()).toBe(true)
  return answer
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double().map(String),
  fc.integer({ min: 1, max: 4_000 }).map((length) => 'x'.repeat(length)),
  fc.constantFrom('null', '[]', '__proto__', '*', '..', '\\', '\u0000', '\r\n', '\u202e', '00', '-0', '1e2', '0x14'),
)
const anyRaw = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => encodeURIComponent(text.toWellFormed())) },
  fc.constantFrom('%', '%zz', '%00', '%ff', '%2f', '%2e%2e', '%u0041', '%0d%0a', '+', '%25zz', '%ed%a0%80'),
)

const goodBodies: Readonly<Record<string, Json>> = {
  createAlert: {
    type: 'whale_buy',
    address: unseen.evm,
    network: 'base',
    threshold: 1.5,
    webhook_url: 'https://hooks.example.com/a',
    label: 'a label',
  },
}
const goodWebhook = { url: 'https://hooks.example.com/a', events: ['*'], secret: 'a secret of the client' }
const goodValues: Readonly<Record<string, string>> = { address: unseen.evm, network: 'base', q: 'a' }

/** A target of the operation. Parameters are good, arbitrary, repeated or missing. */
function anyTarget({ path, parameters }: DocumentedOperation): fc.Arbitrary<string> {
  const each = parameters.map(({ name, in: place, schema }) => {
    const known: readonly string[] = [...(schema['enum'] ?? []), goodValues[name] ?? '1']
    const one = fc.oneof(fc.constantFrom(...known).map(encodeURIComponent), anyRaw)
    if (place === 'path') return one.filter((raw) => raw !== '').map((raw) => ({ name, raws: [raw] }))
    return fc.array(one, { maxLength: 2 }).map((raws) => ({ name, raws }))
  })
  return fc.tuple(...each).map((written) => {
    const inPath = new Map(written.map(({ name, raws }) => [name, raws[0] ?? '']))
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => inPath.get(name) ?? '')
    const query = written.filter(({ name }) => !path.includes(`{${name}}`))
    return `/v1${filled}?${query.flatMap(({ name, raws }) => raws.map((raw) => `${name}=${raw}`)).join('&')}`
  })
}

const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(0, -1, 1e308, 5e-324, '', '*', true, null, [], {}, [[]], ['*', '*'], { toString: 1 }),
  fc.integer({ min: 1, max: 2_000 }).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))),
)

/** Bytes of a body. One or no member is replaced or missing, or the text is damaged. */
function anyBody({ id, members }: DocumentedOperation): fc.Arbitrary<Buffer> {
  const good = goodBodies[id] ?? goodWebhook
  const text = JSON.stringify(good)
  const at = fc.nat(text.length)
  const garbage = fc.constantFrom([0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf], [0], [0x22], [0x5c])
  return fc.oneof(
    fc
      .tuple(fc.constantFrom('__proto__', 'constructor', ...members.map(({ name }) => name)), fc.option(anyJson))
      .map(([name, value]) => Buffer.from(JSON.stringify({ ...good, [name]: value ?? undefined }))),
    at.map((length) => Buffer.from(text.slice(0, length))),
    fc
      .tuple(
        at,
        fc.oneof(
          garbage,
          fc.constantFrom('NaN', '1e999', '//', ',', '}').map((one) => Buffer.from(one)),
        ),
      )
      .map(([place, bytes]) =>
        Buffer.concat([Buffer.from(text.slice(0, place)), Buffer.from(bytes), Buffer.from(text.slice(place))]),
      ),
    fc.constantFrom('null', '[]', '""', '0', '{', ' ', '[{}]').map((one) => Buffer.from(one)),
    fc.integer({ min: 1, max: 30_000 }).map((depth) => Buffer.from('{"url":'.repeat(depth) + '1' + '}'.repeat(depth))),
    fc.constant(Buffer.from(text.replace('{', `{"x":"${'x'.repeat(70_000)}",`))),
  )
}

test(
  'R4 R7 R50 R57 responses to any parameters and body are as documented, and a rejected request changes nothing',
  { timeout },
  async () => {
    const statuses = new Set<number>()
    const anyRequest = fc
      .constantFrom(...operations)
      .chain((one) => fc.tuple(fc.constant(one), anyTarget(one), one.body === null ? fc.constant(null) : anyBody(one)))
    await unchanged(
      fc.asyncProperty(anyRequest, async ([operation, target, bytes]) => {
        const { status } = await send(operation, target, bytes)
        statuses.add(status)
        if (status >= 400) expect(owned()).toEqual({ alerts: [], webhooks: [] })
        clear()
      }),
      5 * counts.restFuzzRuns,
    )
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404, 501]))
  },
)
