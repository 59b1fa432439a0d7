import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launchBrowser, openPage, type WatchedPage } from './browser.ts'
import { signIn, startDashboardStage, type DashboardStage } from './dashboard-stage.ts'
import { shared } from './shared.ts'

export interface Visits {
  readonly stage: DashboardStage
  /** The page that the test has opened last. */
  readonly opened: WatchedPage
  /** A page that is not signed in. */
  open(): Promise<Page>
  /** A signed-in page at a place. */
  visit(path: string): Promise<Page>
}

/**
 * One emulator for the tests of a file, and a page per test. After each test the page must show no error and no refusal of its content
 * policy.
 */
export function setUpVisits(): Visits {
  let browser: Browser
  let stage: DashboardStage
  let opened: WatchedPage | undefined

  beforeAll(async () => {
    browser = await launchBrowser()
    stage = await startDashboardStage(await shared('dashboard'))
  }, 120_000)
  afterAll(async () => {
    await stage[Symbol.asyncDispose]()
    await browser.close()
  })
  afterEach(async () => {
    stage.endpoint.status = 200
    const complaints = opened?.complaints ?? []
    await opened?.[Symbol.asyncDispose]()
    opened = undefined
    expect(complaints).toEqual([])
  })

  async function open(path: string): Promise<Page> {
    // A browser itself says of a 401 that it came.
    opened = await openPage(browser, { url: `${stage.url}/#${path}`, expected: ['401'] })
    return opened.page
  }

  return {
    get stage() {
      return stage
    },
    get opened() {
      if (opened === undefined) throw new Error('expected a page that was opened before')
      return opened
    },
    open: () => open('/'),
    async visit(path) {
      const page = await open(path)
      await signIn(page, stage.login)
      return page
    },
  }
}

/** The dialog that is open. */
export function dialogOf(page: Page): Locator {
  return page.getByRole('dialog')
}
