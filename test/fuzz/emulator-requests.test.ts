import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  addressOf,
  anyBody,
  anyParameters,
  damaged,
  isAllowed,
  rightBody,
  toTarget,
} from '../support/openapi-arbitraries.ts'
import { toTyped } from '../support/openapi-contract.ts'
import { readOpenApi, type DocumentedOperation } from '../support/openapi-document.ts'
import { authorization, fuzzRuns, startFuzzStage, type FuzzStage } from '../support/openapi-fuzz-stage.ts'
import { jsonOf, type RawAnswer } from '../support/raw-http.ts'

const { operations } = readOpenApi()
const timeout = 3_600_000
const json = { Authorization: authorization, 'Content-Type': 'application/json' }
const networks = ['ethereum', 'bnb', 'solana', 'polygon', 'base', 'avalanche', 'arbitrum'] as const

let stage: FuzzStage
let good: Readonly<Record<string, string>>
beforeAll(async () => {
  stage = await startFuzzStage()
  const { views } = stage.emulator.world
  const wallet = views.wallets().find(({ network, tradeCount }) => network === 'base' && tradeCount > 0)
  good = { address: wallet?.address ?? '', network: 'base', q: 'a', alert_id: 'alrt_none', webhook_id: 'wh_none' }
})
afterAll(() => stage[Symbol.asyncDispose]())

const bodies: Readonly<Record<string, object>> = {
  createAlert: {
    type: 'whale_buy',
    address: `0x${'a'.repeat(40)}`,
    network: 'base',
    threshold: 1.5,
    webhook_url: 'https://hooks.example.com/a',
    label: 'a label',
  },
  createWebhook: { url: 'https://hooks.example.com/a', events: ['*'], secret: 'a secret of the client' },
  updateWebhook: { url: 'https://hooks.example.com/a', events: ['*'], secret: 'a secret of the client' },
}
const bodyOf = ({ id }: DocumentedOperation) => bodies[id] ?? {}

interface Refusal {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details?: readonly { readonly path: string }[]
  }
}

/** Says what was expected, and nothing that could upset a terminal. */
function expectHelp(answer: RawAnswer): void {
  if (answer.status < 400) return
  const { error } = jsonOf(answer) as Refusal
  expect(error.message).toMatch(
    /expected|well-formed|takes|no such|there is no|there is nothing|was ever seen|has no|at most/,
  )
  // oxlint-disable-next-line no-control-regex
  expect(error.message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
}

/** Of what the document allows, the service refuses only what a schema cannot say, and names it. */
function expectRefusalBeyondSchema(answer: RawAnswer, places: readonly string[]): void {
  if (answer.status !== 400) return
  const { details = [] } = (jsonOf(answer) as Refusal).error
  expect(details.length, answer.body.toString()).toBeGreaterThan(0)
  for (const { path } of details) expect(places, answer.body.toString()).toContain(path.split('.')[0])
}

function statusesOf({ path, isImplemented }: DocumentedOperation): readonly number[] {
  if (!isImplemented) return [501]
  // Handles are of no form, so that there is nothing to refuse but broken encoding.
  return [/\{(?:alert|webhook)_id\}/.test(path) ? 404 : 400]
}

const withParameters = operations.filter(({ parameters }) => parameters.length > 0)
describe.each(withParameters)('$id', (operation) => {
  test(
    'R4 R57 with whatever parameters, it refuses what the document does not allow, and changes nothing',
    { timeout },
    () =>
      stage.unchanged(statusesOf(operation), () =>
        fc.assert(
          fc.asyncProperty(anyParameters(operation, good), async (written) => {
            const target = toTarget(operation, written)
            const body = operation.body === null ? undefined : Buffer.from(JSON.stringify(bodyOf(operation)))
            const parts = { method: operation.method, target, headers: json, ...(body !== undefined && { body }) }
            const sent = { method: operation.method, target, body: bodyOf(operation) }
            const answer = await stage.send(parts, sent)
            if (!operation.isImplemented) expect(answer.status).toBe(501)
            else if (!isAllowed(stage.contract.document, written, toTyped)) expect([400, 404]).toContain(answer.status)
            else expectRefusalBeyondSchema(answer, ['address', 'token', 'cursor', 'q'])
            if (operation.isImplemented) expectHelp(answer)
          }),
          fuzzRuns,
        ),
      ),
  )
})

describe.each(operations.filter(({ body }) => body !== null))('$id', (operation) => {
  const target = `/v1${operation.path.replace(/\{\w+\}/, 'wh_none')}`

  const isNew = operation.method === 'POST'

  test('R36 R37 R41 R58 R60 whatever body the document allows is taken, and comes back as it is', { timeout }, () =>
    stage.unchanged([isNew ? 201 : 200], () =>
      fc.assert(
        fc.asyncProperty(rightBody(operation, networks), async (body) => {
          const { accounts } = stage.emulator
          const [{ accountId } = { accountId: '' }] = accounts.accounts()
          const own = isNew
            ? null
            : accounts.addWebhook(accountId, { url: 'https://a.example/', events: ['*'] }).webhook
          const at = own === null ? target : `/v1/webhooks/${own.webhookId}`
          const bytes = Buffer.from(JSON.stringify(body))
          const parts = { method: operation.method, target: at, headers: json, body: bytes }
          const answer = await stage.send(parts, { method: operation.method, target: at, body })
          expect(answer.status, answer.body.toString()).toBe(isNew ? 201 : 200)
          const { address, secret: _secret, ...rest } = JSON.parse(bytes.toString())
          expect(jsonOf(answer)).toMatchObject({ data: rest })
          if (address !== undefined) expect(answer.body.toString().toLowerCase()).toContain(address.toLowerCase())
          remove(answer)
        }),
        fuzzRuns,
      ),
    ),
  )

  /** Sends a body; what is created is what the document allows, and is deleted again. */
  async function sendBody(bytes: Buffer): Promise<void> {
    const value = parse(bytes)
    const { document } = stage.contract
    const isRight = value !== undefined && document.problemsOf(operation.body ?? {}, value).length === 0
    const before = stage.owned()
    const sent = { method: operation.method, target, body: value }
    const answer = await stage.send({ method: operation.method, target, headers: json, body: bytes }, sent)
    expectHelp(answer)
    if (isRight) expectRefusalBeyondSchema(answer, ['address', 'webhook_url', 'url', 'label', 'secret'])
    else expect([400, 413], answer.body.toString()).toContain(answer.status)
    const isCreated = answer.status === 201
    if (isCreated) remove(answer)
    expect(stage.owned()).toEqual(before)
  }

  function remove(answer: RawAnswer): void {
    const { accounts } = stage.emulator
    const { data } = jsonOf(answer) as { data: { alert_id?: string; webhook_id?: string } }
    const [{ accountId } = { accountId: '' }] = accounts.accounts()
    const isGone =
      data.alert_id === undefined
        ? accounts.removeWebhook(accountId, data.webhook_id ?? '')
        : accounts.removeAlert(accountId, data.alert_id)
    expect(isGone, 'what was created belongs to the caller').toBe(true)
  }

  test('R50 R57 of bodies with whatever members, it takes those that the document allows', { timeout }, () =>
    stage.unchanged([isNew ? 201 : 404, 400], () =>
      fc.assert(
        fc.asyncProperty(anyBody(operation, bodyOf(operation)), (body) => sendBody(Buffer.from(JSON.stringify(body)))),
        fuzzRuns,
      ),
    ),
  )

  test('R50 of damaged bodies it takes only those that are still what the document allows', { timeout }, () =>
    stage.unchanged([400, 413], () =>
      fc.assert(fc.asyncProperty(damaged(JSON.stringify(bodyOf(operation))), sendBody), fuzzRuns),
    ),
  )
})

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

const anyAddress = fc.constantFrom(...networks).chain((network) => fc.tuple(fc.constant(network), addressOf(network)))
const page = fc.record({ limit: fc.integer({ min: 1, max: 100 }).map(String) }, { requiredKeys: [] })
const validQueries: Readonly<Record<string, fc.Arbitrary<Readonly<Record<string, string>>>>> = {
  getWalletPortfolio: page,
  listWalletTrades: page,
  getWalletPnl: fc.record({ timeframe: fc.constantFrom('24h', '7d', '30d', 'all') }, { requiredKeys: [] }),
  searchTokens: fc
    .tuple(page, fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 60 }))
    .map(([own, q]) => ({ ...own, q })),
  listAlerts: page,
  listWebhooks: page,
}

test('whatever the document allows is answered with 200 or 404', { timeout }, () =>
  stage.unchanged([200, 404], () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .constantFrom(...operations.filter((one) => one.isImplemented && one.method === 'GET'))
          .chain((operation) =>
            fc.tuple(fc.constant(operation), anyAddress, validQueries[operation.id] ?? fc.constant({}), fc.boolean()),
          ),
        async ([operation, [network, address], own, isKnown]) => {
          const values: Readonly<Record<string, string>> = { ...good, ...(!isKnown && { network, address }), ...own }
          const written = operation.parameters
            .filter(({ name, required }) => required || name in own)
            .map((parameter) => ({ parameter, raws: [encodeURIComponent(values[parameter.name] ?? '')] }))
          expect(isAllowed(stage.contract.document, written, toTyped)).toBe(true)
          const target = toTarget(operation, written)
          const answer = await stage.send({ method: 'GET', target, headers: json }, { method: 'GET', target })
          expect([200, 404], target).toContain(answer.status)
        },
      ),
      fuzzRuns,
    ),
  ),
)
