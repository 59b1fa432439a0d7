import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A built page with its scripts and styles, as static files. */
export interface Pages {
  /** Whether a request is for one of its files. */
  isFor(request: IncomingMessage): boolean
  /** Answers what `isFor` is true of. */
  handle(request: IncomingMessage, response: ServerResponse): void
}

interface Page {
  readonly bytes: Buffer
  /** The same as gzip; null where that is not worth it. */
  readonly packed: Buffer | null
  readonly type: string
  readonly caching: string
}

/** No script, style or anything else but its own files: what a text of a payload may contain does nothing. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Below that, a page is as quick without. */
const packedFrom = 1_024
const pack = promisify(gzip)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** The folder where the build puts a page, such as `console`. The same for a source and for a built file. */
export function builtFolder(name: string): string {
  const isSource = import.meta.url.endsWith('.ts')
  return fileURLToPath(new URL(isSource ? `../../../dist/src/web/${name}` : `../../web/${name}`, import.meta.url))
}

/**
 * Reads the files of a folder once, symbolic links left out, and serves these and nothing else: a path is looked up among
 * them as it is, so that none leads out of the folder. Where there is no such folder, `/` is `notBuilt`, HTML without any
 * script or style. Rejects if it cannot be read.
 */
export async function createPages(folder: string, notBuilt: string): Promise<Pages> {
  const pages = await readPages(folder, notBuilt)
  const pageOf = ({ url = '' }: IncomingMessage) => pages.get(url.replace(/\?.*$/s, ''))

  return {
    isFor: (request) => (request.method === 'GET' || request.method === 'HEAD') && pageOf(request) !== undefined,
    handle(request, response) {
      const page = pageOf(request)
      if (page === undefined) throw new RangeError(`${request.url}: expected a path that isFor is true of`)
      const isPacked = page.packed !== null && takesGzip(request)
      const bytes = isPacked ? page.packed : page.bytes
      response.writeHead(200, {
        'Content-Type': page.type,
        'Content-Length': bytes.length,
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
        ...(page.packed !== null && { Vary: 'Accept-Encoding' }),
        'Cache-Control': page.caching,
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        // No page that opens this one keeps a hand on its window, and none takes its files for its own.
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
      })
      // To HEAD Node sends the headers alone.
      response.end(bytes)
    },
  }
}

async function readPages(folder: string, notBuilt: string): Promise<ReadonlyMap<string, Page>> {
  const pages = new Map<string, Page>()
  for (const name of await namesIn(folder, '/')) pages.set(name, await toPage(name, await readFile(join(folder, name))))
  pages.set('/', pages.get('/index.html') ?? (await toPage('/index.html', Buffer.from(notBuilt))))
  return pages
}

/** The files below a folder. Step by step: the listing of Node that is recursive by itself follows links to folders. */
async function namesIn(folder: string, under: string): Promise<string[]> {
  const found = await readdir(join(folder, under), { withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  })
  const files = found.filter((entry) => entry.isFile()).map(({ name }) => `${under}${name}`)
  const folders = found.filter((entry) => entry.isDirectory())
  const deeper = await Promise.all(folders.map(({ name }) => namesIn(folder, `${under}${name}/`)))
  return [...files, ...deeper.flat()]
}

/** Names of assets carry the digest of their content, so that they never change. */
async function toPage(name: string, bytes: Buffer): Promise<Page> {
  const caching = name.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
  const type = types[extname(name)] ?? 'application/octet-stream'
  const isText = /^text\/|json|svg/.test(type)
  return { bytes, packed: isText && bytes.length > packedFrom ? await pack(bytes) : null, type, caching }
}

/** Whether a client takes gzip, by its own words. */
function takesGzip({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i.test(String(headers['accept-encoding'] ?? ''))
}
