import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { ask, type Answer } from '../integration/emulator-stage.ts'
import { startCli, type CliProcess } from '../support/cli.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { createTempDir } from '../support/temp-dir.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const rounds = 6
const apiKey = 'sk_api-key-of-the-kill-test'
const controlToken = 'control-token-of-the-kill-test'
const seedFile = `
world: { seed: kill, history: 1h }
clock: { mode: scaled, speed: 1200 }
controlToken: ${controlToken}
accounts:
  - { name: desk, plan: unlimited, keys: [{ name: first, key: ${apiKey}, scopes: all }] }
`

interface SeenEvent {
  readonly seq: number
}

/** What was answered, over all lives of the process. */
class Answered {
  readonly webhooks = new Set<string>()
  readonly removed = new Set<string>()
  readonly alerts = new Set<string>()
  readonly keys = new Map<string, string>()
  readonly events = new Map<number, string>()
  now = ''
}

async function startEmulator(cwd: string, output: ProcessOutput): Promise<{ process: CliProcess; url: string }> {
  const args = ['emulator', '--port', '0', '--json', '--seed-file', 'seed.yaml', '--data', 'emulator.db']
  const process = startCli(args, { cwd })
  output.attach(process.child)
  const { url } = await output.waitFor(({ msg }) => msg === 'listening', 'the emulator to listen', 60_000)
  return { process, url: String(url) }
}

function clientOf(url: string) {
  const send = (token: string, path: string, method: string, body?: unknown): Promise<Answer> =>
    ask(`${url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  return {
    rest: (method: string, path: string, body?: unknown) => send(apiKey, `/v1${path}`, method, body),
    control: (method: string, path: string, body?: unknown) => send(controlToken, `/_emulator${path}`, method, body),
  }
}

type Client = ReturnType<typeof clientOf>

test(`kill -9 loses nothing that was answered, and events keep their ids and bytes (SEED=${seed})`, async () => {
  await using dir = await createTempDir()
  await writeFile(join(dir.path, 'seed.yaml'), seedFile)
  const random = createRandomStream(seed, 'emulator-kill')
  const output = new ProcessOutput()
  const answered = new Answered()

  for (let round = 0; round < rounds; round++) {
    const { process, url } = await startEmulator(dir.path, output)
    using _killedAtTheEnd = process
    const client = clientOf(url)
    await check(client, answered)
    const requests = random.integer(3, 25)
    for (let n = 0; n < requests; n++) await doSomething(client, answered, random.uniform())
    // In the middle of the last one.
    const last = doSomething(client, answered, random.uniform()).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, random.integer(0, 8)))
    process.child.kill('SIGKILL')
    await Promise.all([last, process.ended])
  }

  const { process, url } = await startEmulator(dir.path, output)
  using _killedAtTheEnd = process
  await check(clientOf(url), answered)
  expect(answered.webhooks.size + answered.alerts.size + answered.keys.size).toBeGreaterThan(5)
  expect(answered.events.size).toBeGreaterThan(20)
  process.child.kill('SIGTERM')
  expect(await process.ended).toMatchObject({ code: 0, errors: '' })
})

async function doSomething({ rest, control }: Client, answered: Answered, chance: number): Promise<void> {
  if (chance < 0.2) {
    const body = { url: 'http://127.0.0.1:9/', events: ['pump.graduation'] }
    const { status, json } = await rest('POST', '/webhooks', body)
    if (status === 201) answered.webhooks.add(json.data.webhook_id)
  } else if (chance < 0.25) {
    const [id] = answered.webhooks
    if (id === undefined) return
    // Whether it was done is not known if no answer comes.
    answered.webhooks.delete(id)
    if ((await rest('DELETE', `/webhooks/${id}`)).status === 200) answered.removed.add(id)
  } else if (chance < 0.45) {
    const { address, network } = (await control('GET', '/world')).json.data.newestTokens[0]
    const body = { type: 'price_above', address, network, threshold: 1e12, webhook_url: 'https://localhost/' }
    const { status, json } = await rest('POST', '/alerts', body)
    if (status === 201) answered.alerts.add(json.data.alert_id)
  } else if (chance < 0.55) {
    const { json } = await control('POST', '/keys', { account: 'desk', name: 'k', scopes: 'all' })
    answered.keys.set(json.data.keyId, json.data.value)
  } else if (chance < 0.75) {
    await control('POST', '/world/story', { story: chance < 0.65 ? 'scam' : 'crash' })
  } else if (chance < 0.9) {
    await control('POST', '/trigger', { type: 'wallet.large_trade' })
  } else {
    const { json } = await control('GET', '/clock')
    answered.now = json.data.now
  }
  await noteEvents({ rest, control }, answered)
}

async function noteEvents({ control }: Client, answered: Answered): Promise<void> {
  const after = Math.max(0, answered.events.size - 5)
  const { data } = (await control('GET', `/events?limit=1000&after=${after}`)).json as { data: SeenEvent[] }
  for (const event of data) answered.events.set(event.seq, JSON.stringify(event))
}

async function check({ rest, control }: Client, answered: Answered): Promise<void> {
  const webhooks = (await rest('GET', '/webhooks?limit=100')).json.data as { webhook_id: string }[]
  const ids = new Set(webhooks.map(({ webhook_id }) => webhook_id))
  expect([...answered.webhooks].filter((id) => !ids.has(id))).toEqual([])
  expect([...answered.removed].filter((id) => ids.has(id))).toEqual([])
  const alerts = (await rest('GET', '/alerts?limit=100')).json.data as { alert_id: string }[]
  const alertIds = new Set(alerts.map(({ alert_id }) => alert_id))
  expect([...answered.alerts].filter((id) => !alertIds.has(id))).toEqual([])
  const accounts = (await control('GET', '/accounts')).json.data as { keys: { keyId: string }[] }[]
  const keyIds = new Set(accounts.flatMap(({ keys }) => keys.map(({ keyId }) => keyId)))
  expect([...answered.keys.keys()].filter((id) => !keyIds.has(id))).toEqual([])
  expect((await control('GET', '/clock')).json.data.now >= answered.now).toBe(true)
  for (let after = 0; after < answered.events.size; after += 1000) {
    const { data } = (await control('GET', `/events?limit=1000&after=${after}`)).json as { data: SeenEvent[] }
    for (const event of data) {
      const known = answered.events.get(event.seq)
      if (known !== undefined) expect(JSON.stringify(event)).toBe(known)
    }
    expect(data.length).toBeGreaterThanOrEqual(Math.min(1000, answered.events.size - after))
  }
}
