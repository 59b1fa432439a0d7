import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTestClock } from '../../src/base/clock.ts'
import { createAccounts } from '../../src/emulator/accounts/accounts.ts'
import { scopeNames, type Scope } from '../../schema/rest/routes.ts'
import type { Plan } from '../../src/emulator/accounts/accounts.ts'
import type { RestExchange } from '../../src/emulator/rest/journal.ts'
import type { Faults } from '../../src/emulator/faults/faults.ts'
import { createRestApp } from '../../src/emulator/rest/server.ts'
import { defaultRestSettings, type RestSettings } from '../../src/emulator/rest/input.ts'
import { createWorld } from '../../src/emulator/world/world.ts'
import { silentLogger } from '../../src/base/log.ts'

/** Any JSON value. */
type Json = ReturnType<typeof JSON.parse>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined unless the text is JSON. */
  readonly body: Json
}

export interface RequestOptions {
  /** Null: without one. Default: a key with every scope. */
  readonly key?: string | null
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
}

export interface StageOptions {
  readonly seed?: string
  /** History in hours of world time. Default 0. */
  readonly hours?: number
  readonly activity?: number
  readonly plan?: Plan
  readonly settings?: Partial<RestSettings>
  readonly faults?: Faults
}

export type RestStage = Awaited<ReturnType<typeof createRestStage>>

const startAt = Date.UTC(2026, 0, 1)

/** The REST service on a socket, with its own world and accounts. Its clocks move only when advanced. */
export async function createRestStage(options: StageOptions = {}) {
  const { seed = 'rest', hours = 0, activity = 1, plan = 'unlimited', settings = {}, faults } = options
  const clock = createTestClock(startAt + hours * 3_600_000)
  const wall = createTestClock(Date.UTC(2026, 5, 1))
  const world = createWorld({ seed, startAt, activity })
  world.advanceTo(clock.now())
  const accounts = createAccounts({ clock, randomBytes, execute: (command) => world.commands.apply(command) })
  const { accountId } = accounts.putAccount('test', plan)
  const newKey = (scopes: readonly Scope[] = scopeNames, of = accountId) =>
    accounts.addKey(of, { name: 'test', scopes }).value
  const exchanges: RestExchange[] = []
  const app = createRestApp({
    world,
    accounts,
    cursorSecret: `cursors of ${seed}`,
    settings: { ...defaultRestSettings, ...settings },
    clock,
    wall,
    log: silentLogger,
    onExchange: (exchange) => exchanges.push(exchange),
    ...(faults && { faults }),
  })
  const server = createServer({ requireHostHeader: false }, app)
  // The client closes idle connections first: a request on a connection that the server closes would fail.
  server.keepAliveTimeout = 0
  server.on('clientError', (error, socket) => app.onClientError(error, socket))
  server.on('checkContinue', app)
  server.on('checkExpectation', app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const defaultKey = newKey()

  const request = async (
    path: string,
    { key = defaultKey, method, headers, body }: RequestOptions = {},
  ): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parse(text) }
  }

  return {
    world,
    accounts,
    accountId,
    clock,
    wall,
    port,
    exchanges: exchanges as readonly RestExchange[],
    /** Creates a key of the account or of another; returns its value. */
    newKey,
    request,
    /** GET that must succeed; returns the body. */
    async get(path: string): Promise<Json> {
      const { status, body, text } = await request(path)
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`)
      return body
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** The wallet of a network with the most trades, as a path. */
export function busiestWallet({ world }: Pick<RestStage, 'world'>, network = 'ethereum') {
  const [wallet] = world.views
    .wallets()
    .filter((one) => one.network === network)
    .toSorted((a, b) => b.tradeCount - a.tradeCount)
  if (wallet === undefined) throw new Error(`no trades on ${network}`)
  return { ...wallet, path: `/v1/wallets/${wallet.address}`, query: `network=${network}` }
}

/** An address that is well-formed but unknown to every world. */
export const unseen = { evm: `0x${'1'.repeat(40)}`, solana: '1'.repeat(32) }

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
