import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream, type RandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { canMount, has } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { WallClock } from './clock.ts'
import { aDisk } from './disk.ts'
import { createStage, seed } from './stage.ts'

const diskSize = '4g'

/** State shared by the faults of one soak. The disk and the clock are missing if this machine can't provide them. */
async function aSoak(opened: AsyncDisposableStack) {
  const disk = canMount() ? opened.use(await aDisk(`size=${diskSize}`)) : undefined
  const env = { INBOX_DISK_RESERVE: '0', ...(disk && { INBOX_DATABASE_URL: `sqlite:${disk.file}` }) }
  const stage = opened.use(await createStage({ keys: 2_000, env }))
  const clock = has('cc') ? await WallClock.create(stage.sidecar.dir) : undefined
  return { ...stage, disk, clock, start: () => stage.sidecar.start(clock?.env) }
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
    await until(() => client.requests.slice(before).some(({ answer }) => answer === 503), 'deliveries are rejected')
    await wait(random.integer(0, 500))
    await disk.remount(`size=${diskSize}`)
    await until(async () => (await fetch(new URL('/readyz', sidecar.url))).status === 200, 'ready again')
  },
  async 'clock jump'({ clock }, random) {
    clock?.set(clock.offsetMs + (random.uniform() < 0.5 ? 1 : -1) * random.integer(60_000, 6 * 3_600_000))
  },
}
const names = Object.keys(faults)

test.skipIf(counts.soakMs === 0)(
  `a soak of ${counts.soakMs / 1_000} s that rotates ${names.length} faults under load ends with nothing lost, repeated or out of order (SEED=${seed})`,
  async () => {
    const random = createRandomStream(seed, 'soak')
    await using opened = new AsyncDisposableStack()
    const soak = await aSoak(opened)
    const { load } = soak
    const rotation: string[] = []
    const endsAt = performance.now() + counts.soakMs

    await soak.start()
    while (performance.now() < endsAt) {
      const name = random.pick(names)
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
    const { findings } = await soak.examine()
    expect(findings).toEqual([])
  },
  counts.soakMs + 1_200_000,
)
