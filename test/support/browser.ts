import { existsSync } from 'node:fs'
import { access, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'
import { chromium, type Browser } from 'playwright-core'

const installed = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser']
const manifest = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url)
/** An npm package carries the binary for Linux x64 alone. */
const isCarried = process.platform === 'linux' && process.arch === 'x64'

/** Whether there is a Chromium. For a named skip: `describe.skipIf(!hasBrowser)('… (needs Chromium: set CHROMIUM_PATH)')`. */
export const hasBrowser = isCarried || installed.some((path) => existsSync(path))

/** Starts a Chromium: the one of CHROMIUM_PATH, the one that npm installed, or one of the system. `more`: arguments of its own. */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const [wanted = '', ...others] = installed
  const carried = wanted === '' && isCarried ? await unpackCarried() : null
  const executablePath = carried?.path ?? [wanted, ...others].find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('expected a Chromium: set CHROMIUM_PATH to the path of one')
  return chromium.launch({
    executablePath,
    // Root may not use the sandbox; the pages are our own.
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--font-render-hinting=none', ...more],
    env: { ...process.env, ...(carried !== null && { FONTCONFIG_FILE: carried.fonts }) },
  })
}

/** Unpacks it once per machine and version; test files that do so at the same time do not see each other's halves. */
async function unpackCarried(): Promise<{ readonly path: string; readonly fonts: string }> {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  const folder = join(tmpdir(), `onchain-inbox-chromium-${version}`)
  const found = { path: join(folder, 'chromium'), fonts: join(folder, 'fonts.conf') }
  if (existsSync(found.path)) return found
  const own = await mkdtemp(`${folder}-`)
  await inFolder(own, () => sparticuz.executablePath())
  // Those of the system, and where it has none, the one that comes with it.
  const dirs = ['/usr/share/fonts', join(folder, 'fonts')].map((dir) => `<dir>${dir}</dir>`).join('')
  await writeFile(
    join(own, 'fonts.conf'),
    `<fontconfig>${dirs}<cachedir>${join(folder, 'cache')}</cachedir></fontconfig>`,
  )
  await rename(own, folder).catch(async () => {
    await rm(own, { recursive: true, force: true })
    await access(found.path)
  })
  return found
}

/** The package unpacks to where the system keeps temporary files, which it asks for before it first waits. */
function inFolder<T>(folder: string, act: () => T): T {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    return act()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
