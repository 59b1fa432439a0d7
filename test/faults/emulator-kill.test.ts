import { createHmac, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { createTestReceiver } from '../integration/emulator-receiver.ts'
import { ask, type Answer } from '../integration/emulator-stage.ts'
import { startCli } from '../support/cli.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const rounds = counts.emulatorSendingKills
const apiKey = 'sk_api-key-of-the-kill-test'
const controlToken = 'control-token-of-the-kill-test'
const secret = 'whsec_0123456789abcdef'

const seedFile = (urls: readonly string[]) => `
world: { seed: kill, history: 1h, activity: 4 }
clock: { mode: scaled, speed: 300 }
controlToken: ${controlToken}
accounts:
  - name: desk
    plan: unlimited
    keys: [{ name: first, key: ${apiKey}, scopes: all }]
    webhooks: [${urls.map((url) => `{ url: '${url}', events: ['*'], secret: ${secret} }`).join()}]
`

interface StoredEvent {
  readonly seq: number
  readonly event: { readonly id: string }
  readonly audience: string
}

interface Delivery {
  readonly deliveryId: string
  readonly eventId: string
  readonly endpointId: string
  readonly url: string
  readonly state: string
  readonly attempts: number
}

/** Confirmed by a response, over all lives of the process. */
class Confirmed {
  readonly webhooks = new Set<string>()
  readonly alerts = new Set<string>()
  readonly events = new Map<number, string>()
}

async function startEmulator(cwd: string, output: ProcessOutput) {
  const files = ['--seed-file', 'seed.yaml', '--data', 'emulator.db']
  const process = startCli(['emulator', '--port', '0', '--json', '--duplicates', '0', ...files], { cwd })
  output.attach(process.child)
  const { url } = await output.waitFor(({ msg }) => msg === 'listening', 'the emulator to listen', 120_000)
  const send = (token: string, path: string, method: string, body?: unknown): Promise<Answer> =>
    ask(`${String(url)}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return {
    process,
    rest: (method: string, path: string, body?: unknown) => send(apiKey, `/v1${path}`, method, body),
    control: (method: string, path: string, body?: unknown) => send(controlToken, `/_emulator${path}`, method, body),
  }
}

type Client = Pick<Awaited<ReturnType<typeof startEmulator>>, 'rest' | 'control'>

async function doSomething({ rest, control }: Client, confirmed: Confirmed, chance: number): Promise<void> {
  if (chance < 0.4) {
    const { status, json } = await rest('POST', '/webhooks', {
      url: 'http://127.0.0.1:9/',
      events: ['pump.graduation'],
    })
    if (status === 201) confirmed.webhooks.add(json.data.webhook_id)
  } else if (chance < 0.7) {
    const { address, network } = (await control('GET', '/world')).json.data.newestTokens[0]
    const body = { type: 'price_above', address, network, threshold: 1e12, webhook_url: 'https://localhost/' }
    const { status, json } = await rest('POST', '/alerts', body)
    if (status === 201) confirmed.alerts.add(json.data.alert_id)
  } else {
    await control('POST', '/world/story', { story: chance < 0.85 ? 'scam' : 'crash' })
  }
  const after = Math.max(0, Math.max(0, ...confirmed.events.keys()) - 5)
  const { data } = (await control('GET', `/events?limit=1000&after=${after}`)).json as { data: StoredEvent[] }
  for (const event of data) confirmed.events.set(event.seq, JSON.stringify(event))
}

async function expectConfirmed({ rest, control }: Client, confirmed: Confirmed): Promise<readonly StoredEvent[]> {
  const idsOf = async (path: string, member: string) => {
    const { json } = await rest('GET', `${path}?limit=100`)
    return new Set((json.data as Record<string, string>[]).map((item) => item[member]))
  }
  const [webhooks, alerts] = [await idsOf('/webhooks', 'webhook_id'), await idsOf('/alerts', 'alert_id')]
  expect([...confirmed.webhooks].filter((id) => !webhooks.has(id))).toEqual([])
  expect([...confirmed.alerts].filter((id) => !alerts.has(id))).toEqual([])
  const stored = await readAll<StoredEvent>(control, '/events', ({ seq }) => seq)
  const bySeq = new Map(stored.map((event) => [event.seq, JSON.stringify(event)]))
  expect([...confirmed.events].filter(([seq, text]) => bySeq.get(seq) !== text)).toEqual([])
  return stored
}

/** All pages of a list of the control API. */
async function readAll<T>(control: Client['control'], path: string, keyOf: (item: T) => number | string): Promise<T[]> {
  const items: T[] = []
  for (;;) {
    const last = items.at(-1)
    const { data } = (await control('GET', `${path}?limit=1000${last === undefined ? '' : `&after=${keyOf(last)}`}`))
      .json
    items.push(...(data as T[]))
    if ((data as T[]).length < 1000) return items
  }
}

test(
  `R81–R89 ${rounds} times kill -9 lose nothing confirmed; each event reaches each endpoint with the same id and bytes (SEED=${seed})`,
  { timeout: 3_600_000 },
  async () => {
    const random = createRandomStream(seed, 'emulator-kill')
    let isHealthy = false
    // Every other answer of one receiver is an error, until the end.
    await using flaky = await createTestReceiver((index) => ({ status: isHealthy || index % 2 === 0 ? 200 : 500 }))
    await using good = await createTestReceiver(() => ({ status: 200 }))
    await using dir = await createTempDir()
    await writeFile(join(dir.path, 'seed.yaml'), seedFile([flaky.url, good.url]))
    const output = new ProcessOutput()
    const confirmed = new Confirmed()
    let firstSeq = 0
    for (let round = 0; round < rounds; round++) {
      const { process, ...client } = await startEmulator(dir.path, output)
      using _killedAtTheEnd = process
      if (round === 0) firstSeq = (await client.control('GET', '/events?order=newest&limit=1')).json.data[0]?.seq ?? 0
      await expectConfirmed(client, confirmed)
      const enough = good.requests.length + random.integer(20, 60)
      for (let left = random.integer(5, 15); left > 0; left--) await doSomething(client, confirmed, random.uniform())
      await until(() => good.requests.length >= enough, 'events to be sent', 120_000)
      // The kill hits a request in progress.
      const last = doSomething(client, confirmed, random.uniform()).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, random.integer(0, 8)))
      process.child.kill('SIGKILL')
      await Promise.all([last, process.ended])
    }

    isHealthy = true
    const { process, ...client } = await startEmulator(dir.path, output)
    using _killedAtTheEnd = process
    const { control } = client
    await control('POST', '/world/activity', { factor: 0 })
    await control('POST', '/clock', { mode: 'manual' })
    await control('POST', '/clock/advance', { ms: 11 * 3_600_000 })
    expect((await control('GET', '/deliveries/counts')).json.data).toMatchObject({ pending: 0, inFlight: 0 })

    const stored = await expectConfirmed(client, confirmed)
    const wanted = stored
      .filter(({ seq, audience }) => seq > firstSeq && audience === 'all')
      .map(({ event }) => event.id)
    expect(wanted.length).toBeGreaterThan(rounds * 15)
    const known = new Map(stored.map(({ event }) => [event.id, JSON.stringify(event)]))
    for (const receiver of [flaky, good]) {
      const bytes = new Map<string, string>()
      for (const { body, headers } of receiver.requests) {
        const event = JSON.parse(body.toString()) as { readonly id: string }
        expect(JSON.stringify(event)).toBe(known.get(event.id))
        expect(bytes.get(event.id) ?? body.toString()).toBe(body.toString())
        expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
        bytes.set(event.id, body.toString())
      }
      expect(wanted.filter((id) => !bytes.has(id))).toEqual([])
    }
    // One delivery per event and endpoint, each within the ladder.
    const deliveries = await readAll<Delivery>(control, '/deliveries', ({ deliveryId }) => deliveryId)
    expect(new Set(deliveries.map(({ eventId, endpointId }) => `${eventId} ${endpointId}`)).size).toBe(
      deliveries.length,
    )
    const toReceivers = deliveries.filter(({ url }) => [flaky.url, good.url].includes(url))
    expect(toReceivers.filter(({ state, attempts }) => state !== 'acknowledged' || attempts > 6)).toEqual([])
    process.child.kill('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0, errors: '' })
  },
)
