import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { toVisible } from '../../src/web/ui/plain-text.tsx'
import { findBarriers, launchBrowser, openPage, sidewaysScroll, type WatchedPage } from './browser.ts'
import { nasty } from './console-samples/nasty.ts'
import type { FakeAnswerOf, FakeApiServer } from './fake-api-server.ts'
import { ok, startFakeApi } from './fake-console-api.ts'
import { shared } from './shared.ts'

export interface ConsolePages {
  /** Of this test alone. */
  readonly api: FakeApiServer
  /** Loads the console at a place, as `/dead-letters?type=x`: as the operator, with answers of its own from then on. */
  visit(path: string, answers?: Readonly<Record<string, FakeAnswerOf>>): Promise<Page>
  /** Drops what the page complained about: the test has asked for an error. */
  forget(): void
}

/** For a test that has axe look twice, also on a busy machine. */
export const axeMs = 60_000

type Scheme = 'light' | 'dark'

const wide = { width: 1280, height: 900 }
const phone = { width: 360, height: 780 }

/**
 * One page for the tests of a file, and an API per test. After each test the page must show no error, no refusal of its content policy,
 * no dialog of the browser, and no markup from elsewhere that became an element.
 */
export function setUpConsolePages(): ConsolePages {
  let folder: string
  let browser: Browser
  let opened: WatchedPage
  let api: FakeApiServer
  const dialogs: string[] = []

  beforeAll(async () => {
    ;[folder, browser] = await Promise.all([shared('console'), launchBrowser()])
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
    const found = { complaints: [...opened.complaints], dialogs: dialogs.splice(0), isHacked, strangers }
    // Before the server ends, so that the page does not look for it.
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
      // From elsewhere, so that the page is loaded anew and not only moved.
      await opened.page.goto('about:blank')
      await opened.page.setViewportSize(wide)
      await opened.page.goto(`${api.url}/#${path}`)
      return opened.page
    },
    forget: () => opened.forget(),
  }
}

/** Answers of a viewer's session. */
export const asViewer = { 'GET /session': ok({ role: 'viewer', expires_at: null }) } as const

/** Whether the page is well for everybody: axe finds nothing, and there is no sideways scroll on a phone. It is wide again then. */
export async function expectForEverybody(page: Page, schemes: readonly Scheme[] = ['light', 'dark']): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    expect(await findBarriers(page)).toEqual([])
  }
  await page.setViewportSize(phone)
  expect(await sidewaysScroll(page)).toBe(0)
  await page.setViewportSize(wide)
}

export const hostileTexts = [
  ['markup', nasty.markup],
  ['marks of direction', nasty.bidi],
  ['all control characters', nasty.controls],
  ['100,000 characters', nasty.long],
] as const

/** All that is nasty in one text. */
export const hostile = Object.values(nasty).join('')

/** What is no free text: names of states and such, and moments. */
const fixedKeys = new Set(['level', 'state', 'kind', 'order', 'on_dead', 'source', 'window'])
const moment = /^\d{4}-\d\d-\d\dT/

/** The sample with its free texts replaced, each by the text and a number. */
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

/** Whether the text is there as text, in at least so many places, and did nothing to the page; also on a phone. */
export async function expectAsText(page: Page, text: string, places: number): Promise<void> {
  const begin = toVisible(text).slice(0, 60)
  const main = page.locator('main')
  await page.getByText(begin).first().waitFor()
  const shown = (await main.textContent()) ?? ''
  expect(shown.split(begin).length - 1).toBeGreaterThanOrEqual(places)
  // oxlint-disable-next-line no-control-regex -- what must not be there
  expect(shown).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u200f\u202e\u2066]/u)
  expect(await main.locator('img, script').count()).toBe(0)
  expect(await page.evaluate(() => 'isHacked' in globalThis)).toBe(false)
  await page.setViewportSize(phone)
  expect(await sidewaysScroll(page)).toBe(0)
}
