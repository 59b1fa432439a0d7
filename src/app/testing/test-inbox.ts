import type { ApiClient } from '../../client/api.ts'
import { createTestClock, type TestClock } from '../../base/clock.ts'
import type { SinkItem } from '../../dispatch/define-sink.ts'
import { parseDefinitions, type Definition } from '../../dispatch/parse-definition.ts'
import { startInProcess, type InProcessRunner } from '../../dispatch/in-process.ts'
import { InboxError } from '../../base/errors.ts'
import { createMemoryInbox } from '../../inbox/sqlite/local.ts'
import type { DeadLetter, Inbox, RunRecord } from '../../inbox/port.ts'
import { silentLogger, type Logger } from '../../base/log.ts'
import { createIngest, type IngestObserver } from '../../receiver/ingest.ts'
import { createDefaultReader } from '../../receiver/readers.ts'
import { parseSecrets } from '../../signature/keys.ts'
import { sign } from '../../signature/sign.ts'

export interface TestInboxOptions {
  /** Results of `defineHandler` and `defineSink`. The default export of a handler file needs a name: `{ name: 'x', ...file }`. */
  readonly handlers: readonly Definition[]
  /** Names of sinks that collect their items: see `items`. */
  readonly sinks?: readonly string[]
  /** Default: a new one that starts at 2026-01-01. */
  readonly clock?: TestClock
  /**
   * `ctx.api` of handlers and sinks: a client (`createClient` of `onchain-inbox/client`) or your own object. Default:
   * none, and access throws TerminalError.
   */
  readonly api?: Partial<ApiClient>
  /** Default: no log. */
  readonly log?: Logger
}

/** Response to the sender. */
export interface DeliveryAnswer {
  readonly status: number
  readonly body: unknown
}

/** A run of a handler. */
export type TestRun = Pick<RunRecord, 'handler' | 'state' | 'attempt' | 'runAt' | 'attempts'>

export interface TestInbox extends AsyncDisposable {
  readonly clock: TestClock
  /** Delivers an event, or any text, as the sender does. Resolves with the response, before handlers have run. */
  deliver(event: object | string): Promise<DeliveryAnswer>
  /** Waits until no handler runs, and none can start before time advances. */
  idle(): Promise<void>
  /**
   * Advances the clock, with everything that is due on the way: retries, snoozes, timeouts. Handlers that wait for
   * something else than the clock continue; `idle` waits for them.
   */
  advance(ms: number): Promise<void>
  /** The runs of an event; empty for an unknown event. */
  runs(eventId: string): Promise<readonly TestRun[]>
  /** Newest first. */
  deadLetters(): Promise<readonly DeadLetter[]>
  /** `ctx.state` of a handler: values by key. */
  state(handler: string): Promise<Readonly<Record<string, unknown>>>
  /** Items of one of `sinks`, oldest first. */
  items(sink: string): readonly SinkItem[]
}

const secret = 'the-secret-of-a-test-inbox'
const concurrency = 16
/** More turns of the event loop than pass between one run and the next. */
const quietTurns = 20
const endMs = 1_000
const unobserved: IngestObserver = { stored() {}, rejected() {}, refused() {} }

/**
 * Creates an inbox in memory with handlers on a test clock. Deliveries pass the whole receiver, signature included. Time
 * advances only on request.
 *
 * @throws InboxError `handler_invalid` with every invalid definition
 *
 * @example
 * await using inbox = await createTestInbox({ handlers: [bigTrades], sinks: ['mail'] })
 * await inbox.deliver(createEvent('wallet.large_trade', { data: { amount_usd: 250_000 } }))
 * await inbox.idle()
 * expect(inbox.items('mail')).toHaveLength(1)
 */
export async function createTestInbox(options: TestInboxOptions): Promise<TestInbox> {
  const { sinks = [], clock = createTestClock(), log = silentLogger } = options
  const itemsBySink = new Map<string, SinkItem[]>(sinks.map((name) => [name, []]))
  const collectors = [...itemsBySink].map(([name, items]) => ({
    name,
    send: (newItems: readonly SinkItem[]) => void items.push(...newItems),
  }))
  const definitions: unknown = options.handlers
  const { handlers, problems } = parseDefinitions(
    Array.isArray(definitions) ? [...definitions, ...collectors] : definitions,
  )
  if (problems.length > 0) throw new InboxError('handler_invalid', problems.join('\n'))

  // A test clock is never set back, so the clock isn't checked during long waits.
  const inbox = await createMemoryInbox({ clock, clockCheckMs: Infinity })
  const observer = { settled() {}, stuck() {} }
  const api = options.api && (() => options.api as ApiClient)
  const runner = await startInProcess({ work: inbox, handlers, concurrency, clock, log, observer, api })
  const secrets = parseSecrets([secret])
  const ingest = createIngest({
    commits: { add: async (delivery) => (await inbox.accept([delivery]))[0] ?? 'late' },
    read: createDefaultReader({ secrets: () => secrets, signatureHeader: 'x-service-signature', clock }),
    clock,
    log,
    observer: unobserved,
    unusableStatus: 200,
  })

  return {
    clock,
    async deliver(event) {
      const { headers, body } = signedRequest(event, secret)
      const signature = headers['X-Service-Signature']
      const answer = await ingest({
        raw: Buffer.from(body),
        headers: { 'x-service-signature': signature },
        rawHeaders: [],
      })
      return { status: answer.status, body: JSON.parse(answer.body) as unknown }
    },
    idle: () => untilIdle(runner, clock),
    advance: (ms) => advanceThrough(clock, ms),
    async runs(eventId) {
      const event = await inbox.event(eventId)
      return (event?.runs ?? []).map(({ handler, state, attempt, runAt, attempts }) => {
        return { handler, state, attempt, runAt, attempts }
      })
    },
    deadLetters: async () => (await inbox.deadLetters({ limit: Number.MAX_SAFE_INTEGER })).data,
    state: (handler) => stateOf(inbox, handler),
    items(sink) {
      const items = itemsBySink.get(sink)
      if (items === undefined) throw new InboxError('usage', `${sink} is not one of \`sinks\``)
      return [...items]
    },
    async [Symbol.asyncDispose]() {
      // A handler that never ends doesn't fail the test.
      const stopped = runner.stop(0).catch(() => {})
      await clock.advance(endMs)
      await stopped
      await inbox.close()
    },
  }
}

/** Lets everything happen that is due now. */
async function settleDue(clock: TestClock): Promise<void> {
  for (let turn = 0; turn < quietTurns; turn++) await clock.advance(0)
}

async function untilIdle(runner: InProcessRunner, clock: TestClock): Promise<void> {
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await clock.advance(0)
    if (runner.running > 0) quiet = 0
  }
}

async function advanceThrough(clock: TestClock, ms: number): Promise<void> {
  const until = clock.now() + ms
  await settleDue(clock)
  for (let at = clock.nextTimerAt(); at !== null && at <= until; at = clock.nextTimerAt()) {
    await clock.advance(Math.max(0, at - clock.now()))
    await settleDue(clock)
  }
  await clock.advance(until - clock.now())
}

async function stateOf(inbox: Inbox, handler: string): Promise<Record<string, unknown>> {
  const entries = await inbox.readState(handler, { prefix: '', after: null, limit: Number.MAX_SAFE_INTEGER })
  return Object.fromEntries(entries.map(({ key, value }) => [key, JSON.parse(value) as unknown]))
}

export interface SignedRequestOptions {
  /** Default `X-Service-Signature`. */
  readonly signatureHeader?: string
}

/** Second argument of `fetch`; for supertest, `.set(headers).send(body)`. */
export interface SignedRequest {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Creates the signed request of a delivery. Text is sent unchanged.
 *
 * @example
 * const response = await fetch(url, signedRequest(createEvent('token.price_alert'), secret))
 */
export function signedRequest(
  event: object | string,
  secret: string,
  { signatureHeader = 'X-Service-Signature' }: SignedRequestOptions = {},
): SignedRequest {
  const body = typeof event === 'string' ? event : JSON.stringify(event)
  const headers = { 'Content-Type': 'application/json', [signatureHeader]: sign(Buffer.from(body), secret) }
  return { method: 'POST', headers, body }
}
