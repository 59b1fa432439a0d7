import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest'
import type { Pages } from '../../src/base/http/page-files.ts'
import { arrivalOf, createDeadLetters } from '../fixtures/stored-events.ts'
import { adminToken } from '../integration/admin-app.ts'
import { startAdmin } from '../integration/admin-server.ts'
import { AppServer } from '../support/app-server.ts'
import { hasBrowser, launchBrowser } from '../support/browser.ts'

/** An id that only the data has. */
const secret = 'evt_nobody_else_may_see'
const html = '<!doctype html><title>a page</title><p>text of the page</p>'

/** Replaces the console: the headers and checks of the server protect any page. */
const pages: Pages = {
  isFor: ({ url }) => url === '/',
  handle(_request, response) {
    const policy = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
    const headers = { 'Content-Security-Policy': policy, 'Cross-Origin-Opener-Policy': 'same-origin' }
    response.writeHead(200, { 'Content-Type': 'text/html', ...headers }).end(html)
  },
}

/** Runs in a foreign page: calls the admin port at `target` in the ways a page can. Returns the text that each way could read. */
async function attack(target: string): Promise<Record<string, string>> {
  const read = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${target}${path}`, { credentials: 'include', ...init })
    return `${response.type} ${response.status} ${await response.text()}`
  }
  const byScript = (path: string) =>
    new Promise<string>((resolve) => {
      const element = Object.assign(document.createElement('script'), { src: `${target}${path}` })
      element.addEventListener('load', () => resolve('loaded'))
      element.addEventListener('error', () => resolve('failed'))
      document.body.append(element)
    })
  /** Loads a frame, or submits a form into it. */
  const byFrame = (path: string, isForm = false) =>
    new Promise<string>((resolve) => {
      const frame = Object.assign(document.createElement('iframe'), { name: `frame${path}` })
      frame.addEventListener('load', () => {
        try {
          // The first load of a frame for a form is that of the empty frame.
          if (isForm && frame.contentWindow?.location.href === 'about:blank') return
          resolve(`read ${frame.contentDocument?.body.innerText ?? 'null'}`)
        } catch (error) {
          resolve(`blocked ${String(error)}`)
        }
      })
      if (!isForm) frame.src = `${target}${path}`
      document.body.append(frame)
      if (!isForm) return
      const form = document.createElement('form')
      Object.assign(form, { method: 'POST', action: `${target}${path}`, enctype: 'text/plain', target: frame.name })
      form.innerHTML = `<input name='{"all":true,"x":"' value='"}'>`
      document.body.append(form)
      form.submit()
    })
  const byStream = () =>
    new Promise<string>((resolve) => {
      const source = new EventSource(`${target}/api/v1/stream`, { withCredentials: true })
      source.onopen = () => resolve('opened')
      source.onerror = () => resolve('failed')
    })
  const requeue = '/api/v1/dead-letters/requeue'
  const post = (type: string) => ({ method: 'POST', headers: { 'Content-Type': type }, body: '{"all":true}' })
  const ways: Readonly<Record<string, Promise<string>>> = {
    fetch: read('/api/v1/events'),
    'fetch without CORS': read('/api/v1/events', { mode: 'no-cors' }),
    'post as JSON': read(requeue, post('application/json')),
    'post as text': read(requeue, { ...post('text/plain'), mode: 'no-cors' }),
    'post without a body': read('/api/v1/pause', { method: 'POST', mode: 'no-cors' }),
    'sign-out': read('/api/v1/session', { method: 'DELETE' }),
    script: byScript('/api/v1/events'),
    form: byFrame(requeue, true),
    'frame of the page': byFrame('/'),
    'frame of data': byFrame('/api/v1/events'),
    stream: byStream(),
  }
  const seen = Object.entries(ways).map(
    async ([way, text]) => [way, await text.catch((error: unknown) => `blocked ${String(error)}`)] as const,
  )
  return { ...Object.fromEntries(await Promise.all(seen)), cookies: document.cookie }
}

describe.skipIf(!hasBrowser)('a hostile page in a signed-in browser (needs Chromium: set CHROMIUM_PATH)', () => {
  let browser: Browser
  /** Serves a page of another origin on loopback. */
  let foreign: AppServer
  let stage: Awaited<ReturnType<typeof startAdmin>>
  let context: BrowserContext
  /** The signed-in page of the admin port. */
  let adminPage: Page

  beforeAll(async () => {
    // Not every browser has these protections of Chromium, so they are off.
    const features = 'LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights'
    browser = await launchBrowser([
      '--host-resolver-rules=MAP evil.example 127.0.0.1',
      `--disable-features=${features}`,
    ])
    foreign = await AppServer.start()
    foreign.answer = () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: html })
  }, 60_000)
  afterAll(async () => {
    await browser.close()
    await foreign[Symbol.asyncDispose]()
  })

  beforeEach(async () => {
    stage = await startAdmin({ pages })
    await stage.inbox.accept([arrivalOf(secret)])
    await createDeadLetters(stage.inbox, ['evt_dead'])
    context = await browser.newContext({ locale: 'en-US' })
    adminPage = await context.newPage()
    await adminPage.goto(`http://127.0.0.1:${stage.port}/`)
    const body = JSON.stringify({ token: adminToken })
    expect(await callFrom(adminPage, '/api/v1/session', { method: 'POST', body })).toMatchObject({ status: 201 })
  })
  afterEach(async () => {
    await context.close()
    await stage[Symbol.asyncDispose]()
  })

  const callFrom = (page: Page, path: string, init: { method?: string; body?: string } = {}) =>
    page.evaluate(
      async ([url, options]) => {
        const response = await fetch(url, { ...options, headers: { 'Content-Type': 'application/json' } })
        return { status: response.status, text: await response.text() }
      },
      [path, init] as const,
    )

  /** The server rejected every request but that for the page, which holds no data. Nothing changed, and the session is valid. */
  async function expectUntouched() {
    const requests = stage.answered.slice(1 + stage.answered.findIndex(({ method }) => method === 'POST'))
    const accepted = requests.filter(({ status }) => ![401, 403, 404, 405].includes(status))
    expect(accepted.filter(({ method, url }) => method !== 'GET' || url !== '/')).toEqual([])
    expect(requests.filter(({ url }) => url.startsWith('/api/v1')).length).toBeGreaterThan(4)
    const { paused, handlers } = await stage.inbox.stats()
    expect([paused, handlers]).toMatchObject([
      false,
      [{ handler: 'trades', dead: 1, paused: false, concurrency: null }],
    ])
    expect((await callFrom(adminPage, '/api/v1/events')).text).toContain(secret)
  }

  test('the signed-in page may make all the calls that hostile pages try', async () => {
    const events = await callFrom(adminPage, '/api/v1/events')
    expect([events.status, events.text]).toEqual([200, expect.stringContaining(secret)])
    const opened = await adminPage.evaluate(
      () =>
        new Promise((resolve) => {
          const source = new EventSource('/api/v1/stream')
          source.onopen = () => resolve(source.close())
          source.onerror = () => resolve('failed')
        }),
    )
    expect(opened).toBeUndefined()
    expect((await callFrom(adminPage, '/api/v1/pause', { method: 'POST' })).status).toBe(200)
    const body = '{"all":true}'
    expect((await callFrom(adminPage, '/api/v1/dead-letters/requeue', { method: 'POST', body })).status).toBe(200)
    expect(await stage.inbox.stats()).toMatchObject({ paused: true, handlers: [{ dead: 0 }] })
  })

  test.each([
    // The same site: the browser sends the cookie.
    ['another port of the host', '127.0.0.1'],
    ['another site', 'evil.example'],
  ])('a page on %s reads nothing and changes nothing', { timeout: 60_000 }, async (_where, host) => {
    const other = await context.newPage()
    await other.goto(`http://${host}:${foreign.port}/`)
    const seen = await other.evaluate(attack, `http://127.0.0.1:${stage.port}`)
    expect(Object.keys(seen)).toHaveLength(12)
    for (const [way, text] of Object.entries(seen))
      expect([way, text]).toEqual([way, expect.stringMatching(/^(?:blocked |failed|opaque 0 $|read null$|$)/)])
    await expectUntouched()
  })
})
