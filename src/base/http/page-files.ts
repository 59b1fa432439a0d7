import { codeOf } from '../errors.ts'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A built web page with its scripts and styles, served as static files. */
export interface Pages {
  /** True if the request is for one of its files. */
  isFor(request: IncomingMessage): boolean
  /** Responds to a request for which `isFor` returned true. */
  handle(request: IncomingMessage, response: ServerResponse): void
}

interface Page {
  readonly bytes: Buffer
  /** Gzipped bytes; null if compression is not worthwhile. */
  readonly packed: Buffer | null
  readonly type: string
  readonly caching: string
}

/** Allows only the page's own files, so that text from payloads can't run or load anything. */
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

/** Only larger files are compressed. */
const minPackedBytes = 1_024
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

/** Folder with the build of a page, such as `console`. Works from source and from the build. */
export function builtFolder(name: string): string {
  const isSource = import.meta.url.endsWith('.ts')
  return fileURLToPath(new URL(isSource ? `../../../dist/src/web/${name}` : `../../web/${name}`, import.meta.url))
}

/**
 * Reads the files of a folder once, without symbolic links, and serves only these. Paths are looked up as they are, so
 * none leads out of the folder. If the folder is missing, `/` serves `notBuilt`, HTML without script or style. Rejects
 * if the folder can't be read.
 */
export async function createPages(folder: string, notBuilt: string): Promise<Pages> {
  const pages = await readPages(folder, notBuilt)
  const pageOf = ({ url = '' }: IncomingMessage) => pages.get(url.replace(/\?.*$/s, ''))

  return {
    isFor: (request) => (request.method === 'GET' || request.method === 'HEAD') && pageOf(request) !== undefined,
    handle(request, response) {
      const page = pageOf(request)
      if (page === undefined) throw new RangeError(`${request.url}: expected a path for which isFor returns true`)
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
        // Isolates the page's window from its opener, and its files from other sites.
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
      })
      // Node sends only the headers to HEAD.
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

/** Lists the files below a folder. Node's recursive listing would follow links to folders. */
async function namesIn(folder: string, under: string): Promise<string[]> {
  const found = await readdir(join(folder, under), { withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  const files = found.filter((entry) => entry.isFile()).map(({ name }) => `${under}${name}`)
  const folders = found.filter((entry) => entry.isDirectory())
  const deeper = await Promise.all(folders.map(({ name }) => namesIn(folder, `${under}${name}/`)))
  return [...files, ...deeper.flat()]
}

/** Names of assets contain a digest of their content, so assets never change. */
async function toPage(name: string, bytes: Buffer): Promise<Page> {
  const caching = name.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
  const type = types[extname(name)] ?? 'application/octet-stream'
  const isText = /^text\/|json|svg/.test(type)
  return { bytes, packed: isText && bytes.length > minPackedBytes ? await pack(bytes) : null, type, caching }
}

/** True if the client accepts gzip. */
function takesGzip({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)/i.test(String(headers['accept-encoding'] ?? ''))
}
