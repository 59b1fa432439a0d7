import { expect, test } from 'vitest'
import { arrivalOf, createDeadLetters, quarantinedOf } from '../fixtures/stored-events.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'

test('bulk commands act on the filtered items, and only count with --dry-run', { timeout: 120_000 }, async () => {
  await using dir = await createTempDir()
  await using stage = await createAdminStage()
  const { inbox, env } = stage
  await createDeadLetters(inbox, ['evt_1', 'evt_2'], 'no pair 17')
  await createDeadLetters(inbox, ['evt_3'], 'gone')
  const odd = { ...quarantinedOf(Buffer.from('odd')), reason: 'no_type' }
  await inbox.accept([quarantinedOf(Buffer.from('{')), odd, arrivalOf('evt_4', 'token.price_alert')])
  const run = (...args: string[]) => runCli(args, { cwd: dir.path, env })
  const say = async (...args: string[]) => (await run(...args)).out.trim()
  const left = async () => [(await inbox.stats()).handlers[0]?.dead, (await inbox.stats()).quarantined]

  const pair = ['--group', 'TerminalError: no pair #']
  const counted = await Promise.all([
    say('dead', 'requeue', ...pair, '--dry-run'),
    say('dead', 'drop', '--handler', 'trades', '--reason', 'x', '--dry-run'),
    say('quarantine', 'retry', '--all', '--dry-run'),
    say('quarantine', 'drop', '--only', 'no_type', '--reason', 'a test', '--dry-run'),
  ])
  expect(counted).toEqual([
    '2 runs would run again',
    '3 runs would be dropped',
    expect.stringMatching(/^0 events would be accepted; 2 still not valid:/),
    '1 body would be removed',
  ])
  expect(await left()).toEqual([3, 2])

  const acted = await Promise.all([
    say('dead', 'requeue', ...pair),
    say('quarantine', 'drop', '--only', 'no_type', '--reason', 'a test'),
    run('dead', 'requeue', '17', '--all'),
    run('quarantine', 'drop', 'sha256:00', '--reason', 'a test'),
  ])
  const usage = expect.objectContaining({ code: 1, errors: expect.stringMatching(/^usage: expected exactly one of: /) })
  const none = expect.objectContaining({ code: 1, out: '0 bodies were removed\n' })
  expect(acted).toEqual(['2 runs will run again', '1 body was removed', usage, none])
  expect(await left()).toEqual([1, 1])

  const [dead, noDead, quarantine, found] = await Promise.all([
    say('dead', 'list', '--type', 'wallet.large_trade', '--handler', 'trades'),
    say('dead', 'list', '--handler', 'nobody'),
    say('quarantine', 'list', '--reason', 'no_type'),
    say('events', 'list', '--q', 'evt_4'),
  ])
  expect(dead).toContain('evt_3')
  expect([noDead, quarantine]).toEqual(['no dead letters', 'quarantine is empty'])
  expect(found).toContain('token.price_alert')
  expect(found).not.toContain('evt_3')
})
