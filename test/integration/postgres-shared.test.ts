import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { ClusterState } from '../../src/inbox/cluster-port.ts'
import { createPostgresInbox, type PostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { loose, ordered } from '../conformance/stage.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'

const silentMs = 500

const server = usePostgres()

let url: string
beforeEach(async () => {
  url = await server.createDatabase()
})

async function join(): Promise<PostgresInbox> {
  const inbox = await createPostgresInbox({ url, clock: systemClock, silentMs })
  onTestFinished(() => inbox.close())
  return inbox
}

test('a database that an earlier version left half moved is refused', async () => {
  await (await join()).close()
  await ask(url, `INSERT INTO inbox.meta (name, value) VALUES ('moving_at', 5)`)
  await expect(join()).rejects.toMatchObject({ code: 'database_corrupt' })
})

test('replicas know which handlers have suspects, without paused ones, and who leads', async () => {
  const [one, other] = [await join(), await join()]
  expect([one.isLeader(), other.isLeader()]).toEqual([true, false])
  let state: ClusterState | undefined
  other.onState((now) => {
    state = now
  })
  await one.register([loose, ordered])
  await ask(
    url,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at) SELECT id, 1, id, 0, 2, 0 FROM inbox.handler`,
  )
  await until(() => state?.suspects.size === 2, 'both have suspects')
  expect([...(state?.suspects ?? [])].toSorted()).toEqual([loose.name, ordered.name].toSorted())
  await one.setPaused(loose.name, true)
  await until(() => state?.suspects.size === 1, 'one is paused')
  expect([...(state?.suspects ?? [])]).toEqual([ordered.name])
  await one.setPaused(null, true)
  await until(() => state?.suspects.size === 0, 'all are paused')
  await one.close()
  await until(() => other.isLeader(), 'the other one leads')
})
