import type { WorkPort } from '../../src/inbox/port.ts'
import type { Chronicle } from './chronicle.ts'
import type { Faults } from './faults.ts'
import type { Life } from './life.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './time.ts'

type Calls = Pick<WorkPort, 'claim' | 'readState' | 'settle' | 'retire' | 'release'>

export interface BridgeWorld {
  readonly random: Random
  readonly time: VirtualTime
  readonly faults: Faults
  readonly chronicle: Chronicle
}

/**
 * The inbox as a thread of handlers reaches it: by messages, which take their time but do not overtake each other. What a thread sent
 * before it died arrives all the same; what was to be answered to it does not.
 */
export function bridge(inbox: Calls, world: BridgeWorld, thread: Life, process: Life): Calls {
  const { random, time, faults, chronicle } = world
  const slowest = random.pick([0, 2, 30, 300])
  const there = createLine(process)
  const back = createLine(thread)

  function createLine(life: Life): (deliver: () => void) => void {
    let lastAt = 0
    return (deliver) => {
      const latency = random.chance(0.6) ? 0 : random.next() * slowest
      lastAt = Math.max(lastAt, time.elapsed + latency)
      time.after(life, lastAt - time.elapsed, deliver)
    }
  }

  function call<R>(name: string, work: () => Promise<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (faults.point(`before it sends ${name}`, thread, process)) return
      there(() => {
        work().then(
          (result) => {
            if (process.hasEnded || faults.point(`before the answer to ${name}`, thread, process)) return
            back(() => resolve(result))
          },
          (error: Error) => {
            if (!process.hasEnded) back(() => reject(error))
          },
        )
      })
    })
  }

  return {
    claim: (request) => call('claim', () => inbox.claim(request)),
    readState: (handler, query) => call('readState', () => inbox.readState(handler, query)),
    retire: (owner) => call('retire', () => inbox.retire(owner)),
    release: (leases) => call('release', () => inbox.release(leases)),
    settle: (outcomes) =>
      call('settle', async () => {
        const results = await inbox.settle(outcomes)
        if (!process.hasEnded) outcomes.forEach((outcome, index) => chronicle.settled(outcome, results[index]!))
        return results
      }),
  }
}
