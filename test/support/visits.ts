import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { goTo, launchBrowser, openPage, sidewaysScroll, type WatchedPage } from './browser.ts'
import { shared } from './shared.ts'

/** An HTTP response with JSON. */
export interface Reply {
  readonly status?: number
  readonly json: unknown
}

/** Timeout of a test that walks all pages, long enough for a busy machine. */
export const walk = { timeout: 180_000 }

const wide = { width: 1280, height: 900 }

/**
 * Opens one page for all tests of a file, and starts a server for each test. Fails a test if the page had an error, a violation of the
 * content security policy or a browser dialog, or if markup in data became an element. `prefix`: of the API, such as `/api/v1`.
 */
export function setUpVisits<Stage extends AsyncDisposable & { readonly url: string }>(
  app: 'console' | 'dashboard',
  prefix: string,
  start: (folder: string) => Promise<Stage>,
) {
  let folder: string
  let stage: Stage
  let browser: Browser
  let opened: WatchedPage
  const dialogs: string[] = []
  let areFailuresAllowed = false

  beforeAll(async () => {
    ;[folder, browser] = await Promise.all([shared(app), launchBrowser()])
    opened = await openPage(browser)
    opened.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
  }, 120_000)
  afterAll(() => browser.close())
  beforeEach(async () => {
    stage = await start(folder)
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
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.context().clearCookies()
    await page.setViewportSize(wide)
    await page.emulateMedia({ colorScheme: 'light' })
    opened.forget()
    await stage[Symbol.asyncDispose]()
    expect(found).toEqual({ complaints: [], dialogs: [], isHacked: false, strangers: 0 })
  })

  return {
    /** The server of the current test. */
    get stage(): Stage {
      return stage
    },
    /** The page that the tests of a file share. Each test loads the app anew. */
    get page(): Page {
      return opened.page
    },
    /** Loads the app at a path such as `/dead-letters?type=x`. */
    async visit(path: string): Promise<Page> {
      // Starts from another page: a change of the hash alone would not reload the app.
      await opened.page.goto('about:blank')
      await opened.page.goto(`${stage.url}/#${path}`)
      return opened.page
    },
    /** Goes to another path of the loaded app. Faster than `visit`, but keeps what the app has read. */
    go: (path: string) => goTo(opened.page, path),
    /** Replaces responses of an API call such as `GET /events`; `*` is any method or path. Undefined: not this one. */
    async answer(call: string, reply: Reply | ((request: Request) => Reply | undefined)) {
      const [method, path = '*'] = call.split(' ')
      const isMeant = ({ pathname }: URL) =>
        path === '*' ? pathname.startsWith(`${prefix}/`) : pathname === `${prefix}${path}`
      await opened.page.route(isMeant, async (route, request) => {
        const found = typeof reply === 'function' ? reply(request) : reply
        if (found === undefined || (method !== '*' && request.method() !== method)) return route.fallback()
        await route.fulfill({ status: 200, ...found })
      })
    },
    /** Replaces every text in all JSON responses, except for members with these names. */
    async poison(fixed: RegExp, text: string) {
      await opened.page.route(
        ({ pathname }) => pathname.startsWith(`${prefix}/`) && !pathname.endsWith('/stream'),
        async (route) => {
          const response = await route.fetch()
          if (response.headers()['content-type'] !== 'application/json') return route.fulfill({ response })
          await route.fulfill({ response, json: withTexts(await response.json(), fixed, text) })
        },
      )
    },
    /** Ends all replacements. */
    heal: () => opened.page.unrouteAll({ behavior: 'ignoreErrors' }),
    /** The test causes failed responses, which the browser reports. */
    allowFailures() {
      areFailuresAllowed = true
    },
  }
}

/** What an attacker may send in any field: a script URL, markup, and many characters. */
export const markup = `javascript:globalThis.isHacked=true//<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>${'x'.repeat(5_000)}`
/** The same with direction marks and control characters. */
export const hostile = `EVIL\u202eLOOC\u2066\u200f${Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join('')}${markup}`

function withTexts(value: unknown, fixed: RegExp, text: string): unknown {
  let count = 0
  const replace = (one: unknown, key: string): unknown => {
    if (typeof one === 'string') return fixed.test(key) ? one : `${text}${++count}`
    if (Array.isArray(one)) return one.map((item) => replace(item, key))
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, replace(member, name)]))
  }
  return replace(value, '')
}

// oxlint-disable-next-line no-control-regex -- these must not reach the page
const unsafe = /[\u0000-\u0008\u000e-\u001f\u200f\u202e\u2066]/gu

/** The page is not cut, has no element or link from its data, and shows no control characters. */
export async function expectHarmless(page: Page, place: string): Promise<void> {
  expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
  expect([place, await page.locator('main :is(img, script, iframe, object)').count()]).toEqual([place, 0])
  const shown = await page.locator('main').innerText()
  expect([place, shown.match(unsafe)?.map((one) => one.charCodeAt(0)) ?? []]).toEqual([place, []])
  const hrefs = await page.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
  expect([place, hrefs.filter((href) => !/^(#\/|https:\/\/[a-z.]+\/|\.\/api)/.test(href))]).toEqual([place, []])
}
