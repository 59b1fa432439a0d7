import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createConsolePages } from '../../src/admin/server.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { startAdmin } from './admin-server.ts'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const large = `export const text = '${'x'.repeat(5_000)}'`

/** The admin side with a built console of two files. */
async function startWithConsole() {
  const dir = await createTempDir()
  await mkdir(join(dir.path, 'assets'))
  await writeFile(join(dir.path, 'index.html'), '<!doctype html><title>console</title>')
  await writeFile(join(dir.path, 'assets/index-Ab1.js'), 'export {}')
  await writeFile(join(dir.path, 'assets/large-Ab1.js'), large)
  const stage = await startAdmin({ more: { pages: await createConsolePages(dir.path) } })
  return {
    ...stage,
    async [Symbol.asyncDispose]() {
      await stage[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

test('the files of the console need no credential, and are served with a policy that allows its own alone', async () => {
  await using stage = await startWithConsole()
  for (const [path, text, caching] of [
    ['/', '<!doctype html><title>console</title>', 'no-cache'],
    ['/?x=1', '<!doctype html><title>console</title>', 'no-cache'],
    ['/index.html', '<!doctype html><title>console</title>', 'no-cache'],
    ['/assets/index-Ab1.js', 'export {}', 'public, max-age=31536000, immutable'],
  ] as const) {
    const reply = await stage.send(path)
    expect([path, reply.status, reply.text]).toEqual([path, 200, text])
    expect(reply.headers).toMatchObject({
      'cache-control': caching,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    const head = await stage.send(path, { method: 'HEAD' })
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(text.length)])
  }
})

test('a large file goes packed to whom takes gzip, and as it is to all others', async () => {
  await using stage = await startWithConsole()
  const path = '/assets/large-Ab1.js'
  const sizeFor = async (encoding?: string) => {
    const headers = encoding === undefined ? {} : { 'Accept-Encoding': encoding }
    const head = await stage.send(path, { method: 'HEAD', headers })
    expect(head.headers['vary']).toBe('Accept-Encoding')
    return [head.headers['content-encoding'], Number(head.headers['content-length']) < large.length]
  }
  for (const taking of ['gzip', 'br, GZIP;q=0.5', 'deflate,gzip '])
    expect(await sizeFor(taking)).toEqual(['gzip', true])
  for (const other of [undefined, 'br', 'gzip;q=0', 'gzip; q=0.0, br', 'xgzip'])
    expect(await sizeFor(other)).toEqual([undefined, false])
  // As a browser does: fetch asks for gzip, and unpacks it.
  expect(await (await fetch(`http://127.0.0.1:${stage.port}${path}`)).text()).toBe(large)
})

test('nothing else is served without a credential, and the answers of the API keep the policy that allows nothing', async () => {
  await using stage = await startWithConsole()
  for (const path of ['/none.js', '/assets/', '/assets/none.js', '/../package.json', '/%2e%2e/package.json', '/api'])
    expect([path, (await stage.send(path)).status]).toEqual([path, 404])
  for (const method of ['POST', 'PUT', 'DELETE']) expect((await stage.send('/', { method })).status).toBe(404)
  const { status, headers } = await stage.send('/api/v1/events')
  expect([status, headers['content-security-policy']]).toEqual([401, "default-src 'none'; frame-ancestors 'none'"])
  expect(headers['cross-origin-resource-policy']).toBe('same-origin')
})

test('a page of another origin that has its name resolved to this address does not even get the files', async () => {
  await using stage = await startWithConsole()
  for (const path of ['/', '/assets/index-Ab1.js'])
    expect((await stage.send(path, { headers: { Host: 'evil.example' } })).status).toBe(403)
})

test('where the console was not built, its page says how to build it', async () => {
  await using dir = await createTempDir()
  await using stage = await startAdmin({ more: { pages: await createConsolePages(join(dir.path, 'none')) } })
  const { status, text, headers } = await stage.send('/')
  expect([status, headers['content-security-policy']]).toEqual([200, policy])
  expect(text).toContain('npm run build')
})
