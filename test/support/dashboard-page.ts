import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'

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
  const builder = rows.reduce((axe, row) => axe.exclude(row), new AxeBuilder({ page }))
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
