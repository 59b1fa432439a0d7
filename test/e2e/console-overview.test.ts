import { describe, expect, test } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import {
  asViewer,
  axeMs,
  expectAsText,
  expectForEverybody,
  hostileTexts,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { activityOf, overview, sender, warnings } from '../support/console-samples/b.ts'
import type { FakeAnswerOf } from '../support/fake-api-server.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

const activity: FakeAnswerOf = (query) => ok(activityOf(query.get('window') === 'day' ? 'day' : 'hour'))
const answers = { 'GET /overview': ok(overview), 'GET /activity': activity }

describe.skipIf(!hasBrowser)('the overview of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const console = setUpConsolePages()

  test('what needs attention comes first, the most urgent on top, with what it means, what to do, and the way to it', async () => {
    const page = await console.visit('/', answers)
    const list = page.getByRole('list', { name: 'What needs attention' })
    await list.waitFor()
    expect(await page.locator('main h2').first().textContent()).toBe('What needs attention')
    const items = list.getByRole('listitem')
    expect(await items.count()).toBe(warnings.length)
    for (const text of ['critical', warnings[0]?.title, warnings[0]?.text]) {
      expect(await items.first().textContent()).toContain(text)
    }
    await items
      .nth(1)
      .getByRole('link', { name: /Look at it/ })
      .click()
    await page.waitForURL(/#\/dead-letters\?handler=ledger$/)
  })

  test('R115 a bar shows how much of the 5 s of the sender is used, and what is not all is not rounded to all', async () => {
    const page = await console.visit('/', {
      ...answers,
      'GET /overview': ok({ ...overview, sender: { ...sender, success_rate: 0.99999 } }),
    })
    const meter = page.getByRole('meter')
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuetext')).toBe('p99 2.75 s of 5 s (55 %)')
    expect(await meter.getAttribute('aria-valuemax')).toBe('5000')
    const width = Number(await meter.locator('rect').first().getAttribute('width'))
    expect(width).toBeCloseTo(55)
    await page.getByText('> 99.99 %', { exact: true }).waitFor()
  })

  test('figures lead to what they count, and are those that the stream tells from then on', async () => {
    const page = await console.visit('/', answers)
    const links = { 'Dead letters': '#/dead-letters', Quarantine: '#/quarantine', Rejects: '#/rejects' }
    for (const [name, href] of Object.entries(links)) {
      const value = page.locator('.ui-facts > div').filter({ hasText: name }).getByRole('link')
      expect(await value.getAttribute('href')).toBe(href)
    }
    await page.getByText('977 KiB').waitFor()
    await page.getByText('12.5/s').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    console.api.publish('overview', {
      ...overview,
      events_per_second: 77.7,
      warnings: [],
    })
    await page.getByText('77.7/s').waitFor()
    await page.getByText('Nothing needs a look now.').waitFor()
  })

  test('charts say their course in words and as tables; last hour or last day is in the address', async () => {
    const page = await console.visit('/', answers)
    const byType = page.getByRole('img', { name: /^Events by type: from 2026-01-31 13:00:00 to/ })
    await byType.waitFor()
    const said = (await byType.getAttribute('aria-label')) ?? ''
    expect(said).toContain('kind.number_0 1,392 in all')
    // The seventh and the eighth: all that is in no other.
    expect(said).toContain('other types 522 in all')
    expect(said).not.toContain('kind.number_7')
    expect(await byType.locator('canvas').count()).toBe(1)
    await page.getByRole('img', { name: /^Events by network: .*no network 1,392 in all/ }).waitFor()
    const acks = page.getByRole('img', {
      name: /^Time to acknowledge: .*p99 99 ms at last.*what the sender waits is 5 s$/,
    })
    await acks.waitFor()
    await page
      .getByRole('img', { name: /^Refused deliveries: .*refused 12 in all, most 12 at 2026-01-31 13:30:00/ })
      .waitFor()

    await page.getByText('As a table').nth(3).click()
    const table = page.getByRole('region', { name: 'Refused deliveries, as a table' })
    await table.locator('tbody tr').first().waitFor()
    expect(await table.locator('tbody tr').count()).toBe(1)
    expect(await table.locator('tbody').textContent()).toContain('12')

    await page.getByRole('button', { name: 'Last day' }).click()
    await page.waitForURL(/#\/\?window=day$/)
    await page.getByRole('img', { name: /^Events by type: from 2026-01-30 14:00:00/ }).waitFor()
    await page.reload()
    await page.getByRole('img', { name: /^Events by type: from 2026-01-30 14:00:00/ }).waitFor()
    expect(await page.getByRole('button', { name: 'Last day' }).getAttribute('aria-pressed')).toBe('true')
    expect(console.api.read.filter((path) => path.startsWith('/activity')).at(-1)).toBe('/activity?window=day')
  })

  test('values below the pointer are told beside their names', async () => {
    const page = await console.visit('/', answers)
    const plot = page.getByRole('img', { name: /^Events by type/ })
    await plot.waitFor()
    const over = plot.locator('.u-over')
    await over.hover({ position: { x: 2, y: 20 } })
    await page.getByText('2026-01-31 13:00:00 UTC:').waitFor()
    await plot.locator('xpath=..').getByText('kind.number_0 0').waitFor()
  })

  test('where no event has come yet it says how the first one comes, and goes on by itself once it is there', async () => {
    const empty = { ...overview, events: 0, rejects: 0, sender: null, warnings: [] }
    const page = await console.visit('/', { ...answers, 'GET /overview': ok(empty) })
    await page.getByRole('heading', { name: 'No event has come yet' }).waitFor()
    await page.getByText(/^onchain-inbox trigger wallet\.large_trade --url/).waitFor()
    await page.getByText(/^onchain-inbox subscribe --url/).waitFor()
    await page.getByText('No receiver runs in this process').waitFor()
    expect(await page.locator('main canvas').count()).toBe(0)
    await expectForEverybody(page, ['dark'])
    await page.getByText('live', { exact: true }).waitFor()
    console.api.publish('overview', { ...empty, rejects: 3 })
    await page.getByRole('link', { name: 'see why' }).waitFor()
    console.api.publish('overview', { ...empty, events: 1 })
    await page.getByRole('img', { name: /^Events by type/ }).waitFor()
    expect(await page.getByText('No event has come yet').count()).toBe(0)
  })

  test.each([
    ['http://0.0.0.0:9090/in', 'http://127.0.0.1:9090/in', 'to the address that is set'],
    ['https://[::]:9443/in', "'https://[::1]:9443/in'", 'to the address that is set'],
    ['http://127.0.0.1:0/in', 'http://127.0.0.1:PORT/in', 'at the address in the log line listening'],
  ])('the first test goes where the receiver is: %s', async (value, url, where) => {
    const row = { name: 'webhook address', value, source: 'environment', secret: false }
    const page = await console.visit('/', {
      ...answers,
      'GET /overview': ok({ ...overview, events: 0 }),
      'GET /settings': ok({ settings: [row], secrets: [] }),
    })
    const command = `onchain-inbox trigger wallet.large_trade --url ${url} --secret env:WEBHOOK_SECRET`
    await page.getByText(command, { exact: true }).waitFor()
    await page.getByText(where).waitFor()
  })

  test('it is asked for once at the start, and anew when its page is opened later', async () => {
    const page = await console.visit('/', answers)
    const asked = () => console.api.read.filter((path) => path === '/overview').length
    await page.getByRole('img', { name: /^Events by type/ }).waitFor()
    expect(asked()).toBe(1)
    await page.getByRole('link', { name: 'Settings' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    expect(asked()).toBe(1)
    await page.getByRole('link', { name: 'Overview' }).click()
    await until(() => asked() === 2, 'the overview to be asked for')
  })

  test('what cannot be asked for says why, and comes with another try; charts without anything say so', async () => {
    const page = await console.visit('/', {
      ...answers,
      'GET /overview': failed(503, 'store_unavailable', 'the disk is gone'),
    })
    await page.getByRole('alert').getByText('the disk is gone').waitFor()
    console.forget()
    const { buckets, ...rest } = activityOf('hour')
    const none = buckets.map(({ at }) => ({ at, events: 0, acks: null }))
    console.api.answer('GET /activity', ok({ ...rest, buckets: none, by_type: [], by_network: [] }))
    console.api.answer('GET /overview', ok(overview))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('This process acknowledged nothing in this time.').waitFor()
    expect(await page.getByText('Nothing came in this time.').count()).toBe(2)
  })

  test('after a break of the stream it is asked for anew; new values are drawn into the charts that are there', async () => {
    const page = await console.visit('/', answers)
    await page.getByText('live', { exact: true }).waitFor()
    const plot = page.getByRole('img', { name: /^Refused deliveries/ })
    const canvas = await plot.locator('canvas').elementHandle()
    const before = await plot.screenshot()
    const { buckets, ...rest } = activityOf('hour')
    const refused = buckets.map((bucket) => ({ ...bucket, acks: { p50_ms: 1, p99_ms: 2, refused: 9 } }))
    console.api.answer('GET /activity', ok({ ...rest, buckets: refused }))
    console.api.answer('GET /overview', ok({ ...overview, events_per_second: 55.5 }))
    await until(() => console.api.listeners > 0, 'the stream')
    console.api.breakStreams()
    await page.getByText('55.5/s').waitFor()
    await page.getByRole('img', { name: /refused 540 in all/ }).waitFor()
    expect(await plot.locator('canvas').evaluate((now, then) => now === then, canvas)).toBe(true)
    expect((await plot.screenshot()).equals(before)).toBe(false)
  })

  test(
    'it is well for everybody: axe in light and dark, and a phone; also for a viewer',
    async () => {
      const page = await console.visit('/', { ...answers, ...asViewer })
      await page.getByRole('img', { name: /^Refused/ }).waitFor()
      await expectForEverybody(page)
    },
    axeMs,
  )

  test.each(hostileTexts)('text from elsewhere is shown as text: %s', async (_name, text) => {
    const activityOfIt = withTexts(activityOf('hour'), text)
    const page = await console.visit('/', {
      'GET /overview': ok(withTexts(overview, text)),
      'GET /activity': ok({ ...activityOfIt, window: 'hour' }),
    })
    await page.getByRole('img', { name: /^Events by network/ }).waitFor()
    // Two warnings with subject, title, text; six types, two networks.
    await expectAsText(page, text, 6 + 8)
    expect(await page.locator('main a[href^="#/"]').count()).toBeGreaterThan(4)
    expect(await page.locator('main a:not([href^="#/"])').count()).toBe(0)
  })

  test('it is there in a browser whose language is none, as that of Chromium under LANG=C', async () => {
    const page = await console.visit('/')
    const cannot = `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })`
    await page.addInitScript(cannot)
    await page.reload()
    expect(await page.evaluate(() => Intl.getCanonicalLocales(navigator.language))).toEqual(['en-US'])
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })
})
