import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createPages } from '../../src/base/http/page-files.ts'
import { send } from '../support/exact-request.ts'
import { createTempDir } from '../support/temp-dir.ts'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const page = '<!doctype html><title>the page</title>'
const notBuilt = '<!doctype html><title>not built</title>'
const script = 'console.log("ä")'

async function makeFolder(path: string): Promise<void> {
  await mkdir(join(path, 'assets'), { recursive: true })
  await writeFile(join(path, 'index.html'), page)
  await writeFile(join(path, 'assets/index-BX1.js'), script)
  await writeFile(join(path, 'assets/index-BX1.css'), 'a{}')
  await writeFile(join(path, 'favicon.svg'), '<svg/>')
  await writeFile(join(path, 'strange.bin'), 'x')
}

/** Serves the pages of a folder; returns a function that requests a path as it is. */
async function serve(folder: string) {
  const pages = await createPages(folder, notBuilt)
  const server = createServer((incoming, response) => {
    if (pages.isFor(incoming)) pages.handle(incoming, response)
    else response.writeHead(404).end('not a page')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return (path: string, method = 'GET', headers = {}) => send({ host: '127.0.0.1', port, path }, method, headers)
}

test('serves each file with its type and security headers; HEAD without the body', async () => {
  await using dir = await createTempDir()
  await makeFolder(dir.path)
  const ask = await serve(dir.path)
  for (const [path, type, text] of [
    ['/', 'text/html; charset=utf-8', page],
    ['/?a=/assets/x', 'text/html; charset=utf-8', page],
    ['/index.html', 'text/html; charset=utf-8', page],
    ['/assets/index-BX1.js', 'text/javascript; charset=utf-8', script],
    ['/assets/index-BX1.css', 'text/css; charset=utf-8', 'a{}'],
    ['/favicon.svg', 'image/svg+xml', '<svg/>'],
    ['/strange.bin', 'application/octet-stream', 'x'],
  ] as const) {
    const expected = {
      'content-type': type,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      'content-length': String(Buffer.byteLength(text)),
    }
    expect(await ask(path), path).toMatchObject({ status: 200, text, headers: expected })
    expect(await ask(path, 'HEAD'), path).toMatchObject({ status: 200, text: '', headers: expected })
  }
})

test('compresses large files for clients that accept gzip', async () => {
  await using dir = await createTempDir()
  await writeFile(join(dir.path, 'large.js'), 'x'.repeat(5_000))
  const ask = await serve(dir.path)
  const encodingFor = async (accepted: string) => {
    const { headers } = await ask('/large.js', 'HEAD', { 'Accept-Encoding': accepted })
    expect([headers.vary, Number(headers['content-length']) < 5_000]).toEqual([
      'Accept-Encoding',
      'content-encoding' in headers,
    ])
    return headers['content-encoding']
  }
  for (const accepted of ['gzip', 'br, GZIP;q=0.5', 'deflate,gzip ']) expect(await encodingFor(accepted)).toBe('gzip')
  for (const other of ['', 'br', 'gzip;q=0', 'gzip; q=0.0, br', 'xgzip'])
    expect(await encodingFor(other)).toBeUndefined()
})

test('serves nothing outside the folder, through links, for folders, for later files, or for other methods', async () => {
  await using dir = await createTempDir()
  const folder = join(dir.path, 'site')
  await makeFolder(folder)
  await mkdir(join(dir.path, 'outside'))
  await writeFile(join(dir.path, 'outside/secret.txt'), 'secret')
  await symlink(join(dir.path, 'outside/secret.txt'), join(folder, 'link.txt'))
  await symlink(join(dir.path, 'outside'), join(folder, 'assets/linked'))
  const ask = await serve(folder)
  await writeFile(join(folder, 'later.txt'), 'later')
  const paths =
    '/link.txt /assets/linked/secret.txt /later.txt /assets /assets/ /../outside/secret.txt /..%2foutside/secret.txt ' +
    '/assets/../index.html //index.html /INDEX.HTML /index.html/ /index.html%00 /__proto__ * /v1/networks'
  for (const path of paths.split(' ')) expect(await ask(path), path).toMatchObject({ status: 404 })
  for (const method of ['POST', 'DELETE', 'OPTIONS']) expect(await ask('/', method)).toMatchObject({ status: 404 })
})

test.each(['missing', 'empty'])('with a %s folder the page is the one for a missing build', async (what) => {
  await using dir = await createTempDir()
  const ask = await serve(what === 'empty' ? dir.path : join(dir.path, 'none'))
  const headers = { 'content-security-policy': policy }
  expect(await ask('/')).toMatchObject({ status: 200, headers, text: notBuilt })
  expect(await ask('/assets/index-BX1.js')).toMatchObject({ status: 404 })
})
