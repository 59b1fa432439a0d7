import http from 'node:http'
import https from 'node:https'
import PQueue from 'p-queue'
import { setTimeout as wait } from 'node:timers/promises'
import type { EventOf, EventType } from '../../../schema/index.ts'
import { codeOf, messageOf } from '../../base/errors.ts'
import { sign } from '../../signature/sign.ts'
import { createEvent } from '../../app/testing/create-event.ts'
import { createEffects, describe, runShell } from './effects.ts'
import { isFromReceiver, type Answer } from './judge.ts'

export interface ContextOptions {
  /** Receiver under test. Apart from reads of `effects`, requests go only there. */
  readonly url: URL
  readonly secret: string
  /** A second secret that the receiver accepts at the same time. */
  readonly nextSecret?: string | undefined
  /** Reports what the receiver did: a URL that answers GET, or a shell command. */
  readonly effects?: string | undefined
  /** Shell command that restarts the receiver. */
  readonly restart?: string | undefined
  /** Time limit of an answer in ms; default: 5 s, like the service. */
  readonly timeoutMs?: number | undefined
  /** Time limit in ms until the receiver has finished its work; default 30 s. */
  readonly settleMs?: number | undefined
  /** Number of events in a burst, and before a late duplicate; default 1,000. */
  readonly many?: number | undefined
}

/** An event of this run, with a new id. */
export interface TestEvent {
  readonly id: string
  /** The bytes that are signed and sent. */
  readonly body: Buffer
}

/** Members to override in a new event, which is a `wallet.large_trade` of a new wallet by default. */
interface EventParts {
  /** Age relative to the other events of the run. */
  readonly ageMs?: number
  /** Events with the same wallet have the same key. */
  readonly wallet?: string
  readonly data?: Readonly<Partial<EventOf<'wallet.large_trade'>['data']>>
}

export interface Delivery {
  /** Undefined for a request that isn't a delivery. */
  readonly event?: TestEvent
  readonly answer: Answer
  /** Set where checks of one case judge different deliveries. */
  readonly part?: string
}

interface DeliverOptions extends Omit<OutgoingRequest, 'body' | 'signature'> {
  readonly secret?: string
  readonly part?: string
}

export const connections = 50
const pollMs = 200
const restartLimitMs = 60_000

export type Context = ReturnType<typeof createContext>

/** Creates what the cases of a run use: new events, signed deliveries, effects and restarts. */
export function createContext(options: ContextOptions, signal: AbortSignal) {
  const { url, secret, nextSecret = '', effects: source, restart: command = '' } = options
  const { timeoutMs = 5_000, settleMs = 30_000, many = 1_000 } = options
  const startedAt = Date.now()
  const run = `${startedAt.toString(36)}${Math.floor(Math.random() * 36 ** 4).toString(36)}`
  const prefix = `evt_conf_${run}_`
  let count = 0
  const client = url.protocol === 'https:' ? https : http
  const pool = new client.Agent({ keepAlive: true })

  // All events of a run have the same created_at, except in cases about age.
  const create = <T extends EventType>(type: T, ageMs: number, data?: Partial<EventOf<T>['data']>): TestEvent => {
    const created_at = new Date(startedAt - ageMs).toISOString()
    const event = createEvent(type, { id: `${prefix}${++count}`, created_at, ...(data && { data }) })
    return { id: event.id, body: Buffer.from(JSON.stringify(event)) }
  }

  const newWallet = () => `0x${Buffer.from(`${run}${count}`).toString('hex').padStart(40, '0').slice(-40)}`
  const newEvent = ({ ageMs = 0, wallet = newWallet(), data }: EventParts = {}) =>
    create('wallet.large_trade', ageMs, { wallet_address: wallet, ...data })
  const pause = (ms: number) => wait(ms, undefined, { signal })

  /** Sends one request as the service does, without following redirects. Rejects only when the run is aborted. */
  async function send(outgoing: OutgoingRequest): Promise<Answer> {
    const { method = 'POST', body, signature, isPooled = false, pace, limitMs = timeoutMs } = outgoing
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const sentAt = Date.now()
    const finish = (status: number | null, failure: string | null, isLate = false) =>
      resolve({ status, failure, isLate, ms: Date.now() - sentAt })
    const request = client.request(url, {
      method,
      signal,
      agent: isPooled ? pool : false,
      headers: {
        'User-Agent': 'onchain-inbox-conformance',
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }),
        ...(signature !== undefined && { 'X-Service-Signature': [signature].flat() }),
      },
    })
    let isConnected = false
    request.on('socket', (socket) => {
      if (request.reusedSocket) isConnected = true
      else socket.once(client === https ? 'secureConnect' : 'connect', () => (isConnected = true))
    })
    const deadline = setTimeout(() => {
      finish(null, `no ${isConnected ? 'answer' : 'connection'} within ${limitMs} ms`, isConnected)
      request.destroy()
    }, limitMs)
    request.on('response', (response) => {
      finish(response.statusCode ?? 0, null)
      response.on('error', () => request.destroy())
      response.resume()
    })
    request.on('error', (error) => {
      if (signal.aborted) reject(error)
      // A receiver may close an idle connection at the moment it is reused.
      else if (isPooled && request.reusedSocket && codeOf(error) === 'ECONNRESET')
        resolve(send({ ...outgoing, isPooled: false }))
      else finish(null, describe(error))
    })
    request.on('close', () => {
      clearTimeout(deadline)
      finish(null, 'the connection was closed without an answer')
    })
    if (pace === undefined) request.end(body)
    else {
      const write: WriteBytes = (bytes) => new Promise((written) => request.write(bytes, () => written()))
      pace(write).then(
        () => request.end(),
        () => request.destroy(),
      )
    }
    return promise
  }

  /** Sends an event as the service does: signed over its bytes, with `secret` by default. */
  async function deliver(event: TestEvent, { secret: key = secret, part, ...request }: DeliverOptions = {}) {
    const answer = await send({ ...request, body: event.body, signature: sign(event.body, key) })
    return { event, answer, ...(part !== undefined && { part }) }
  }

  /** Delivers new events until `isEnough` accepts an answer, or the time is up. Returns the last answer. */
  async function poll(isEnough: (answer: Answer) => boolean, limitMs: number, answerLimitMs: number): Promise<Answer> {
    const deadline = Date.now() + limitMs
    for (;;) {
      // A proxy may answer other requests itself.
      const { answer } = await deliver(newEvent(), { limitMs: answerLimitMs })
      if (isEnough(answer) || Date.now() >= deadline) return answer
      await pause(pollMs)
    }
  }

  /** Delivers events one after the other. */
  async function deliverInTurn(events: readonly TestEvent[], more: DeliverOptions = {}) {
    const deliveries: Delivery[] = []
    for (const event of events) deliveries.push(await deliver(event, more))
    return deliveries
  }

  /** Delivers `many` new events over 50 connections. */
  function deliverMany(): Promise<readonly Delivery[]> {
    const deliverOne = () => deliver(newEvent(), { isPooled: true })
    return new PQueue({ concurrency: connections }).addAll(Array.from({ length: many }, () => deliverOne))
  }

  /** Runs the restart command and waits until the receiver answers. */
  async function restart(): Promise<Answer> {
    const restartedAt = Date.now()
    try {
      await runShell(command, { limitMs: restartLimitMs, signal, isRead: false })
    } catch (error) {
      signal.throwIfAborted()
      return { status: null, failure: messageOf(error), isLate: false, ms: Date.now() - restartedAt }
    }
    return poll(isFromReceiver, restartLimitMs, timeoutMs)
  }

  /** Undefined without the option. */
  const effects = source === undefined ? undefined : createEffects({ location: source, signal, settleMs, prefix })
  const sample = (type: EventType) => create(type, 0)
  return {
    secret,
    nextSecret,
    timeoutMs,
    newWallet,
    newEvent,
    sample,
    send,
    deliver,
    deliverInTurn,
    deliverMany,
    poll,
    restart,
    effects,
    wait: pause,
  }
}

interface OutgoingRequest {
  readonly method?: 'POST' | 'GET'
  readonly body?: Buffer
  /** Value of the signature header. A list repeats the header; undefined leaves it out. */
  readonly signature?: string | readonly string[] | undefined
  /** Reuses an idle connection if there is one. */
  readonly isPooled?: boolean
  /** Writes the body in parts; default: all of it at once. */
  readonly pace?: (write: WriteBytes) => Promise<void>
  /** Milliseconds after which the request is abandoned; default: the time limit of the run. */
  readonly limitMs?: number
}

/** Writes a part of a body; resolves when it has left this process. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>
