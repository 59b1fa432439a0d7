import { createHmac, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { createTestReceiver } from '../integration/emulator-receiver.ts'
import { ask } from '../integration/emulator-stage.ts'
import { startCli } from '../support/cli.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const rounds = counts.emulatorSendingKills
const controlToken = 'control-token-of-the-kill-test'
const secret = 'whsec_0123456789abcdef'

interface Told {
  readonly seq: number
  readonly event: { readonly id: string }
  readonly audience: string
}

interface Delivery {
  readonly eventId: string
  readonly endpointId: string
  readonly state: string
  readonly attempts: number
}

test(
  `R81–R89 after ${rounds} kill -9 while it sends, each event came to each endpoint: same id and bytes, ladder not begun anew (SEED=${seed})`,
  { timeout: 3_600_000 },
  async () => {
    const random = createRandomStream(seed, 'sending-kill')
    let isHealthy = false
    // Every other answer of one of the two is an error, until the end.
    await using flaky = await createTestReceiver((response, _request, index) => {
      response.writeHead(isHealthy || index % 2 === 0 ? 200 : 500).end()
    })
    await using good = await createTestReceiver((response) => response.writeHead(200).end())
    await using dir = await createTempDir()
    await writeFile(
      join(dir.path, 'seed.yaml'),
      `
world: { seed: kill, history: 1h, activity: 8 }
clock: { mode: scaled, speed: 600 }
controlToken: ${controlToken}
accounts:
  - name: desk
    webhooks:
      - { url: '${flaky.url}', events: ['*'], secret: ${secret} }
      - { url: '${good.url}', events: ['*'], secret: ${secret} }
`,
    )
    const output = new ProcessOutput()
    const start = async () => {
      const args = [
        'emulator',
        '--port',
        '0',
        '--json',
        '--seed-file',
        'seed.yaml',
        '--data',
        'e.db',
        '--duplicates',
        '0',
      ]
      const process = startCli(args, { cwd: dir.path })
      output.attach(process.child)
      const { url } = await output.waitFor(({ msg }) => msg === 'listening', 'the emulator to listen', 60_000)
      const control = async (method: string, path: string, body?: unknown) => {
        const headers = { Authorization: `Bearer ${controlToken}`, 'Content-Type': 'application/json' }
        const answer = await ask(`${String(url)}/_emulator${path}`, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300)
        return answer.json.data
      }
      return { process, control }
    }

    let firstSeq = 0
    for (let round = 0; round < rounds; round++) {
      const { process, control } = await start()
      using _killedAtTheEnd = process
      if (round === 0) firstSeq = ((await control('GET', '/events?order=newest&limit=1')) as Told[])[0]?.seq ?? 0
      const enough = good.requests.length + random.integer(20, 120)
      await until(() => good.requests.length >= enough, 'events to be sent', 60_000)
      process.child.kill('SIGKILL')
      await process.ended
    }

    isHealthy = true
    const { process, control } = await start()
    using _killedAtTheEnd = process
    await control('POST', '/world/activity', { factor: 0 })
    await control('POST', '/clock', { mode: 'manual' })
    await control('POST', '/clock/advance', { ms: 11 * 3_600_000 })
    expect(await control('GET', '/deliveries/counts')).toMatchObject({ pending: 0, inFlight: 0 })

    const told = await all<Told>(
      (after) => control('GET', `/events?limit=1000&after=${after ?? 0}`),
      ({ seq }) => seq,
    )
    const made = await all<Delivery & { deliveryId: string }>(
      (after) => control('GET', `/deliveries?limit=1000${after === undefined ? '' : `&after=${after}`}`),
      ({ deliveryId }) => deliveryId,
    )
    const wanted = told.filter(({ seq, audience }) => seq > firstSeq && audience === 'all').map(({ event }) => event.id)
    expect(wanted.length).toBeGreaterThan(rounds * 20)
    const known = new Map(told.map(({ event }) => [event.id, JSON.stringify(event)]))
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
    // One delivery for each endpoint, whatever was killed in between, and none beyond the ladder.
    expect(new Set(made.map(({ eventId, endpointId }) => `${eventId} ${endpointId}`)).size).toBe(made.length)
    expect(made.filter(({ state, attempts }) => state !== 'acknowledged' || attempts > 6)).toEqual([])
    console.log(
      `${wanted.length} events, ${flaky.requests.length + good.requests.length} requests for ${made.length} deliveries`,
    )
    process.child.kill('SIGTERM')
    expect(await process.ended).toMatchObject({ code: 0, errors: '' })
  },
)

/** All pages of a list; each goes on after the last item of the one before. */
async function all<T>(
  page: (after?: number | string) => Promise<unknown>,
  keyOf: (item: T) => number | string,
): Promise<T[]> {
  const items: T[] = []
  for (;;) {
    const last = items.at(-1)
    const found = (await page(last === undefined ? undefined : keyOf(last))) as T[]
    items.push(...found)
    if (found.length < 1000) return items
  }
}
