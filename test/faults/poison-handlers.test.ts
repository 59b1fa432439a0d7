import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RunRecord } from '../../src/inbox/port.ts'
import { counts } from '../counts.ts'
import { shortTiming, stageRunner, type RunnerStage } from '../integration/runner-stage.ts'
import { until } from '../support/until.ts'

const innocents = (round: string, count: number = counts.innocentsBesidePoison) =>
  Array.from({ length: count }, (_, index) => ({ id: `${round}_${index}`, data: { workMs: 20 } }))

const outcomesOf = ({ attempts }: RunRecord) => attempts.map(({ outcome, error }) => error?.name ?? outcome)

/** Innocent runs are done, and charged with no more than the one crash that hit them. */
async function expectInnocent(stage: RunnerStage, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    for (const handler of ['poison', 'steady']) {
      const run = await stage.run(id, handler)
      expect(run.state, `${id} for ${handler}`).toBe('done')
      const crashes = outcomesOf(run).slice(0, -1)
      expect(crashes.length, `crashes of ${id} for ${handler}`).toBeLessThanOrEqual(1)
      expect(new Set(crashes)).toEqual(new Set(crashes.length > 0 ? ['handler_crashed'] : []))
      expect(run.attempt).toBe(1 + crashes.length)
    }
  }
}

const threeCrashes = ['handler_crashed', 'handler_crashed', 'handler_crashed']

describe('P9: a handler that is poisoned by one event', () => {
  it.each([
    // deed, outcomes of its attempts, number of replaced threads, reason
    ['hang', ['handler_timeout', 'handler_timeout'], 2, /^handler poison ran on long after its timeout$/],
    ['spin later', threeCrashes, 3],
    ['throw from a timer when done', ['done'], 1],
    ['fill the heap', threeCrashes, 3],
    ['fill buffers', threeCrashes, 3, /^the thread used \d{3,} MB of memory, more than 512 MB$/],
  ] as const)('affects no other event: %s', async (deed, outcomes, replacements, reason = /./) => {
    await using stage = await stageRunner(['poison', 'steady'])
    const before = innocents('before')
    await stage.accept(...before.slice(0, 20), { id: 'guilty', data: { deed } }, ...before.slice(20))

    // Acknowledgements and runs of other keys and handlers continue.
    const during: string[] = []
    await until(
      async () => {
        const more = innocents(`during_${during.length}`, 2)
        await stage.accept(...more)
        // Handlers can keep up with this pace.
        await wait(50)
        during.push(...more.map(({ id }) => id))
        const { state } = await stage.run('guilty', 'poison')
        return (state === 'dead' || state === 'done') && stage.replaced.length >= replacements
      },
      `the verdict on ${deed}`,
      120_000,
    )
    const after = innocents('after', 10)
    await stage.accept(...after)
    await stage.drained()

    const guilty = await stage.run('guilty', 'poison')
    expect(outcomesOf(guilty)).toEqual(outcomes)
    expect(guilty.attempt).toBe(outcomes.length)
    const { data: letters } = await stage.inbox.deadLetters({ limit: 10 })
    expect(letters.map(({ eventId, handler, error }) => [eventId, handler, error.name])).toEqual(
      outcomes[0] === 'done' ? [] : [['guilty', 'poison', outcomes[0]]],
    )
    expect(letters.every(({ crashed }) => crashed === (outcomes[0] === 'handler_crashed' ? 3 : 0))).toBe(true)
    expect(await stage.run('guilty', 'steady')).toMatchObject({ state: 'done' })
    await expectInnocent(stage, [...before, ...after].map(({ id }) => id).concat(during))
    expect(stage.replaced).toEqual(Array(replacements).fill(expect.stringMatching(reason)))
  })

  it('keeps one handler thread, and starts the suspects thread again when needed', async () => {
    await using stage = await stageRunner(['poison', 'steady'])
    const runners = () => stage.threads().filter((name) => name.startsWith('runner'))
    expect(runners()).toEqual(['runner'])
    for (const round of [1, 2]) {
      await stage.accept({ id: `guilty ${round}`, data: { deed: 'exit' } }, ...innocents(`round_${round}`))
      await until(() => stage.threads().includes('runner-suspects'), 'a thread for suspects')
      await until(async () => (await stage.run(`guilty ${round}`, 'poison')).state === 'dead', 'the verdict')
      await stage.drained()
      await until(() => !stage.threads().includes('runner-suspects'), 'its end')
      expect(runners()).toEqual(['runner'])
      expect(stage.replaced).toHaveLength(3 * round)
    }
    await stage.runner.stop(0)
    expect(runners()).toEqual([])
  })

  it('makes dead letters of all guilty runs, and of no others', async () => {
    await using stage = await stageRunner(['poison', 'steady'], { timing: { ...shortTiming, suspectIdleMs: 1_000 } })
    const good = innocents('good')
    const bad = Array.from({ length: counts.poisonedEvents }, (_, index) => ({
      id: `bad_${index}`,
      data: { deed: ['exit', 'unhandled rejection', 'throw from a timer'][index % 3] },
    }))
    await stage.accept(...good.slice(0, 30), ...bad, ...good.slice(30))
    await stage.drained()
    const { data: letters } = await stage.inbox.deadLetters({ limit: 100 })
    expect(letters.map(({ eventId }) => eventId).toSorted()).toEqual(bad.map(({ id }) => id).toSorted())
    for (const { id } of bad) expect(outcomesOf(await stage.run(id, 'poison'))).toEqual(threeCrashes)
    for (const { id } of good) expect(await stage.run(id, 'steady')).toMatchObject({ state: 'done' })
  })
})
