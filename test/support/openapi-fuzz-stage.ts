import { expect } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator, type Emulator } from '../../src/emulator/emulator.ts'
import { counts } from '../counts.ts'
import { apiKey, testSeed } from '../integration/emulator-stage.ts'
import { createContract, type Sent } from './openapi-contract.ts'
import { headerOf, RawConnection, requestBytes, type RawAnswer, type RequestParts } from './raw-http.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)

/** How many requests each property sends: in CI, and with LONG=1. SEED repeats a run. */
export const fuzzRuns = { numRuns: counts.restFuzzRuns, seed } as const

/** A key that opens everything, as a header. */
export const authorization = `Bearer ${apiKey}`

export interface FuzzStage extends AsyncDisposable {
  readonly emulator: Emulator
  readonly contract: ReturnType<typeof createContract>
  /** Sends a request on a connection of its own; its answer must be as documented. `sent` null: it is no request of any operation. */
  send(parts: RequestParts, sent: Sent | null): Promise<RawAnswer>
  /** Sends bytes, then no more, and gives all answers to them. */
  sendBytes(bytes: Uint8Array): Promise<readonly RawAnswer[]>
  /** An answer that need not be of an operation: the envelope, with the headers of every answer. */
  expectEnvelope(answer: RawAnswer): void
  /** Everything that a request could change. */
  owned(): unknown
  /** Runs `test`, after which the world must be what it was, and the service alive. These statuses must have come, at least. */
  unchanged(statuses: readonly number[], test: () => Promise<void>): Promise<void>
}

/** The whole emulator on a socket; its clocks stand still, but each request has a window of its own. */
export async function startFuzzStage(): Promise<FuzzStage> {
  const wall = createTestClock(Date.UTC(2026, 5, 1))
  const emulator = createEmulator({
    seed: testSeed({ world: { seed: 'fuzz', history: '3h' } }),
    clock: createTestClock(Date.UTC(2026, 5, 1)),
    wall,
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  const contract = createContract()
  const port = Number(new URL(emulator.url ?? '').port)
  const { accounts, world } = emulator
  console.log(`fuzz of the emulator: SEED=${seed}`)

  const seen = new Set<number>()
  const check = (answer: RawAnswer, sent: Sent | null): readonly string[] => {
    seen.add(answer.status)
    return contract.check(sent ?? { method: 'NONE', target: '*' }, {
      status: answer.status,
      header: (name) => headerOf(answer, name),
      text: answer.body.toString(),
    })
  }
  const owned = () => ({
    alerts: accounts.accounts().map(({ accountId }) => accounts.alerts(accountId)),
    webhooks: accounts.allWebhooks(),
  })
  const tell = (answer: RawAnswer) => `${answer.status} ${answer.body.toString().slice(0, 500)}`

  return {
    emulator,
    contract,
    async send(parts, sent) {
      await wall.advance(60_000)
      using connection = await RawConnection.open(port)
      const answer = await connection.request(parts)
      expect(check(answer, sent), tell(answer)).toEqual([])
      expect(answer.status === 501 || answer.status === 503 || answer.status < 500, tell(answer)).toBe(true)
      return answer
    },
    async sendBytes(bytes) {
      await wall.advance(60_000)
      using connection = await RawConnection.open(port, { allowHalfOpen: true })
      connection.socket.end(bytes)
      await connection.closed()
      const answers: RawAnswer[] = []
      while (connection.unread.length > 0) answers.push(await connection.answer())
      for (const { status } of answers) seen.add(status)
      return answers
    },
    expectEnvelope(answer) {
      expect(check(answer, null), tell(answer)).toEqual([])
    },
    owned,
    async unchanged(statuses, test) {
      seen.clear()
      const before = { ...owned(), world: world.digest() }
      await test()
      expect([...seen]).toEqual(expect.arrayContaining([...statuses]))
      expect({ ...owned(), world: world.digest() }).toEqual(before)
      using connection = await RawConnection.open(port)
      const headers = { Authorization: authorization }
      expect((await connection.request({ method: 'GET', target: '/v1/networks', headers })).status).toBe(200)
    },
    [Symbol.asyncDispose]: () => emulator.stop(),
  }
}

/** A request with a JSON body, as bytes: what `sendBytes` takes. */
export function jsonRequest(target: string, body: Uint8Array, headers: RequestParts['headers'] = {}): Buffer {
  const all = { Authorization: authorization, 'Content-Type': 'application/json', ...headers }
  return requestBytes({ method: 'POST', target, headers: all, body })
}
