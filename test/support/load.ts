import { setTimeout as delay } from 'node:timers/promises'
import { counts } from '../counts.ts'
import { isAcknowledged, toDelivery, type Delivery, type RecordingClient, type RecordedRequest } from './history.ts'

export interface LoadOptions {
  readonly client: RecordingClient
  /** Concurrent requests. */
  readonly workers: number
  readonly keys: number
  /** Numbers in [0, 1). */
  readonly random: () => number
}

/**
 * Traffic of a sender in trouble: new events of many keys, in order per key; duplicates, forged requests, and retries of unacknowledged
 * events after short or long delays.
 */
export class Load {
  readonly #options: LoadOptions
  readonly #acknowledged: Delivery[] = []
  readonly #unsure = new Map<string, Delivery>()
  #events = 0
  #awaited: { left: number; resolve: () => void } | undefined
  #stopped = false

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** Number of events sent at least once. */
  get events(): number {
    return this.#events
  }

  /** Sends until the service ends or `stop` is called. */
  async run(): Promise<void> {
    this.#stopped = false
    await Promise.all(Array.from({ length: this.#options.workers }, (_, worker) => this.#work(worker)))
  }

  stop(): void {
    this.#stopped = true
  }

  /** Resolves after `count` more acknowledgements. */
  acknowledgements(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { left: count, resolve }
    return promise
  }

  /** Resends all unacknowledged events until they are acknowledged. */
  async heal(): Promise<void> {
    while (this.#unsure.size > 0) {
      for (const delivery of this.#unsure.values()) await this.#deliver(delivery)
    }
  }

  async #work(worker: number): Promise<void> {
    while (!this.#stopped) {
      const answers = await this.#step(worker)
      if (answers.some(({ answer }) => answer === 'reset' || answer === 'refused')) return
      if (counts.loadRestMs > 0) await delay(this.#options.random() * counts.loadRestMs)
    }
  }

  async #step(worker: number): Promise<readonly RecordedRequest[]> {
    const { client, random } = this.#options
    const kind = random()
    if (kind < 0.1 && this.#acknowledged.length > 0) return [await this.#deliver(pick(this.#acknowledged, random))]
    if (kind < 0.15 && this.#unsure.size > 0) return [await this.#deliver(pick([...this.#unsure.values()], random))]
    if (kind < 0.2) return [await client.forge(this.#forgery(worker))]
    const event = this.#newEvent(worker)
    if (kind < 0.3) return Promise.all([1, 2, 3].map(() => this.#deliver(event)))
    return [await this.#deliver(event)]
  }

  async #deliver(delivery: Delivery): Promise<RecordedRequest> {
    const request = await this.#options.client.deliver(delivery)
    if (!isAcknowledged(request)) {
      this.#unsure.set(delivery.id, delivery)
      return request
    }
    this.#unsure.delete(delivery.id)
    this.#acknowledged.push(delivery)
    if (this.#awaited !== undefined && --this.#awaited.left <= 0) this.#awaited.resolve()
    return request
  }

  /** Each worker has its own keys, so that the events of a key are sent one after the other. */
  #newEvent(worker: number): Delivery {
    const { keys, workers, random } = this.#options
    const key = worker + workers * Math.floor(random() * Math.ceil(keys / workers))
    const address = `0x${key.toString(16).padStart(40, '0')}`
    const id = `evt_${String(++this.#events).padStart(8, '0')}`
    const data = { wallet_address: address, network: 'ethereum', amount_usd: random() * 1e6 }
    const raw = JSON.stringify({ id, type: 'wallet.large_trade', created_at: '2026-01-31T14:03:22.123Z', data })
    return toDelivery(Buffer.from(raw), { id, key: address })
  }

  /** Bytes with the signature of another event. */
  #forgery(worker: number): Delivery {
    const { raw, signature, key, id } = this.#newEvent(worker)
    const forged = Buffer.from(raw.toString().replace(id, `forged_${id}`))
    return { id: `forged_${id}`, key, raw: forged, signature }
  }
}

function pick<T>(items: readonly [T, ...T[]] | readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T
}
