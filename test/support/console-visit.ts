import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { launchBrowser } from './browser.ts'
import { buildConsole, type BuiltConsole } from './console-build.ts'
import { nasty } from './console-samples/nasty.ts'
import { findBarriers, openPage, sidewaysScroll, type WatchedPage } from './dashboard-page.ts'
import { ok, startFakeApi, type FakeApi } from './fake-console-api.ts'

export interface ConsoleVisits {
  /** Of this test alone. */
  readonly api: FakeApi
  readonly page: Page
  /** Loads the console at a place, as `/dead-letters?type=x`. */
  visit(path: string, options?: { readonly role?: 'operator' | 'viewer'; readonly width?: number }): Promise<Page>
  /** What the page complained about is as expected: drops it. */
  forget(): void
  /** A phone is wide enough for the page as it is, and axe finds nothing in it; where a dialog is open, in that. */
  expectUsable(): Promise<void>
  /** What was sent, in order. */
  sent(): readonly (readonly [call: string, body: unknown])[]
}

const wide = { width: 1280, height: 900 }
const phone = { width: 360, height: 780 }

/**
 * One build, one browser and one page for the tests of a file, a fake API for each test. After each, nothing may have gone
 * wrong in the page, no dialog of the browser may have opened, no markup from outside may have become any.
 */
export function setUpConsole(): ConsoleVisits {
  let built: BuiltConsole
  let browser: Browser
  let opened: WatchedPage
  let api: FakeApi
  let visits = 0
  const dialogs: string[] = []

  beforeAll(async () => {
    ;[built, browser] = await Promise.all([buildConsole(), launchBrowser()])
    opened = await openPage(browser, { url: 'about:blank' })
    opened.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
  }, 120_000)
  afterAll(async () => {
    await browser.close()
  })
  beforeEach(async () => {
    api = await startFakeApi(built.folder)
  })
  afterEach(async () => {
    const isHacked = await opened.page.evaluate(() => 'isHacked' in globalThis)
    const strangers = await opened.page.locator('main :is(img, script, iframe, object)').count()
    const complaints = [...opened.complaints]
    await opened.page.goto('about:blank')
    await opened.page.setViewportSize(wide)
    opened.forget()
    await api[Symbol.asyncDispose]()
    expect({ complaints, dialogs, isHacked, strangers }).toEqual({
      complaints: [],
      dialogs: [],
      isHacked: false,
      strangers: 0,
    })
  })

  return {
    get api() {
      return api
    },
    get page() {
      return opened.page
    },
    async visit(path, { role = 'operator', width = wide.width } = {}) {
      api.answer('GET /session', ok({ role, expires_at: '2026-02-01T00:00:00.000Z' }))
      await opened.page.setViewportSize(width < 600 ? { ...phone, width } : { ...wide, width })
      // The number makes it another address, so that the page is loaded anew and not only moved.
      await opened.page.goto(`${api.url}/?${++visits}#${path}`)
      return opened.page
    },
    forget: () => opened.forget(),
    async expectUsable() {
      expect(await barriers(opened.page)).toEqual([])
      await opened.page.setViewportSize(phone)
      expect(await sidewaysScroll(opened.page)).toBe(0)
      await opened.page.setViewportSize(wide)
    },
    sent: () => api.asked.map(({ call, body }) => [call, body] as const),
  }
}

/** All that is nasty in one text. */
export const hostile = Object.values(nasty).join('')

/** What is behind a dialog was looked at without it. */
async function barriers(page: Page): Promise<readonly string[]> {
  if ((await page.getByRole('dialog').count()) === 0) return findBarriers(page)
  const { violations } = await new AxeBuilder({ page }).include('[role="dialog"]').analyze()
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`)
}
