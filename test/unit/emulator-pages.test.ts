import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTempDir } from '../support/temp-dir.ts'
import { expect, test } from 'vitest'
import { builtDashboard, createPages } from '../../src/emulator/server.ts'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** A server of the pages of a folder alone. */
async function serve(folder: string) {
  const pages = await createPages(folder)
  const server = createServer((incoming, response) => {
    if (pages.isFor(incoming)) pages.handle(incoming, response)
    else response.writeHead(404).end('not a page')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    /** As `fetch` cannot: with the path as it is. */
    ask: (path: string, method = 'GET') =>
      new Promise<Reply>((resolve, reject) => {
        const outgoing = request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            const { statusCode: status, headers } = response
            resolve({ status, headers, body: Buffer.concat(chunks) })
          })
        })
        outgoing.on('error', reject)
        outgoing.end()
      }),
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}

interface Reply {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const page = '<!doctype html><title>the page</title>'
const script = 'console.log("ä")'

async function makeFolder(path: string): Promise<void> {
  await mkdir(join(path, 'assets/deep'), { recursive: true })
  await writeFile(join(path, 'index.html'), page)
  await writeFile(join(path, 'assets/index-BX1.js'), script)
  await writeFile(join(path, 'assets/index-BX1.css'), 'a{}')
  await writeFile(join(path, 'assets/deep/font.woff2'), Buffer.from([0, 255]))
  await writeFile(join(path, 'favicon.svg'), '<svg/>')
  await writeFile(join(path, 'strange.bin'), 'x')
}

test('every file of the folder is served with its type, by its own path and / for the page', async () => {
  await using dir = await createTempDir()
  await makeFolder(dir.path)
  await using server = await serve(dir.path)
  const served: [string, string, string][] = [
    ['/', 'text/html; charset=utf-8', page],
    ['/?a=/assets/x', 'text/html; charset=utf-8', page],
    ['/index.html', 'text/html; charset=utf-8', page],
    ['/assets/index-BX1.js', 'text/javascript; charset=utf-8', script],
    ['/assets/index-BX1.css', 'text/css; charset=utf-8', 'a{}'],
    ['/favicon.svg', 'image/svg+xml', '<svg/>'],
    ['/strange.bin', 'application/octet-stream', 'x'],
  ]
  for (const [path, type, text] of served) {
    const { status, headers, body } = await server.ask(path)
    const isAsset = path.startsWith('/assets/')
    expect([path, status, headers['content-type'], body.toString()]).toEqual([path, 200, type, text])
    expect(headers).toMatchObject({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
      'content-length': String(Buffer.byteLength(text)),
    })
  }
  const { headers, body } = await server.ask('/assets/deep/font.woff2')
  expect([headers['content-type'], [...body]]).toEqual(['font/woff2', [0, 255]])
})

test('HEAD gets the headers of GET and nothing else', async () => {
  await using dir = await createTempDir()
  await makeFolder(dir.path)
  await using server = await serve(dir.path)
  const [got, asked] = [await server.ask('/assets/index-BX1.js'), await server.ask('/assets/index-BX1.js', 'HEAD')]
  expect([asked.status, asked.body.length]).toEqual([200, 0])
  const { date: _date, ...headers } = got.headers
  expect(asked.headers).toMatchObject(headers)
})

test('no path leads out of the folder, along a link, to a folder, or to what came later', async () => {
  await using dir = await createTempDir()
  const folder = join(dir.path, 'site')
  await mkdir(folder)
  await makeFolder(folder)
  await mkdir(join(dir.path, 'outside'))
  await writeFile(join(dir.path, 'outside/secret.txt'), 'secret')
  await symlink(join(dir.path, 'outside/secret.txt'), join(folder, 'link.txt'))
  await symlink(join(dir.path, 'outside'), join(folder, 'assets/linked'))
  await using server = await serve(folder)
  await writeFile(join(folder, 'later.txt'), 'later')
  const refused = [
    '/link.txt',
    '/assets/linked/secret.txt',
    '/later.txt',
    '/assets',
    '/assets/',
    '/../outside/secret.txt',
    '/..%2foutside/secret.txt',
    '/assets/../index.html',
    '//index.html',
    '/INDEX.HTML',
    '/index.html/',
    '/index.html%00',
    '/__proto__',
    '*',
    '/v1/networks',
  ]
  for (const path of refused) expect([path, (await server.ask(path)).status]).toEqual([path, 404])
  for (const method of ['POST', 'DELETE', 'OPTIONS'])
    expect([method, (await server.ask('/', method)).status]).toEqual([method, 404])
})

test.each(['a missing folder', 'an empty folder'])('of %s the page says how to build the dashboard', async (what) => {
  await using dir = await createTempDir()
  await using server = await serve(what === 'an empty folder' ? dir.path : join(dir.path, 'none'))
  const { status, headers, body } = await server.ask('/')
  expect([status, headers['content-security-policy']]).toEqual([200, policy])
  expect(body.toString()).toContain('npm run build')
  expect((await server.ask('/assets/index-BX1.js')).status).toBe(404)
})

test('a folder that cannot be read is an error', async () => {
  await using dir = await createTempDir()
  await writeFile(join(dir.path, 'file'), '')
  await expect(createPages(join(dir.path, 'file'))).rejects.toThrow(/ENOTDIR/)
})

test('run from its sources the dashboard is that of the build, never the sources themselves', () => {
  const root = join(import.meta.dirname, '../..')
  expect(builtDashboard()).toBe(join(root, 'dist/src/web/dashboard'))
})
