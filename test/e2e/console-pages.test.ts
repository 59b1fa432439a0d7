import { describe, expect, test } from 'vitest'
import { findBarriers, hasBrowser, sidewaysScroll } from '../support/browser.ts'
import { bodyId, conflict } from '../support/console-samples/c.ts'
import { idOf, overview } from '../support/console-samples/a.ts'
import { axeMs, hostileTexts, setUpConsolePages, withTexts } from '../support/console-pages.ts'
import { consoleSamples, failed, ok } from '../support/fake-console-api.ts'

const open = (key: string) => `open=${encodeURIComponent(key)}`

/** Every page, and what says that it is loaded. */
const places: readonly (readonly [place: string, text: string])[] = [
  ['/', 'Problems'],
  ['/events', 'bought'],
  [`/events?${open(idOf(7))}`, 'Payload'],
  [`/events/${idOf(7)}`, 'Payload'],
  ['/dead-letters', 'Error groups'],
  [`/dead-letters?${open('5')}`, 'Blocks its key'],
  ['/handlers', 'Breaker open'],
  [`/handlers?${open('chat')}`, '5 sends failed in a row'],
  ['/deliveries', 'Downtime'],
  ['/deliveries/rejected', 'signature_mismatch'],
  [`/deliveries/rejected?${open('r1')}`, 'The digest is written in base64'],
  ['/deliveries/quarantine', 'evt_1'],
  [`/deliveries/quarantine?${open(bodyId)}`, 'compressed, cut'],
  ['/deliveries/conflicts', 'evt_00000000000000000000000007'],
  [`/deliveries/conflicts?${open(`${conflict.digest} ${conflict.event_id}`)}`, 'lines differ'],
  ['/deliveries/drift', 'data.gas_usd'],
  ['/replays', '42 %'],
  [`/replays?${open('3')}`, 'Cancel replay'],
  ['/replays?start=1', 'Live events always go first.'],
  ['/system', 'INBOX_PORT'],
  ['/system/secrets', 'never used'],
  ['/system/replicas', 'leader'],
  ['/system/audit', 'handler.pause'],
  ['/system/database', 'Blocked keys'],
]

// oxlint-disable-next-line no-control-regex -- these must not reach the page
const unsafe = /[\u0000-\u0008\u000e-\u001f\u200f\u202e\u2066]/gu
const toCode = (character: string) => `U+${character.charCodeAt(0).toString(16)}`
const hostileMs = { timeout: 120_000 }

describe.skipIf(!hasBrowser)('every page of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpConsolePages()

  test.each(places)(
    '%s has no barrier in light and dark, and cuts nothing at 390 px',
    { timeout: axeMs },
    async (place, text) => {
      const page = await pages.visit(place)
      await page.getByText(text).first().waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.setViewportSize({ width: 390, height: 844 })
      expect(await sidewaysScroll(page)).toBe(0)
      expect(await findBarriers(page)).toEqual([])
    },
  )

  test.each(hostileTexts)('%s in every field is text on every page', hostileMs, async (_name, text) => {
    for (const path of Object.keys(consoleSamples)) {
      if (path !== '/session') pages.api.answer(`GET ${path}`, ok(withTexts(consoleSamples[path], text)))
    }
    for (const [place] of places) {
      const page = await pages.visit(place)
      await page.setViewportSize({ width: 390, height: 844 })
      await page.locator('h1').waitFor()
      await page.locator('.ui-skeleton').first().waitFor({ state: 'detached' })
      expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
      expect([place, await page.locator('main :is(img, script)').count()]).toEqual([place, 0])
      const shown = await page.locator('main').innerText()
      expect([place, shown.match(unsafe)?.map(toCode) ?? []]).toEqual([place, []])
    }
  })

  test('no link of an event leads anywhere but to its explorer', async () => {
    const place = `/events/${idOf(7)}`
    const page = await pages.visit(place, {
      [`GET ${place}`]: ok(withTexts(consoleSamples[place], 'javascript:globalThis.isHacked=true//')),
    })
    await page.getByText('Payload').waitFor()
    const hrefs = await page.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    expect(hrefs.filter((href) => !/^(#\/|https:\/\/[a-z.]+\/)/.test(href))).toEqual([])
  })

  test('an unknown address has a page that links to the overview', async () => {
    const page = await pages.visit('/nowhere')
    await page.getByText('There is no page here').waitFor()
    expect(await page.locator('.ui-empty').getByRole('link').getAttribute('href')).toBe('#/')
  })

  test.each(places.filter(([place]) => !/open=|start=|database/.test(place)))(
    '%s shows an error with Retry, and loads once it is gone',
    async (place, text) => {
      const calls = Object.keys(consoleSamples).filter((path) => path !== '/session')
      const page = await pages.visit(
        place,
        Object.fromEntries(calls.map((path) => [`GET ${path}`, failed(503, 'store_unavailable', 'the disk is gone')])),
      )
      await page.getByText('the disk is gone').first().waitFor()
      pages.forget()
      for (const path of calls) pages.api.answer(`GET ${path}`, ok(consoleSamples[path]))
      await expect
        .poll(async () => {
          const button = page.getByRole('button', { name: 'Retry', exact: true }).first()
          const isLeft = await button.isVisible()
          if (isLeft) await button.click()
          return isLeft
        })
        .toBe(false)
      await page.getByText(text).first().waitFor()
      pages.forget()
    },
  )

  test.each([
    ['/events', { 'GET /events': ok({ data: [], next_cursor: null, searched_to: null }) }, 'No events yet'],
    ['/dead-letters', { 'GET /dead-letters': ok({ data: [], next_cursor: null }) }, 'No dead letters'],
    ['/handlers', { 'GET /handlers': ok({ paused: false, data: [], next_cursor: null }) }, 'No handlers'],
    [
      '/deliveries/rejected',
      { 'GET /rejects': ok({ data: [], dropped_groups: 0 }) },
      'Nothing rejected since the start',
    ],
    ['/deliveries/quarantine', { 'GET /quarantine': ok({ data: [], next_cursor: null }) }, 'Quarantine is empty'],
    ['/deliveries/conflicts', { 'GET /conflicts': ok({ data: [], next_cursor: null }) }, 'No conflicts'],
    ['/deliveries/drift', { 'GET /drift': ok({ data: [] }) }, 'Events match their documentation'],
    ['/replays', { 'GET /replays': ok({ data: [], next_cursor: null }) }, 'No replays yet'],
    ['/system/audit', { 'GET /audit': ok({ data: [], next_cursor: null }) }, 'No actions yet'],
    ['/', { 'GET /overview': ok({ ...overview, events: 0 }) }, 'onchain-inbox trigger wallet.large_trade'],
  ])('%s says without data what would appear', async (place, answers, text) => {
    const page = await pages.visit(place, answers)
    await page.getByText(text).first().waitFor()
  })

  test('a viewer is offered nothing that changes anything', async () => {
    const verbs = /^(Requeue|Drop|Retry|Pause|Resume|Concurrency|Try|Start|Cancel|Acknowledge|Find|Replay)/
    for (const [place, text] of places.filter(([one]) => one !== '/replays?start=1' && !one.includes('/replays?'))) {
      const page = await pages.visit(place, { 'GET /session': ok({ role: 'viewer', expires_at: null }) })
      await page.getByText(text).first().waitFor()
      expect([place, await page.getByRole('button', { name: verbs }).count()]).toEqual([place, 0])
      expect(await page.getByRole('checkbox').count()).toBe(0)
    }
  }, 60_000)

  test('what is open and what is filtered is in the address', async () => {
    const page = await pages.visit(`/dead-letters?handler=ledger&${open('5')}`)
    await page.getByLabel('Stack trace').waitFor()
    expect(pages.api.read).toContain('/dead-letters?handler=ledger&limit=100')
    await page.keyboard.press('Escape')
    await page.getByLabel('Stack trace').waitFor({ state: 'detached' })
    expect(page.url()).toMatch(/#\/dead-letters\?handler=ledger$/)
  })
})

describe.skipIf(!hasBrowser)('the frame of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpConsolePages()
  const signedOut = failed(401, 'unauthorized', 'sign in first')

  test('a wrong token is refused in words, a right one leads to the page that was asked for', async () => {
    const page = await pages.visit('/system/audit', { 'GET /session': signedOut })
    await page.getByLabel('Token', { exact: true }).fill(' wrong ')
    pages.api.answer('POST /session', failed(401, 'unauthorized', 'the token is unknown'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('the token is unknown').waitFor()
    expect(pages.api.asked.at(-1)).toEqual({ call: 'POST /session', body: { token: 'wrong' } })
    pages.api.answer('POST /session', ok({ role: 'operator', expires_at: null }))
    pages.api.answer('GET /session', ok({ role: 'operator', expires_at: null }))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('handler.pause').waitFor()
    pages.forget()
  })

  test('a session that ends leads to the sign-in, and says so', async () => {
    const page = await pages.visit('/events')
    await page.getByText('bought').first().waitFor()
    pages.api.answer('GET /session', signedOut)
    pages.api.answer('GET /handlers', signedOut)
    await page.getByRole('link', { name: 'Handlers' }).click()
    await page.getByText('Your session has ended').waitFor()
    expect(page.url()).toContain('#/handlers')
    pages.forget()
  })

  test('signing out ends the session', async () => {
    const page = await pages.visit('/', { 'DELETE /session': ok({ signed_out: true }) })
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    pages.api.answer('GET /session', signedOut)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(pages.api.asked).toEqual([{ call: 'DELETE /session', body: null }])
    pages.forget()
  })

  test('the navigation counts dead letters, open breakers and quarantined bodies, as the stream reports', async () => {
    const page = await pages.visit('/events')
    await page.getByRole('link', { name: 'Dead letters 4' }).waitFor()
    await page.getByRole('link', { name: 'Handlers 1' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    pages.api.publish('overview', { ...overview, dead_letters: 12_345, quarantined: 0 })
    await page.getByRole('link', { name: 'Dead letters 12,345' }).waitFor()
    expect(await page.getByRole('link', { name: 'Deliveries', exact: true }).count()).toBe(1)
  })

  test('a lost stream is shown, and everything is read again once it is back', async () => {
    const page = await pages.visit('/system/audit')
    await page.getByText('Live', { exact: true }).waitFor()
    pages.api.answer('GET /stream', failed(503, 'overloaded', 'too many streams'))
    pages.api.breakStreams()
    await page.getByText('Reconnecting').waitFor()
    const before = pages.api.read.filter((path) => path.startsWith('/audit')).length
    pages.api.answer('GET /stream', null)
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => pages.api.read.filter((path) => path.startsWith('/audit')).length).toBeGreaterThan(before)
    pages.forget()
  })

  test('Ctrl-K jumps to a page, a handler, an address or an event', async () => {
    const page = await pages.visit('/')
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    const jump = async (text: string, option: RegExp) => {
      await page.keyboard.press('Control+k')
      await page.getByLabel('Jump to', { exact: true }).fill(text)
      await page.getByRole('button', { name: option }).click()
    }
    await jump('conf', /Conflicts/)
    await page.getByRole('tab', { name: 'Conflicts', selected: true }).waitFor()
    await jump('ledger', /ledger Handler/)
    await page.getByRole('complementary', { name: 'Handler' }).waitFor()
    await jump(idOf(7), /Event id/)
    await page.getByText('Payload').waitFor()
    await jump(`0x${'ab'.repeat(20)}`, /Address/)
    await expect.poll(() => page.url()).toContain('#/events?address=0xabab')
    await jump('two words', /Search bodies/)
    await expect.poll(() => page.url()).toContain('#/events?q=two+words')
  })

  test('a phone has the navigation in a drawer, which closes after a choice', async () => {
    const page = await pages.visit('/events')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Replays' }).click()
    await page.getByRole('heading', { name: 'Replays' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('the colour scheme is kept in the browser', async () => {
    const page = await pages.visit('/')
    await page.getByLabel('Colour scheme').selectOption('dark')
    await page.reload()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
    await page.getByLabel('Colour scheme').selectOption('auto')
  })

  test('pages open in a browser whose language is no language tag', async () => {
    const page = await pages.visit('/')
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })`,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
  })
})
