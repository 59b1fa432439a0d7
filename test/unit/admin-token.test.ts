import { mkdtemp, readdir, readFile, rm, stat, chmod, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { adminTokenFile, resolveAdminToken } from '../../src/admin/token-file.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'admin-token-'))
})
afterEach(() => rm(dir, { recursive: true }))

const configOf = (host: string, token?: string) => ({
  admin: { host, port: 0, hosts: [], token, viewerToken: undefined },
  database: { kind: 'sqlite' as const, file: join(dir, 'data', 'inbox.db') },
})

test('a token is generated on loopback, stored next to the database for its owner only, and reused', async () => {
  const config = configOf('127.0.0.1')
  const file = adminTokenFile(config.database.file)
  const first = await resolveAdminToken(config)
  expect(first).toMatch(/^[\w-]{43}$/)
  expect(await readFile(file, 'utf8')).toBe(`${first}\n`)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await chmod(file, 0o644)
  expect(await resolveAdminToken(config)).toEqual(first)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readdir(join(dir, 'data'))).toEqual(['inbox.db.admin-token'])
})

test('concurrent starts use the same token', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => resolveAdminToken(configOf('localhost'))))
  expect(new Set(made).size).toBe(1)
})

test('a configured token is not stored; none is generated beyond loopback or in memory', async () => {
  expect(await resolveAdminToken(configOf('0.0.0.0', 'a-token-that-is-set'))).toBe('a-token-that-is-set')
  for (const config of [configOf('0.0.0.0'), { ...configOf('127.0.0.1'), database: { kind: 'memory' as const } }])
    await expect(resolveAdminToken(config)).rejects.toMatchObject({ code: 'config_invalid' })
  expect(await readdir(dir)).toEqual([])
})

test('the generated token cannot be the viewer token', async () => {
  const config = configOf('127.0.0.1')
  const viewerToken = await resolveAdminToken(config)
  const error = await resolveAdminToken({ ...config, admin: { ...config.admin, viewerToken } }).catch(
    (thrown) => thrown,
  )
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('INBOX_ADMIN_VIEWER_TOKEN') })
  expect(String(error)).not.toContain(viewerToken)
})

test.each(['short\n', 'two words of a token\n', ''])('a token file with %j is rejected', async (text) => {
  const config = configOf('::1')
  await resolveAdminToken(config)
  await writeFile(adminTokenFile(config.database.file), text)
  await expect(resolveAdminToken(config)).rejects.toMatchObject({ code: 'config_invalid' })
})
