import { readdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HealthJson } from '../../src/admin/health.ts'
import type { Finding } from '../../src/cli/doctor/machine.ts'
import { runCli } from '../support/cli.ts'
import { sqliteUrl, startTestApp, testSecret } from '../support/app.ts'
import { createTempDir } from '../support/temp-dir.ts'

interface Report {
  readonly checks: readonly Finding[]
  readonly health: HealthJson | null
}

const resultsOf = ({ checks }: Report) => Object.fromEntries(checks.map(({ check, result }) => [check, result]))

test('doctor looks at the machine before the first start, and leaves it as it was', async () => {
  await using dir = await createTempDir()
  await mkdir(join(dir.path, 'handlers'))
  writeFileSync(join(dir.path, 'handlers/quiet.mjs'), `export default { type: '*', run() {} }`)
  const env = { INBOX_SECRETS: `main:${testSecret}`, INBOX_PORT: '0', INBOX_ADMIN_PORT: '0' }
  const { code, out, errors } = await runCli(['doctor', '--json'], { cwd: dir.path, env })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const report = JSON.parse(out) as Report
  expect(report.health).toBeNull()
  expect(report.checks.map(({ check }) => check)).toEqual([
    'configuration',
    'versions',
    'clock',
    'folder',
    'file system',
    'disk space',
    'disk speed',
    'database',
    'secrets',
    'handlers',
    'webhook port',
    'admin port',
    'limits',
  ])
  // Each that is not well says what to do.
  for (const { result, advice } of report.checks) expect(advice === null).toBe(result === 'ok')
  expect(readdirSync(dir.path)).toEqual(['handlers'])
})

test('with settings that cannot be used doctor says so, and looks at everything else', async () => {
  await using dir = await createTempDir()
  writeFileSync(join(dir.path, 'onchain-inbox.config.mjs'), `throw new Error('of the config file')`)
  const env = { INBOX_SECRETS: 'short', INBOX_PORT: '99999', INBOX_ADMIN_PORT: '0' }
  const { code, out, errors } = await runCli(['doctor', '--json'], { cwd: dir.path, env })
  expect({ code, errors }).toEqual({ code: 1, errors: '' })
  const report = JSON.parse(out) as Report
  const [configuration] = report.checks
  for (const problem of ['of the config file', 'INBOX_SECRETS must be ', '(got "99999")'])
    expect(configuration?.found).toContain(problem)
  expect(out).not.toContain('"short"')
  expect(resultsOf(report)).toMatchObject({ configuration: 'fail', secrets: 'fail', folder: 'ok', versions: 'ok' })
  expect(report.checks.map(({ check }) => check)).toContain('disk speed')

  const shown = await runCli(['doctor'], { cwd: dir.path, env })
  expect(shown.out).toMatch(/^fail {2}configuration {2}the configuration has 3 problems:\n {21}/)
  expect(shown.out).toMatch(/^ +→ fix it; /m)
  expect(shown.out).toMatch(/^\d failed, \d warnings?, \d+ ok$/m)
})

test('with a config file that cannot be loaded doctor says nothing of secrets, which may be in it', async () => {
  await using dir = await createTempDir()
  writeFileSync(join(dir.path, 'onchain-inbox.config.mjs'), 'export default { INBOX_SECRETS_FILE: }')
  const { code, out } = await runCli(['doctor', '--json'], { cwd: dir.path, env: { INBOX_PORT: '0' } })
  expect(code).toBe(1)
  const report = JSON.parse(out) as Report
  expect(report.checks[0]).toMatchObject({ check: 'configuration', result: 'fail' })
  expect(Object.keys(resultsOf(report))).not.toContain('secrets')
  expect(out).not.toMatch(/webhook secret|admin token/i)
})

test('beside a sidecar doctor asks that for what is in the inbox, and finds its ports and its database in use by it', async () => {
  await using app = await startTestApp({
    settings: { INBOX_DATABASE_URL: sqliteUrl },
    handlers: { 'quiet.mjs': `export default { type: '*', run() {} }` },
  })
  const cwd = app.dir
  const env = {
    INBOX_SECRETS: `main:${testSecret}`,
    INBOX_ADMIN_TOKEN: app.adminToken,
    INBOX_DATABASE_URL: sqliteUrl,
    INBOX_PORT: String(app.port),
    INBOX_ADMIN_PORT: String(app.adminPort),
  }
  expect(await runCli(['handlers', 'pause', '--all'], { cwd, env })).toMatchObject({ code: 0 })
  const { code, out } = await runCli(['doctor', '--json'], { cwd, env })
  const report = JSON.parse(out) as Report
  expect(code).toBe(0)
  expect(report.health).toMatchObject({ paused: true, missing_sequence_numbers: 0 })
  const found = (name: string) => report.checks.find(({ check }) => check === name)
  expect(found('webhook port')).toMatchObject({ result: 'ok', found: expect.stringContaining('a sidecar answers') })
  expect(found('admin port')).toMatchObject({ result: 'ok', found: expect.stringContaining('a sidecar answers') })
  expect(found('database')).toMatchObject({ result: 'ok', found: expect.stringContaining('held by a process') })
  expect(found('inbox')).toMatchObject({ result: 'warn', found: 'paused: all handlers (onchain-inbox handlers list)' })

  // Asked for elsewhere, it is not found.
  const lost = await runCli(['doctor', '--json'], {
    cwd,
    env: { ...env, INBOX_ADMIN_TOKEN: '', INBOX_PORT: '0', INBOX_ADMIN_PORT: '1' },
  })
  expect(lost.code).toBe(1)
  const lostReport = JSON.parse(lost.out) as Report
  expect(lostReport.health).toBeNull()
  expect(lostReport.checks.find(({ check }) => check === 'inbox')).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('a process holds'),
  })
})
