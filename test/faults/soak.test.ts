import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream, type RandomStream } from '../../src/emulator/random.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { counts } from '../counts.ts'
import { checkHistory } from '../support/checks.ts'
import { requeueCrashed } from '../support/dead-letters.ts'
import { toDelivery } from '../support/history.ts'
import { effectsHandler, readEffects, readLedger } from '../support/ledger.ts'
import { eventBytes } from '../support/signed.ts'
import { canMount, has } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { WallClock } from './clock.ts'
import { aDisk } from './disk.ts'
import { historyOf } from './power-loss-check.ts'
import { createStage } from './stage.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

const counter = `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'wallet.*',
  async run(event, ctx) {
    ctx.state.set('events', ((await ctx.state.get('events')) ?? 0) + 1)
  },
})
`

const poisoned = `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.poison',
  retry: { baseMs: 5, capMs: 20, attempts: 3 },
  run() {
    throw new Error('poison')
  },
})
`

const diskSize = '4g'

/** Faults that this machine can't cause, and the tool they need. */
const lacks: ReadonlyMap<string, string> = new Map([
  ...(canMount() ? [] : [['full disk', 'mount'] as const]),
  ...(has('cc') ? [] : [['clock jump', 'cc'] as const]),
])

/** State shared by the faults of one soak. */
async function aSoak(opened: AsyncDisposableStack) {
  const disk = lacks.has('full disk') ? undefined : opened.use(await aDisk(`size=${diskSize}`))
  const stage = opened.use(
    await createStage({
      seed,
      keys: 2_000,
      // Poison events have no effects.
      handlers: {
        'effects.mjs': effectsHandler({ busyMs: 2 }).replace("type: '*'", "type: 'wallet.*'"),
        'counter.mjs': counter,
        'poisoned.mjs': poisoned,
      },
      env: { INBOX_DISK_RESERVE: '0', ...(disk && { INBOX_DATABASE_URL: `sqlite:${disk.file}` }) },
    }),
  )
  const { sidecar } = stage
  const clock = lacks.has('clock jump') ? undefined : await WallClock.create(sidecar.dir)
  return {
    ...stage,
    disk,
    clock,
    databaseFile: disk?.file ?? sidecar.databaseFile,
    start: () => sidecar.start(clock?.env),
    poison: [] as string[],
  }
}

type Soak = Awaited<ReturnType<typeof aSoak>>

/** Applied under load. Each has healed when it resolves. */
const faults: Readonly<Record<string, (soak: Soak, random: RandomStream) => Promise<void>>> = {
  async kill({ sidecar, start }) {
    await sidecar.kill()
    await start()
  },
  async 'kill twice'({ sidecar, clock, start }, random) {
    await sidecar.kill()
    sidecar.launch(clock?.env)
    await wait(random.integer(0, 800))
    await sidecar.kill()
    await start()
  },
  async restart({ sidecar, start }) {
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    await start()
  },
  async 'stand still'({ sidecar }, random) {
    sidecar.signal('SIGSTOP')
    await wait(random.integer(100, 2_000))
    sidecar.signal('SIGCONT')
  },
  async 'full disk'({ disk, sidecar, client }, random) {
    if (disk === undefined) return
    await disk.shrink()
    const before = client.requests.length
    await until(() => client.requests.slice(before).some(({ answer }) => answer === 503), 'deliveries are refused')
    await wait(random.integer(0, 500))
    await disk.remount(`size=${diskSize}`)
    await until(async () => (await fetch(new URL('/readyz', sidecar.url))).status === 200, 'ready again')
  },
  async 'clock jump'({ clock }, random) {
    clock?.set(clock.offsetMs + (random.uniform() < 0.5 ? 1 : -1) * random.integer(60_000, 6 * 3_600_000))
  },
  async poison({ client, poison }) {
    const id = `poison_${poison.length}`
    poison.push(id)
    expect(await client.deliver(toDelivery(eventBytes({ id, type: 'test.poison' }), { id }))).toMatchObject({
      answer: 200,
    })
  },
}

for (const [fault, tool] of lacks) test.skip(`a soak with the fault: ${fault} (needs ${tool})`)

const names = Object.keys(faults).filter((name) => !lacks.has(name))

test.skipIf(counts.soakMs === 0)(
  `a soak of ${counts.soakMs / 1_000} s that rotates ${names.length} faults under load ends with nothing lost, repeated or out of order (SEED=${seed})`,
  async () => {
    const random = createRandomStream(seed, 'soak')
    await using opened = new AsyncDisposableStack()
    const soak = await aSoak(opened)
    const { sidecar, client, load } = soak
    const rotation: string[] = []
    let deck: string[] = []
    const endsAt = performance.now() + counts.soakMs

    await soak.start()
    await soak.acknowledge(100)
    while (performance.now() < endsAt) {
      if (deck.length === 0) deck = shuffled(names, random)
      const name = deck.pop() ?? ''
      rotation.push(name)
      const acknowledged = load.acknowledgements(random.integer(1, 200))
      const sending = load.run()
      await acknowledged
      await faults[name]?.(soak, random).catch((error: unknown) => {
        throw new Error(`SEED=${seed}: ${rotation.join(', ')} failed`, { cause: error })
      })
      load.stop()
      await sending
      await soak.acknowledge(random.integer(1, 100))
      await wait(counts.soakRestMs)
    }
    console.log(`SEED=${seed}: ${rotation.join(', ')}`)

    await load.heal()
    await sidecar.drained()
    const isPoison = (id: string) => id.startsWith('poison_')
    const requeued = await requeueCrashed(sidecar, isPoison)
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

    const { stored, work, missingSeqs } = await readLedger(soak.databaseFile)
    const handled = await readEffects(sidecar.effectsFile)
    // Only poison events have no effects.
    const poison = stored
      .filter(({ id }) => isPoison(id))
      .map(({ id }) => ({ id, attempt: 1, pid: 0, step: 'end' as const }))
    const history = historyOf(sidecar, client)
    const found = checkHistory({ ...history, stored, effects: [...handled, ...poison], requeued })
    expect(found).toEqual([])
    expect(missingSeqs).toBe(0)
    expect(poison.map(({ id }) => id).toSorted()).toEqual(soak.poison.toSorted())
    expect(work.filter(({ id, state }) => (isPoison(id) ? state !== 'dead' : state !== 'done'))).toEqual([])
    expect(await countedIn(soak.databaseFile)).toBe(stored.length - poison.length)
    console.log(`${stored.length} events, ${sidecar.lives.length} lives, ${requeued.size} requeued`)
  },
  counts.soakMs + 1_200_000,
)

/** Number of events that the handler counted in its state. */
async function countedIn(file: string): Promise<number> {
  const inbox = await createSqliteInbox({ file })
  try {
    const [entry] = await inbox.readState('counter', { prefix: 'events', after: null, limit: 1 })
    return Number(entry?.value)
  } finally {
    await inbox.close()
  }
}

function shuffled<T>(items: readonly T[], random: RandomStream): T[] {
  const drawn = items.map((item) => ({ item, at: random.uniform() }))
  return drawn.toSorted((a, b) => a.at - b.at).map(({ item }) => item)
}
