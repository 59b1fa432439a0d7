import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { runCli, type CliResult } from '../support/cli.ts'
import { isAcknowledged } from '../support/history.ts'
import { readLedger } from '../support/ledger.ts'
import { lossesOf } from './power-loss-check.ts'
import { testToken } from '../support/sidecar.ts'
import { createStage, inParallel, seed } from './stage.ts'

interface Report {
  readonly file: string
  readonly events: number
  readonly lastSeq: number
  readonly openRuns: number
}

function reportOf({ code, out, errors }: CliResult): Report {
  expect([code, errors]).toEqual([0, ''])
  return JSON.parse(out) as Report
}

test(`${counts.backups} backups under load and kills are complete; after a restore and a replay, all events are handled (SEED=${seed})`, async () => {
  const random = createRandomStream(seed, 'backups')
  await using stage = await createStage()
  const { sidecar, client, load } = stage
  const cli = (...args: string[]) =>
    runCli([...args, '--json'], {
      cwd: sidecar.dir,
      env: {
        INBOX_DATABASE_URL: `sqlite:${sidecar.databaseFile}`,
        INBOX_SECRETS: 'none-is-needed-here',
        INBOX_ADMIN_TOKEN: testToken,
      },
    })
  const made: Report[] = []

  await sidecar.start()
  await stage.acknowledge(60)
  for (let round = 0; round < counts.backups; round += 1) {
    const sending = load.run()
    const file = join(sidecar.dir, `backup-${round}`)
    const isKilled = round % 3 === 1
    const backup = cli('backup', file)
    if (isKilled) {
      await wait(random.integer(0, 1_000))
      await sidecar.kill()
      await sending
      await wait(random.integer(0, 300))
      await sidecar.start()
    }
    made.push(reportOf(await backup))
    load.stop()
    await sending
    expect(reportOf(await cli('backup', '--verify', file))).toEqual(made.at(-1))
  }
  const sizes = made.map(({ events }) => events)
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
  expect(made.filter(({ events, lastSeq }) => events !== lastSeq)).toEqual([])

  await stage.acknowledge(60)
  await load.heal()
  await sidecar.kill()
  const last = made.at(-1)
  expect(reportOf(await cli('restore', last?.file ?? ''))).toMatchObject({ events: last?.events })

  await sidecar.start()
  await sidecar.log('accepted events are missing')
  await sidecar.log('events lost by restore')
  const doctor = () => cli('doctor', '--admin-url', sidecar.adminUrl)
  expect(await doctor()).toMatchObject({ code: 1, errors: '' })
  const deliveries = client.requests.filter((request) => request.op === 'deliver' && isAcknowledged(request))
  const all = [...new Map(deliveries.map(({ id, delivery }) => [id, delivery])).values()]
  await inParallel(all, async (delivery) => {
    expect(await client.deliver(delivery)).toMatchObject({ answer: 200 })
  })
  await sidecar.drained()
  expect(await cli('doctor', '--acknowledge', '--admin-url', sidecar.adminUrl)).toMatchObject({ code: 0, errors: '' })
  expect(await doctor()).toMatchObject({ code: 0 })
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

  // Accept-sequence numbers are never reused.
  const losses = await lossesOf(sidecar, client)
  expect(losses.filter((loss) => !loss.startsWith('P7: a gap'))).toEqual([])
  const { stored, work } = await readLedger(sidecar.databaseFile)
  expect(new Set(stored.map(({ id }) => id))).toEqual(new Set(all.map(({ id }) => id)))
  expect(work.filter(({ state }) => state !== 'done')).toEqual([])
  console.log(`backups of ${sizes.join(', ')} events; ${stored.length} in the end`)
}, 1_800_000)
