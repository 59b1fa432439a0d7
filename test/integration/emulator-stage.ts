import { createEmulator, type Emulator, type EmulatorOptions, type SeedInput } from '../../src/emulator/emulator.ts'

export const controlToken = 'control-token-of-the-test'
export const apiKey = 'sk_api-key-of-the-test-0001'

/** A small world without history, and one account with a known key. */
export function testSeed(changes: Partial<SeedInput> = {}): SeedInput {
  return {
    world: { seed: 'test', history: '0s' },
    clock: { mode: 'manual' },
    controlToken,
    accounts: [{ name: 'desk', plan: 'unlimited', keys: [{ name: 'first', key: apiKey, scopes: 'all' }] }],
    ...changes,
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Read as what the test expects. */
  // eslint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

export interface RestInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export type Stage = ReturnType<typeof stageOf>

/** A running emulator that listens on a free port. */
export async function startStage(options: Partial<EmulatorOptions> = {}) {
  const emulator = createEmulator({ seed: testSeed(), listen: { host: '127.0.0.1', port: 0 }, ...options })
  await emulator.start()
  return stageOf(emulator)
}

export function stageOf(emulator: Emulator) {
  return {
    emulator,
    /** A request below `/_emulator`, with the token. */
    control: (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      ask(`${emulator.url}/_emulator${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${emulator.controlToken}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    /** A request below `/v1`, with the key. */
    rest: (path: string, init: RestInit = {}) =>
      ask(`${emulator.url}/v1${path}`, { ...init, headers: { Authorization: `Bearer ${apiKey}`, ...init.headers } }),
    [Symbol.asyncDispose]: () => emulator.stop(),
  }
}

/** World, clock, accounts and the exact events of an emulator. */
export async function seen(stage: Stage) {
  const { now, seq, digest } = (await stage.control('GET', '/world?digest=1')).json.data
  const events = (await stage.control('GET', '/events?limit=1000')).text
  const accounts = (await stage.control('GET', '/accounts')).json.data
  return { now, seq, digest, accounts, events: events.slice(0, events.lastIndexOf('"meta"')) }
}

export async function ask(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

/** A POST of JSON. */
export function postJson(body: unknown): RestInit {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}
