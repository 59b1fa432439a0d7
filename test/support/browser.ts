import { existsSync } from 'node:fs'
import { access, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import sparticuz from '@sparticuz/chromium'
import { chromium, type Browser, type BrowserServer, type LaunchOptions, type Page } from 'playwright-core'
import { shared } from './shared.ts'

const installed = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser']
const manifest = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url)
/** An npm package carries the binary for Linux x64 alone. */
const isCarried = process.platform === 'linux' && process.arch === 'x64'

/** Whether there is a Chromium. For a named skip: `describe.skipIf(!hasBrowser)('… (needs Chromium: set CHROMIUM_PATH)')`. */
export const hasBrowser = isCarried || installed.some((path) => existsSync(path))

/** The Chromium that all test files share; closing it only disconnects. With `flags`: a Chromium of the caller's own. */
export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  if (flags.length === 0) return chromium.connect(await shared('chromium'))
  return chromium.launch(await launchOptions(flags))
}

/** Starts the Chromium that a run shares. */
export async function launchBrowserServer(): Promise<BrowserServer> {
  return chromium.launchServer({ ...(await launchOptions()), host: '127.0.0.1' })
}

/** Of the Chromium of CHROMIUM_PATH, the one that npm installed, or one of the system. */
async function launchOptions(flags: readonly string[] = []): Promise<LaunchOptions> {
  const [wanted = '', ...others] = installed
  const carried = wanted === '' && isCarried ? await unpackCarried() : null
  const executablePath = carried?.path ?? [wanted, ...others].find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('no Chromium found; set CHROMIUM_PATH to the path of one')
  return {
    executablePath,
    // Root may not use the sandbox; the pages are our own.
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--font-render-hinting=none', ...flags],
    env: { ...process.env, ...(carried !== null && { FONTCONFIG_FILE: carried.fonts }) },
  }
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

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  /** What the page complained about: console errors, exceptions, refusals of its content policy. */
  readonly complaints: readonly string[]
  /** Drops what was complained about so far: a test has looked at it. */
  forget(): void
}

export interface PageOptions {
  readonly url: string
  readonly width?: number
  readonly scheme?: 'light' | 'dark'
  /** Texts of complaints that are expected, such as the status of an answer that a test asks for. */
  readonly expected?: readonly string[]
}

/** Below that of a test, so that what was waited for is named. */
const pageTimeoutMs = 20_000

/** Opens a page and listens to its complaints. */
export async function openPage(browser: Browser, options: PageOptions): Promise<WatchedPage> {
  const { url, width = 1280, scheme = 'light', expected = [] } = options
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 780 : 900 },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    // Without a language of the system Chromium makes up one that none of its own functions takes.
    locale: 'en-US',
  })
  context.setDefaultTimeout(pageTimeoutMs)
  const page = await context.newPage()
  const complaints: string[] = []
  const complain = (text: string) => {
    if (!expected.some((part) => text.includes(part))) complaints.push(text)
  }
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complain(error.message))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
      // oxlint-disable-next-line no-console -- how the test hears of it
      console.error(`content policy: ${violatedDirective} ${blockedURI} ${sample}`)
    })
  })
  await page.goto(url)
  return {
    page,
    complaints,
    forget: () => void complaints.splice(0),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** What axe finds wrong with the page as it is, a line for each place. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // Rows are alike; with a hundred of them axe takes ten seconds.
  const rows = ['tbody tr', '.ui-feed li', '[data-row]'].map((row) => `${row}:nth-child(n + 5)`)
  // Legacy mode opens no second page to add up the frames: ours have none.
  const whole = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
  const builder = rows.reduce((axe, row) => axe.exclude(row), whole)
  const { violations } = await builder.analyze()
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${impact} ${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}

/** By how many pixels the page can be scrolled sideways; it should be 0. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return Math.max(scrollWidth, document.body.scrollWidth) - clientWidth
  })
}
