import Sqlite from 'better-sqlite3'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { ask, createSharedDatabase } from '../support/postgres.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { startSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

test('file, exec, sql and email by configuration: each gets every event once, and what handlers enqueue', async () => {
  await using smtp = await startSmtp()
  const warehouse = await createSharedDatabase()
  const sinks = {
    archive: { kind: 'file', path: 'archive/events.ndjson', types: '*' },
    script: { kind: 'exec', command: ['sh', '-c', 'cat >> ran; echo >> ran'], types: '*', concurrency: 1 },
    warehouse: { kind: 'sql', url: warehouse, types: '*' },
    local: { kind: 'sql', url: 'sqlite:local.db', types: '*' },
    desk: { kind: 'email', url: `smtp://localhost:${smtp.port}`, from: 'a@example.com', to: 'b@example.com' },
  }
  const enqueuing = `
    import { defineHandler } from 'onchain-inbox'
    export default defineHandler({ type: 'wallet.*', run(event, ctx) {
      if (event.id === 'evt_1') ctx.enqueue('desk', { text: 'enqueued', subject: event.id })
    } })`
  await using app = await startTestApp({
    settings: { INBOX_SINKS: JSON.stringify(sinks) },
    handlers: { 'enqueuing.mjs': enqueuing },
  })
  const ids = Array.from({ length: 12 }, (_, at) => `evt_${at}`)
  const data = (at: number) => ({ network: 'base', wallet_address: `0x${at % 7}`, amount_usd: at })
  const raws = ids.map((id, at) => eventBytes({ id, data: data(at) }))
  await Promise.all(raws.map((raw) => deliver(app, raw)))
  const stateOf = async (id: string) => (await app.inbox.event(id))?.runs.map(({ state }) => state)
  for (const id of ids) {
    await until(
      async () => (await stateOf(id))?.every((state) => state === 'done') === true,
      `all runs of ${id} are done`,
    )
  }
  await until(() => smtp.mails.length > 0, 'the mail has come')

  const sorted = raws.map(String).toSorted()
  const linesOf = async (name: string) => (await readFile(join(app.dir, name), 'utf8')).trimEnd().split('\n').toSorted()
  expect(await linesOf('archive/events.ndjson')).toEqual(sorted)
  expect(await linesOf('ran')).toEqual(sorted)
  const rows = await ask<{ raw: Buffer }>(warehouse, 'SELECT raw FROM onchain_wallet_large_trade')
  expect(rows.map(({ raw }) => raw.toString()).toSorted()).toEqual(sorted)
  const local = new Sqlite(join(app.dir, 'local.db'), { readonly: true })
  const sum = local.prepare('SELECT sum(amount_usd) FROM onchain_wallet_large_trade').pluck().get()
  local.close()
  expect(sum).toBe((11 * 12) / 2)
  expect(smtp.mails).toHaveLength(1)
  expect(smtp.mails[0]!.headers.get('subject')).toEqual(['evt_1'])
})
