import { expect } from 'vitest'
import { createClient, type ApiError } from '../../src/client/index.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { apiKey, startStage, testSeed } from './emulator-stage.ts'

export type ClientStage = Awaited<ReturnType<typeof startClientStage>>

/** An emulator with some history, and a client whose pauses take no time. */
export async function startClientStage() {
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
    /** Another client of the same emulator. */
    client,
    /** Injects a fault into answers. */
    async fault(fault: object, more: object = {}) {
      const { status, text } = await stage.control('POST', '/faults', { direction: 'in', fault, ...more })
      if (status !== 201) throw new Error(`no such fault: ${text}`)
    },
    /** Removes all faults. */
    async heal() {
      await stage.control('DELETE', '/faults')
    },
    /** Requests since the last call, as method and path. */
    asked(): readonly string[] {
      const last = asked
      asked = []
      return last
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  }
}

/** Timeouts are longer, pauses between retries shorter. */
const longestPauseMs = 20_000

/** Pauses end at once and are recorded; timeouts never end. */
export function createHastyClock(random = 0) {
  let now = Date.UTC(2026, 0, 1)
  const pauses: number[] = []
  return {
    /** Elapsed pauses in milliseconds. */
    pauses,
    advance(ms: number) {
      now += ms
    },
    now: () => now,
    after(ms: number, fn: () => void) {
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
