import { expect } from 'vitest'
import { createClient, type ApiClient, type ApiError } from '../../src/client/index.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import type { Clock } from '../../src/base/clock.ts'
import { apiKey, startStage, testSeed, type Stage } from './emulator-stage.ts'

export interface ClientStage extends AsyncDisposable {
  readonly stage: Stage
  readonly api: ApiClient
  readonly clock: HastyClock
  /** Another client of the same emulator. */
  client(options?: Partial<ClientOptions>): ApiClient
  /** Injects a fault into answers. */
  fault(fault: object, more?: object): Promise<void>
  /** Removes all faults. */
  heal(): Promise<void>
  /** Requests since the last call, as method and path. */
  asked(): readonly string[]
}

/** An emulator with some history, and a client whose pauses take no time. */
export async function startClientStage(): Promise<ClientStage> {
  const stage = await startStage({ seed: testSeed({ world: { seed: 'client', history: '3h' } }) })
  const clock = createHastyClock()
  let asked: string[] = []
  const client = (more: Partial<ClientOptions> = {}) =>
    createClient({
      baseUrl: `${stage.emulator.url}/v1`,
      apiKey,
      clock,
      fetch: (url, init) => {
        asked.push(`${init?.method} ${new URL(url as string).pathname}`)
        return fetch(url, init)
      },
      ...more,
    })
  return {
    stage,
    api: client(),
    clock,
    client,
    async fault(fault, more = {}) {
      const { status, text } = await stage.control('POST', '/faults', { direction: 'in', fault, ...more })
      if (status !== 201) throw new Error(`no such fault: ${text}`)
    },
    async heal() {
      await stage.control('DELETE', '/faults')
    },
    asked() {
      const last = asked
      asked = []
      return last
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

export interface HastyClock extends Clock {
  /** Elapsed pauses in milliseconds. */
  readonly pauses: number[]
  advance(ms: number): void
}

/** Timeouts are longer, pauses between retries shorter. */
const longestPauseMs = 20_000

/** Pauses end at once and are recorded; timeouts never end. */
export function createHastyClock(random = 0): HastyClock {
  let now = Date.UTC(2026, 0, 1)
  const pauses: number[] = []
  return {
    pauses,
    advance(ms) {
      now += ms
    },
    now: () => now,
    after(ms, fn) {
      if (ms > longestPauseMs) return { cancel() {} }
      pauses.push(ms)
      const timer = setImmediate(() => {
        now += ms
        fn()
      })
      return { cancel: () => clearImmediate(timer) }
    },
    random: () => random,
  }
}

/** Error of a failed call. */
export const failureOf = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => expect.unreachable('it succeeded'),
    (error: unknown) => error as ApiError,
  )

/** All items of a list, in order. */
export async function all<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of pages) items.push(item)
  return items
}

/** A wallet with this number of positions and trades. */
export function openWallet({ stage }: Pick<ClientStage, 'stage'>, positions: number) {
  const { views, commands } = stage.emulator.world
  const address = `0x${(0xc0_0000 + views.wallets().length).toString(16).padStart(40, '0')}`
  const tokens = views.tokens().filter(({ network }) => network === 'ethereum')
  const buy = (index: number) => {
    const { address: token = '' } = tokens[index % tokens.length] ?? {}
    commands.apply({ kind: 'trade', network: 'ethereum', wallet: address, token, side: 'buy', usd: 100 + index })
  }
  for (let index = 0; index < positions; index++) buy(index)
  return { address, network: 'ethereum' as const, buy }
}

/** The wallet with the most trades on Ethereum. */
export function busiest({ stage }: Pick<ClientStage, 'stage'>) {
  const wallets = stage.emulator.world.views.wallets().filter(({ network }) => network === 'ethereum')
  const [wallet] = wallets.toSorted((a, b) => b.tradeCount - a.tradeCount)
  return { address: wallet!.address, network: 'ethereum' as const }
}
