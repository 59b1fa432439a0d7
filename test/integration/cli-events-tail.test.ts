import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { arrivalOf } from '../fixtures/stored-events.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { beginCli, runCli, startCli } from '../support/cli.ts'
import { until } from '../support/until.ts'

const stage = await createAdminStage()
afterAll(() => stage[Symbol.asyncDispose]())

const options = { cwd: tmpdir(), env: stage.env }
const args = (line: string) => ['events', 'tail', ...line.split(' ')]
const idsOf = (out: string) =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: string }).id)

test('R93 events tail prints the newest events in order, with their exact data', async () => {
  const trade = arrivalOf('evt_2')
  const raw = Buffer.from(trade.raw.toString().replace('"amount":1', '"amount_usd":250000.0'))
  await stage.inbox.accept([arrivalOf('evt_1'), { ...trade, raw }, arrivalOf('evt_3', 'token.price_alert')])
  const { code, out, errors } = await runCli(args('-n 2 --json'), options)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(idsOf(out)).toEqual(['evt_2', 'evt_3'])
  expect(out).toContain('"amount_usd":250000.0}')
  expect((await runCli(args('-n 2'), options)).out).toContain(' for $250,000.00')
  const typed = await runCli(args('--type token.price_alert'), options)
  expect(typed.out).toMatch(/^\S+ UTC {2}token\.price_alert .* {2}evt_3\n$/)
})

test('R127 filters by undocumented types and networks, with a note that suggests a known one', async () => {
  const run = (...line: string[]) => runCli(line, options)
  const [list, tail, replay, known] = await Promise.all([
    run('events', 'list', '--type', 'walet.large_trade'),
    run('events', 'tail', '--network', 'etherum'),
    run('replay', '--type', 'walet.large_trade', '--dry-run'),
    run('events', 'list', '--type', 'wallet.large_trade', '--network', 'ethereum', '--limit', '200'),
  ])
  // Warnings of the inbox itself are events, too.
  expect(await run('events', 'tail', '--type', 'inbox.warning')).toMatchObject({ code: 0, errors: '' })
  const ofType = 'note: --type: no documented type is called walet.large_trade (did you mean wallet.large_trade?)\n'
  expect(list).toMatchObject({ code: 0, errors: ofType })
  expect(tail).toMatchObject({
    code: 0,
    out: '',
    errors: 'note: --network: no documented network is called etherum (did you mean ethereum?)\n',
  })
  expect(replay).toMatchObject({ code: 0, errors: ofType })
  expect(known).toMatchObject({ code: 0, errors: '' })
})

test('events tail --follow prints new events, survives a restart of the sidecar, and exits with 0 on SIGINT', async () => {
  const { text, ...tail } = beginCli(args('-n 1 --json --follow'), options)
  await until(() => text.out.includes('\n'), 'the first line')
  await stage.inbox.accept([arrivalOf('evt_4'), arrivalOf('evt_5')])
  await until(() => text.out.includes('evt_5'), 'new events')
  await stage.close()
  await until(() => text.errors.includes('\n'), 'a notice')
  await stage.inbox.accept([arrivalOf('evt_6')])
  await stage.open()
  await until(() => text.out.includes('evt_6'), 'the event of the meantime')
  tail.kill('SIGINT')
  const { code, out, errors } = await tail.ended
  expect(code).toBe(0)
  expect(idsOf(out)).toEqual(['evt_3', 'evt_4', 'evt_5', 'evt_6'])
  expect(errors).toBe('lost the sidecar: reconnecting\nthe sidecar is back\n')
})

test('events tail --follow exits with 0 when its reader is gone', async () => {
  using tail = startCli(args('-n 0 --follow'), options)
  tail.child.stdout.destroy()
  const accept = setInterval(() => void stage.inbox.accept([arrivalOf(`evt_${performance.now()}`)]), 100)
  const { code, errors } = await tail.ended.finally(() => clearInterval(accept))
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
})
