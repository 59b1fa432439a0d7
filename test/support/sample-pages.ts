import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { goTo, launchBrowser, openPage, type WatchedPage } from './browser.ts'
import { nasty } from './console-samples/nasty.ts'
import type { FakeAnswerOf, FakeApiServer } from './fake-api-server.ts'
import { shared } from './shared.ts'

export interface SamplePages {
  /** API server of the current test. */
  readonly api: FakeApiServer
  /** Loads the app at a path such as `/dead-letters?type=x`, signed in. `answers` replace responses of the API. */
  visit(path: string, answers?: Readonly<Record<string, FakeAnswerOf>>): Promise<Page>
  /** Goes to another path of the loaded app. Faster than `visit`, but keeps what the app has read. */
  go(path: string): Promise<void>
  /** The test causes failed responses, which the browser reports. */
  allowFailures(): void
}

/** Timeout of a test that walks all pages, long enough for a busy machine. */
export const walkMs = 180_000

const wide = { width: 1280, height: 900 }

/**
 * Opens one page for all tests of a file, and one API server per test. Fails a test if the page had an error, a violation of the content
 * security policy or a browser dialog, or if markup in data became an element.
 */
export function setUpSamplePages(
  app: 'console' | 'dashboard',
  startFakeApi: (folder: string) => Promise<FakeApiServer>,
): SamplePages {
  let folder: string
  let browser: Browser
  let opened: WatchedPage
  let api: FakeApiServer
  const dialogs: string[] = []
  let areFailuresAllowed = false

  beforeAll(async () => {
    ;[folder, browser] = await Promise.all([shared(app), launchBrowser()])
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
    api = await startFakeApi(folder)
  })
  afterEach(async () => {
    const { page } = opened
    const isHacked = await page.evaluate(() => 'isHacked' in globalThis)
    const strangers = await page.locator('main :is(img, script, iframe, object)').count()
    const isAllowed = (complaint: string) => areFailuresAllowed && complaint.startsWith('Failed to load resource')
    const complaints = opened.complaints.filter((complaint) => !isAllowed(complaint))
    areFailuresAllowed = false
    const found = { complaints, dialogs: dialogs.splice(0), isHacked, strangers }
    // Leaves the page before the server stops, so that the page doesn't poll it.
    await page.goto('about:blank')
    await page.setViewportSize(wide)
    await page.emulateMedia({ colorScheme: 'light' })
    opened.forget()
    await api[Symbol.asyncDispose]()
    expect(found).toEqual({ complaints: [], dialogs: [], isHacked: false, strangers: 0 })
  })

  return {
    get api() {
      return api
    },
    async visit(path, answers = {}) {
      for (const [call, answer] of Object.entries(answers)) api.answer(call, answer)
      // Starts from another page: a change of the hash alone would not reload the app.
      await opened.page.goto('about:blank')
      await opened.page.setViewportSize(wide)
      await opened.page.goto(`${api.url}/#${path}`)
      return opened.page
    },
    go: (path) => goTo(opened.page, path),
    allowFailures() {
      areFailuresAllowed = true
    },
  }
}

export const hostileTexts = [
  ['markup with direction marks and control characters', nasty.markup + nasty.bidi + nasty.controls],
  ['100,000 characters', nasty.long],
] as const

/** Members whose text is a fixed name, such as a state, or encoded bytes. */
const fixedKeys = new Set([
  'level',
  'state',
  'kind',
  'order',
  'on_dead',
  'origin',
  'window',
  'status',
  'outcome',
  'raw_base64',
  'kept_raw_base64',
])
const moment = /^\d{4}-\d\d-\d\dT/

/** Returns the sample with every text replaced by `text` and a number, except for fixed names and times. */
export function withTexts<T>(sample: T, text: string): T {
  let count = 0
  const replace = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return fixedKeys.has(key) || moment.test(value) ? value : `${text}${++count}`
    if (Array.isArray(value)) return value.map((one) => replace(one, key))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replace(one, name)]))
  }
  return replace(sample, '') as T
}
