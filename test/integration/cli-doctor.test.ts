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

/** Runs `doctor --json`, and looks up its findings by check. */
async function doctor(cwd: string, env: Readonly<Record<string, string>>) {
  const { code, out, errors } = await runCli(['doctor', '--json'], { cwd, env })
  expect(errors).toBe('')
  const { checks, health } = JSON.parse(out) as Report
  const found = (name: string) => checks.find(({ check }) => check === name)
  return { code, out, checks, health, names: checks.map(({ check }) => check), found }
}

const quiet = `export default { type: '*', run() {} }`

test('doctor examines the machine before the first start without changing it', async () => {
  await using dir = await createTempDir()
  await mkdir(join(dir.path, 'handlers'))
  writeFileSync(join(dir.path, 'handlers/quiet.mjs'), quiet)
  const env = { INBOX_SECRETS: `main:${testSecret}`, INBOX_PORT: '0', INBOX_ADMIN_PORT: '0' }
  const { code, checks, health, names } = await doctor(dir.path, env)
  expect({ code, health }).toEqual({ code: 0, health: null })
  const machine = 'configuration, versions, clock, folder, file system, disk space, disk speed'
  expect(names.join(', ')).toBe(`${machine}, database, secrets, handlers, webhook port, admin port`)
  expect(checks[1]?.found).toMatch(/Node [\d.]+, SQLite 3/)
  for (const { result, advice } of checks) expect(advice === null).toBe(result === 'ok')
  expect(readdirSync(dir.path)).toEqual(['handlers'])

  // Nothing shows whether a sidecar should run.
  const unknown = await doctor(dir.path, {
    ...env,
    INBOX_DATABASE_URL: 'memory:',
    INBOX_ADMIN_TOKEN: 'a-token-of-the-test',
  })
  expect([unknown.code, unknown.found('inbox')?.result]).toEqual([0, 'warn'])
})

test('doctor reports invalid settings, and runs all other checks', async () => {
  await using dir = await createTempDir()
  writeFileSync(join(dir.path, 'onchain-inbox.config.mjs'), `throw new Error('of the config file')`)
  const env = { INBOX_SECRETS: 'short', INBOX_PORT: '99999', INBOX_ADMIN_PORT: '0' }
  const { code, out, names, found } = await doctor(dir.path, env)
  expect(code).toBe(1)
  for (const problem of ['of the config file', 'INBOX_SECRETS must be ', '(got "99999")'])
    expect(found('configuration')?.found).toContain(problem)
  expect(out).not.toContain('"short"')
  expect(found('configuration')).toMatchObject({ result: 'fail' })
  expect(found('secrets')).toMatchObject({ result: 'fail' })
  expect(names).toContain('disk speed')

  const shown = await runCli(['doctor'], { cwd: dir.path, env })
  expect(shown.out).toMatch(/^fail {2}configuration {2}the configuration has 3 problems:\n {21}/)
  expect(shown.out).toMatch(/^ +→ fix it; /m)
  expect(shown.out).toMatch(/^\d failed, \d warnings?, \d+ ok$/m)

  // A config file that can't be loaded may name the secrets.
  const unknown = await doctor(dir.path, { INBOX_PORT: '0' })
  expect(unknown).toMatchObject({ code: 1, names: expect.not.arrayContaining(['secrets']) })
})

test('doctor asks a running sidecar for the state of the inbox', async () => {
  const settings = { INBOX_DATABASE_URL: sqliteUrl }
  await using app = await startTestApp({ settings, handlers: { 'quiet.mjs': quiet } })
  const env = {
    INBOX_SECRETS: `main:${testSecret}`,
    INBOX_ADMIN_TOKEN: app.adminToken,
    INBOX_DATABASE_URL: sqliteUrl,
    INBOX_PORT: String(app.port),
    INBOX_ADMIN_PORT: String(app.adminPort),
  }
  expect(await runCli(['handlers', 'pause', '--all'], { cwd: app.dir, env })).toMatchObject({ code: 0 })
  const { code, health, found } = await doctor(app.dir, env)
  expect(code).toBe(0)
  expect(health).toMatchObject({ paused: true, missing_sequence_numbers: 0 })
  for (const check of ['webhook port', 'admin port'])
    expect(found(check)).toMatchObject({ result: 'ok', found: expect.stringContaining('a sidecar answers') })
  const paused = 'paused: all handlers (onchain-inbox handlers list)'
  expect(found('inbox')).toMatchObject({ result: 'warn', found: paused })

  const lost = await doctor(app.dir, { ...env, INBOX_ADMIN_TOKEN: '', INBOX_PORT: '0', INBOX_ADMIN_PORT: '1' })
  expect(lost).toMatchObject({ code: 1, health: null })
  expect(lost.found('inbox')).toMatchObject({ result: 'fail', found: expect.stringContaining('a process holds') })
})
