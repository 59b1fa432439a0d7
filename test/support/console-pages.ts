import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { toVisible } from '../../src/ui/plain-text.tsx'
import { launchBrowser } from './browser.ts'
import { buildConsole, type BuiltConsole } from './console-build.ts'
import { nasty } from './console-samples/nasty.ts'
import { findBarriers, openPage, sidewaysScroll, type WatchedPage } from './dashboard-page.ts'
import { ok, startFakeApi, type FakeAnswerOf, type FakeApi } from './fake-console-api.ts'

export interface ConsolePages {
  /** Of the last visit. */
  readonly api: FakeApi
  /** The page at a place of the console, as the operator, with answers of its own beside the samples. */
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
 * One build, one browser and one page for the tests of a file; an API for each visit. After each test nothing may have gone wrong in
 * the page: no error, no dialog, and nothing that its content policy refused.
 */
export function setUpConsolePages(): ConsolePages {
  let built: BuiltConsole
  let browser: Browser
  let opened: WatchedPage
  let api: FakeApi | undefined
  let dialogs = 0

  beforeAll(async () => {
    built = await buildConsole()
    browser = await launchBrowser()
    opened = await openPage(browser, { url: 'about:blank' })
    opened.page.on('dialog', (dialog) => {
      dialogs++
      void dialog.dismiss()
    })
  }, 120_000)
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
    await browser.close()
  })
  afterEach(async () => {
    const complaints = [...opened.complaints]
    opened.forget()
    await leave()
    await opened.page.setViewportSize(wide)
    await opened.page.emulateMedia({ colorScheme: 'light' })
    expect(complaints).toEqual([])
    expect(dialogs).toBe(0)
  })

  /** Before the server ends, so that the page does not look for it. */
  async function leave(): Promise<void> {
    await opened.page.goto('about:blank')
    await api?.[Symbol.asyncDispose]()
    api = undefined
  }

  return {
    get api() {
      if (api === undefined) throw new Error('expected a page that was visited before')
      return api
    },
    async visit(path, answers = {}) {
      await leave()
      api = await startFakeApi(built.folder)
      for (const [call, answer] of Object.entries(answers)) api.answer(call, answer)
      await opened.page.goto(`${api.url}/#${path}`)
      return opened.page
    },
    forget: () => opened.forget(),
  }
}

/** Answers of a viewer's session. */
export const asViewer = { 'GET /session': ok({ role: 'viewer', expires_at: null }) } as const

/** Whether the page is well for everybody: axe finds nothing, and there is no sideways scroll on a phone. */
export async function expectForEverybody(page: Page, schemes: readonly Scheme[] = ['light', 'dark']): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    expect(await findBarriers(page)).toEqual([])
  }
  await page.setViewportSize(phone)
  expect(await sidewaysScroll(page)).toBe(0)
}

export const hostileTexts = [
  ['markup', nasty.markup],
  ['marks of direction', nasty.bidi],
  ['all control characters', nasty.controls],
  ['100,000 characters', nasty.long],
] as const

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
