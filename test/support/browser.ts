import { existsSync } from 'node:fs'
import { access, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'
import axe, { type RunOptions } from 'axe-core'
import { chromium, type Browser, type BrowserServer, type LaunchOptions, type Page } from 'playwright-core'
import { shared } from './shared.ts'

const installed = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser']
const manifest = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url)
/** True if the npm package @sparticuz/chromium has a binary for this machine: only for Linux on x64. */
const isCarried = process.platform === 'linux' && process.arch === 'x64'

/** True if a Chromium is available. To skip: `describe.skipIf(!hasBrowser)('… (needs Chromium: set CHROMIUM_PATH)')`. */
export const hasBrowser = isCarried || installed.some((path) => existsSync(path))

/** Connects to the Chromium that all test files share; closing it only disconnects. With `flags`: starts a separate Chromium. */
export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  if (flags.length === 0) return chromium.connect(await shared('chromium'))
  return chromium.launch(await launchOptions(flags))
}

/** Starts the Chromium that all test files of a run share. */
export async function launchBrowserServer(): Promise<BrowserServer> {
  return chromium.launchServer({ ...(await launchOptions()), host: '127.0.0.1' })
}

/** Options that start the Chromium at CHROMIUM_PATH, else the one from npm, else an installed one. */
async function launchOptions(flags: readonly string[] = []): Promise<LaunchOptions> {
  const [wanted = '', ...others] = installed
  const carried = wanted === '' && isCarried ? await unpackCarried() : null
  const executablePath = carried?.path ?? [wanted, ...others].find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('no Chromium found; set CHROMIUM_PATH to the path of one')
  return {
    executablePath,
    args: [
      // Chromium's sandbox doesn't work for root. The pages are trusted.
      '--no-sandbox',
      '--no-zygote',
      // Without it, each load of a page starts a process.
      '--process-per-site',
      '--disable-gpu',
      '--in-process-gpu',
      '--font-render-hinting=none',
      ...flags,
    ],
    env: { ...process.env, ...(carried !== null && { FONTCONFIG_FILE: carried.fonts }) },
  }
}

/** Unpacks the Chromium from npm once per machine and version. Safe if several processes unpack it at the same time. */
async function unpackCarried(): Promise<{ readonly path: string; readonly fonts: string }> {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  const folder = join(tmpdir(), `onchain-inbox-chromium-${version}`)
  const found = { path: join(folder, 'chromium'), fonts: join(folder, 'fonts.conf') }
  if (existsSync(found.path)) return found
  const own = await mkdtemp(`${folder}-`)
  await inFolder(own, () => sparticuz.executablePath())
  // Fonts of the system, and the font of the package for systems without any.
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

/** Runs `act` with TMPDIR set to `folder`. The package unpacks there: it reads TMPDIR before its first `await`. */
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

export type WatchedPage = Awaited<ReturnType<typeof openPage>>

/** Shorter than the timeout of a test, so that the error names the awaited element. */
const pageTimeoutMs = 20_000

/** Opens an empty page and records its complaints. */
export async function openPage(browser: Browser) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    // On a system without a language, Chromium's default locale is invalid for its own functions.
    locale: 'en-US',
  })
  context.setDefaultTimeout(pageTimeoutMs)
  const page = await context.newPage()
  /** Console errors and warnings, exceptions, and violations of the content security policy. */
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
      // oxlint-disable-next-line no-console -- the test listens to the console
      console.error(`content policy: ${violatedDirective} ${blockedURI} ${sample}`)
    })
  })
  return {
    page,
    complaints,
    /** Clears `complaints`. */
    forget: () => void complaints.splice(0),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** Goes to another path of the loaded app. */
export function goTo(page: Page, path: string): Promise<void> {
  return page.evaluate(
    (hash) =>
      new Promise<void>((resolve) => {
        if (location.hash === hash) return resolve()
        addEventListener('hashchange', () => setTimeout(resolve), { once: true })
        location.hash = hash
      }),
    `#${path}`,
  )
}

/** All accessibility violations in light, and violations of contrast in dark. Leaves the page dark. */
export async function findBarriersInBoth(page: Page, within?: string): Promise<readonly string[]> {
  const barriers: string[] = []
  for (const [colorScheme, rules] of [['light'], ['dark', ['color-contrast']]] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor({ state: 'attached' })
    barriers.push(...(await findBarriers(page, within, rules)))
  }
  return barriers
}

/** Accessibility violations that axe finds within an element of the page, one line per element. `rules`: default all. */
export async function findBarriers(page: Page, within = 'html', rules?: readonly string[]): Promise<readonly string[]> {
  // Checks only the first rows of a list, because all rows are alike and axe takes ten seconds for a hundred.
  const context = { include: [within], exclude: ['tbody tr:nth-child(n + 5)'] }
  // Installed once per load of the page: its source has half a megabyte.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const options: RunOptions = { resultTypes: ['violations'], ...(rules && { runOnly: [...rules] }) }
  const { violations } = await page.evaluate(
    // Not the import: the function runs in the page.
    ([parts, how]) => (globalThis as unknown as { readonly axe: typeof axe }).axe.run(parts, how),
    [context, options] as const,
  )
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${impact} ${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}

/** Pixels by which the page scrolls sideways; expected: 0. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    return Math.max(scrollWidth, document.body.scrollWidth) - clientWidth
  })
}
