import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { ClusterState } from '../../src/inbox/cluster-port.ts'
import { createPostgresInbox, type PostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { openTarget } from '../../src/inbox/move/target.ts'
import { anEvent, loose, ordered } from '../conformance/stage.ts'
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

const beginMove = `INSERT INTO inbox.meta (name, value) VALUES ('move_id', 7), ('moving_at', 5)`

test('a replica fails for good when a move to its database begins', async () => {
  const inbox = await join()
  await inbox.register([loose])
  const failures: Error[] = []
  inbox.onFailure((error) => failures.push(error))
  const waiting = inbox.claim({ handlers: [loose.name], max: 1, owner: 'worker', suspects: false })
  await ask(url, beginMove)
  await until(() => failures.length > 0, 'it fails')
  const refused = {
    code: 'store_unavailable',
    message: expect.stringContaining('is being moved to this database') as string,
  }
  expect(failures).toEqual([expect.objectContaining(refused)])
  expect(inbox.health()).toMatchObject({ ok: false, reason: refused.message })
  await expect(inbox.accept([anEvent('a')])).rejects.toMatchObject(refused)
  expect(await waiting).toEqual([])
  expect(await inbox.claim({ handlers: [loose.name], max: 1, owner: 'worker', suspects: false })).toEqual([])
  const late: Error[] = []
  inbox.onFailure((error) => late.push(error))
  expect(late).toEqual(failures)
})

test('a replica that joins while a move begins leaves; a move that begins after the join is refused', async () => {
  // A trigger begins the move with the replica's first heartbeat, so the check before the join can't see it.
  await ask(
    url,
    `CREATE FUNCTION inbox.begin_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${beginMove} ON CONFLICT DO NOTHING; RETURN NULL; END $$`,
  )
  await ask(url, `CREATE TRIGGER begin_move AFTER INSERT ON inbox.replica EXECUTE FUNCTION inbox.begin_move()`)
  await expect(join()).rejects.toMatchObject({ code: 'store_unavailable' })
  const target = await openTarget(url)
  onTestFinished(() => target.close())
  await target.refuseServed()
  await ask(url, `DROP TRIGGER begin_move ON inbox.replica`)
  await ask(url, `DELETE FROM inbox.meta WHERE name LIKE 'mov%'`)
  await join()
  await expect(target.refuseServed()).rejects.toMatchObject({ code: 'database_in_use' })
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
