import type { ReplayFilter } from '../../src/inbox/port.ts'
import type { Process } from './process.ts'
import { lateNames } from './roles.ts'
import type { Simulation } from './simulation.ts'

interface Step {
  /** Frequency relative to the other steps. */
  readonly weight: number
  take(simulation: Simulation): void
}

/** Runs an operator action in the current process, if any. Ignores errors: a failed action may have been carried out. */
function operate(simulation: Simulation, work: (inbox: Process['inbox'], process: Process) => Promise<unknown>): void {
  const { process } = simulation
  if (process !== undefined && !process.life.hasEnded) work(process.inbox, process).catch(() => {})
}

/** Steps that may happen at any moment. Each seed enables only some of them. */
export const steps = {
  'send an event': { weight: 20, take: ({ sender }) => sender.sendNew() },
  'send a burst': {
    weight: 5,
    take({ sender, random }) {
      for (let count = random.integer(2, 6); count > 0; count -= 1) sender.sendNew()
    },
  },
  'send again': { weight: 6, take: ({ sender }) => sender.sendAgain(1) },
  'send again at once': { weight: 3, take: ({ sender, random }) => sender.sendAgain(random.integer(2, 5)) },
  'send another body': { weight: 2, take: ({ sender }) => sender.sendConflict() },
  'send an unusable body': { weight: 1, take: ({ sender }) => sender.sendUnusable() },
  'send a forgery': { weight: 2, take: ({ sender }) => sender.sendForged() },
  'let time pass': { weight: 6, take: (simulation) => simulation.rest(simulation.random.integer(50, 800)) },
  'set the clock forward': { weight: 1, take: ({ time }) => time.setWall(2 * 3_600_000) },
  'set the clock back': { weight: 1, take: ({ time, random }) => time.setWall(-random.pick([900, 5_000, 86_400_000])) },
  pause: {
    weight: 2,
    take(simulation) {
      const which = simulation.random.pick([...simulation.handlerNames, null])
      operate(simulation, async (inbox, process) => {
        await inbox.setPaused(which, true)
        process.recall(which)
      })
    },
  },
  resume: {
    weight: 2,
    take(simulation) {
      const which = simulation.random.pick([...simulation.handlerNames, null])
      operate(simulation, (inbox) => inbox.setPaused(which, false))
    },
  },
  'requeue all': { weight: 2, take: (simulation) => operate(simulation, (inbox) => inbox.requeueDead('all')) },
  'requeue one': {
    weight: 2,
    take(simulation) {
      const dead = simulation.chronicle.dead
      if (dead.length === 0) return
      const { row } = simulation.random.pick(dead)
      operate(simulation, (inbox) => inbox.requeueDead([row.id]))
    },
  },
  replay: {
    weight: 3,
    take(simulation) {
      const { random, chronicle, handlerNames } = simulation
      const known = ['unknown', ...chronicle.events.keys()]
      const ids = Array.from({ length: random.integer(1, 5) }, () => random.pick(known))
      const filter = random.pick<ReplayFilter>([
        { ids },
        { handler: random.pick(handlerNames) },
        { ids, handler: random.pick(handlerNames) },
        { status: random.pick(['done', 'dead', 'pending', 'expired']) },
        { from: 0 },
      ])
      const replay = { filter, perSecond: random.pick([null, null, 5, 100]), newKeys: random.chance(0.3) }
      operate(simulation, (inbox) => inbox.startReplay(replay))
    },
  },
  'cancel a replay': {
    weight: 2,
    take(simulation) {
      const replays = [...simulation.chronicle.replays]
      const running = replays.filter(([, { state }]) => state === 'running')
      if (replays.length === 0) return
      const [id] = simulation.random.pick(running.length > 0 ? running : replays)
      operate(simulation, async (inbox, process) => {
        await inbox.cancelReplay(id)
        process.recall(null)
      })
    },
  },
  prune: {
    weight: 2,
    take(simulation) {
      const { random, time, life } = simulation
      const receivedBefore = time.clock(life, random).now() - random.pick([0, 200, 1_000])
      const limits = random.chance(0.7) ? { receivedBefore, maxBytes: null } : { receivedBefore: null, maxBytes: 1 }
      operate(simulation, (inbox) => inbox.prune(limits))
    },
  },
  'drop dead letters': {
    weight: 1,
    take(simulation) {
      const { dead } = simulation.chronicle
      if (dead.length === 0) return
      const { row } = simulation.random.pick(dead)
      const which = simulation.random.chance(0.3) ? 'all' : [row.id]
      operate(simulation, (inbox) => inbox.dropDead(which, 'unneeded'))
    },
  },
  'deploy a handler': {
    weight: 1,
    take({ random, handlerNames, process }) {
      const name = random.pick(lateNames)
      if (handlerNames.includes(name)) return
      handlerNames.push(name)
      void process?.stop()
    },
  },
  'kill the process': { weight: 2, take: ({ process }) => process?.life.end() },
  'stop the process': { weight: 1, take: ({ process }) => void process?.stop() },
  'kill a thread': { weight: 3, take: ({ process, random }) => process?.killThread(random.pick(['all', 'suspects'])) },
  'let the disk fail': {
    weight: 2,
    take({ faults, time, random, life }) {
      faults.setOutage(random.pick(['busy', 'full', 'failed']))
      time.after(life, random.integer(10, 3_000), () => faults.setOutage(undefined))
    },
  },
} as const satisfies { [name: string]: Step }

export type StepName = keyof typeof steps

/** Steps that every seed enables. */
const always: ReadonlySet<StepName> = new Set(['send an event', 'let time pass'])

/** Chooses the steps of one seed. Returns the weight of each step; 0: disabled. */
export function chooseSteps({ random }: Pick<Simulation, 'random'>): { [name in StepName]: number } {
  const names = Object.keys(steps) as StepName[]
  return Object.fromEntries(
    names.map((name) => [name, always.has(name) || random.chance(0.6) ? steps[name].weight : 0]),
  ) as { [name in StepName]: number }
}
