import { createHash } from 'node:crypto'
import { sign } from '../../src/signature/sign.ts'
import { Life } from './life.ts'
import type { Process, ProcessWorld } from './process.ts'

/** A delivery that is repeated until it is acknowledged. */
export interface Delivery {
  /** Its id in the inbox. */
  readonly id: string
  readonly kind: 'event' | 'unusable'
  /** The event's key; null: no order. */
  readonly key: string | null
  readonly raw: Buffer
  /** Events of the same key that were acknowledged before it was first sent. */
  readonly behind: readonly string[]
  isAcknowledged: boolean
  failures: number
}

export interface SenderWorld extends Pick<
  ProcessWorld,
  'random' | 'time' | 'faults' | 'chronicle' | 'trace' | 'secrets'
> {
  /** The process that listens at present. */
  readonly listener: () => Process | undefined
}

const ladderMs = [50, 150, 400, 1_000, 2_000]
const timeoutMs = 800
const types = ['wallet.large_trade', 'wallet.large_trade', 'token.price_move', 'contract.call', 'something.new']
const addressFields: { readonly [family: string]: string } = {
  wallet: 'wallet_address',
  token: 'token_address',
  contract: 'contract_address',
}

/** Sends signed events until they are acknowledged, and also duplicates, conflicts, forged and unusable bodies. */
export class Sender {
  readonly deliveries: Delivery[] = []
  /** All bodies sent by id, in hex. */
  readonly bodies = new Map<string, Set<string>>()
  readonly #world: SenderWorld
  readonly #addresses: readonly string[]
  readonly #slowest: number
  readonly #life = new Life('sender')
  #forged = 0

  constructor(world: SenderWorld) {
    this.#world = world
    this.#addresses = ['a', 'b', 'c', 'd'].slice(0, world.random.integer(1, 4))
    this.#slowest = world.random.pick([1, 20, 200])
  }

  get isDone(): boolean {
    return this.deliveries.every(({ isAcknowledged }) => isAcknowledged)
  }

  sendNew(): void {
    const { random, time, trace } = this.#world
    const id = `evt_${this.deliveries.length + 1}`
    const type = random.pick(types)
    const network = random.pick(['ethereum', 'solana'])
    const address = random.chance(0.15) ? undefined : random.pick(this.#addresses)
    const field = addressFields[type.split('.')[0]!]
    const data = { network, amount: random.integer(1, 1_000), ...(field && address && { [field]: address }) }
    const ageMs = random.chance(0.1) ? 2 * 3_600_000 : 0
    const createdAt = new Date(time.clock(this.#life, random).now() - ageMs).toISOString()
    const key = field && address ? `${network}:${address}` : null
    const behind = this.deliveries.filter((other) => other.isAcknowledged && key !== null && other.key === key)
    trace(`sender: ${id} is a ${type} of ${key}`)
    this.#add({
      id,
      kind: 'event',
      key,
      raw: Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data })),
      behind: behind.map((other) => other.id),
    })
  }

  /** Sends a signed body that is not an event. */
  sendUnusable(): void {
    const raw = Buffer.from(`not an event ${this.deliveries.length + 1}`)
    const id = `sha256:${createHash('sha256').update(raw).digest('hex')}`
    this.#add({ id, kind: 'unusable', key: null, raw, behind: [] })
  }

  /** Sends an earlier delivery again, several times at once. */
  sendAgain(times: number): void {
    if (this.deliveries.length === 0) return
    const delivery = this.#world.random.pick(this.deliveries)
    for (let n = 0; n < times; n += 1) this.#send(delivery, delivery.raw, false)
  }

  /** Sends another body with a known id. */
  sendConflict(): void {
    const events = this.deliveries.filter(({ kind }) => kind === 'event')
    if (events.length === 0) return
    const event = this.#world.random.pick(events)
    this.#send(event, Buffer.from(event.raw.toString().replace('"amount":', '"amount":7')), false)
  }

  /** Sends a body with an invalid signature. */
  sendForged(): void {
    const { random, chronicle, listener } = this.#world
    this.#forged += 1
    const id = `forged_${this.#forged}`
    const raw = Buffer.from(JSON.stringify({ id, type: types[0], created_at: '2026-01-01T00:00:00Z', data: {} }))
    const signature = random.pick([undefined, '', sign(raw, 'another secret'), this.#sign(Buffer.from('other bytes'))])
    void listener()
      ?.deliver(raw, signature)
      .then(({ status }) => {
        if (status !== 401) chronicle.violate(`P2: ${id}, which is forged, got ${status}`)
      })
  }

  #add(given: Omit<Delivery, 'isAcknowledged' | 'failures'>): void {
    const delivery = { ...given, isAcknowledged: false, failures: 0 }
    this.deliveries.push(delivery)
    this.#send(delivery, delivery.raw, true)
  }

  /** Sends one request, and with `isRepeated` the next one after a failure. Requests may overtake each other. */
  #send(delivery: Delivery, raw: Buffer, isRepeated: boolean): void {
    const { random, time, trace, chronicle, listener } = this.#world
    const { id } = delivery
    const bodies = this.bodies.get(id) ?? new Set<string>()
    this.bodies.set(id, bodies.add(raw.toString('hex')))
    const signature = this.#sign(raw)
    let hasEnded = false

    const end = (how: string, isAcknowledged: boolean) => {
      if (hasEnded) return
      hasEnded = true
      late.cancel()
      trace(`sender: ${id} ${how}`)
      delivery.isAcknowledged ||= isAcknowledged
      if (!isRepeated || isAcknowledged) return
      const waitMs = ladderMs[Math.min(delivery.failures, ladderMs.length - 1)]!
      delivery.failures += 1
      time.after(this.#life, waitMs, () => this.#send(delivery, raw, true))
    }

    const late = time.after(this.#life, timeoutMs, () => end('timed out', false))
    time.after(this.#life, this.#latency(), () => {
      const process = listener()
      if (process === undefined) return end('was refused', false)
      process.life.atEnd(() => end('lost its connection', false))
      void process.deliver(raw, signature).then(({ status }) => {
        const isStored = status >= 200 && status < 300
        if (isStored) chronicle.acknowledged(id, process.life)
        if (status !== 200 && status !== 503) chronicle.violate(`P1: ${id} got ${status}`)
        // The response may get lost.
        if (this.#world.faults.isHealed || !random.chance(0.03)) {
          time.after(this.#life, this.#latency(), () => end(`got ${status}`, isStored))
        }
      })
    })
  }

  #sign(raw: Buffer): string {
    return sign(raw, this.#world.secrets[0]!)
  }

  #latency(): number {
    const { random } = this.#world
    return random.chance(0.5) ? 0 : random.next() * this.#slowest
  }
}
