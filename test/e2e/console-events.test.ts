import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { EventSummaryJson } from '../../src/web/console/contract.ts'
import { hasBrowser } from '../support/browser.ts'
import {
  expectAsText,
  expectForEverybody,
  hostileTexts,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { idOf, summaryOf } from '../support/console-samples/a.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import type { FakeAnswerOf } from '../support/fake-api-server.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { counts } from '../counts.ts'

const { scrolledRows } = counts

/** Events 1 to `last`, a page at a time, as the admin API gives them. */
function pagesOf(last: number): FakeAnswerOf {
  return (query) => {
    const limit = Number(query.get('limit'))
    const newest = Number(query.get('cursor') ?? last)
    const data = Array.from({ length: Math.min(limit, newest) }, (_, index) => summaryOf(newest - index))
    const next = newest - limit
    return ok({ data, next_cursor: next > 0 ? String(next) : null, searched_to: data.at(-1)?.received_at ?? null })
  }
}

const rowsOf = (page: Page) => page.locator('main [data-row]')
const rowOf = (page: Page, seq: number) => page.locator(`main [data-row]:has(a[href="#/events/${idOf(seq)}"])`)
const listOf = (page: Page) => page.locator('[data-row-box]')
const live = (page: Page) => page.getByText('live', { exact: true }).waitFor()

function told(...events: readonly EventSummaryJson[]) {
  return { data: events, skipped: 0 }
}

describe.skipIf(!hasBrowser)('the events in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('rows are moved through with j and k, opened with Enter, and the way back leads to the same list', async () => {
    const page = await on.visit('/events')
    await rowOf(page, 20).waitFor()
    await page.getByText('20 loaded').waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('href'))
    await page.keyboard.press('j')
    expect(await focused()).toBe(`#/events/${idOf(20)}`)
    for (let step = 0; step < 14; step++) await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    expect(await focused()).toBe(`#/events/${idOf(7)}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'wallet.large_trade' }).waitFor()
    await page.goBack()
    await rowsOf(page).first().waitFor()
    expect(await page.title()).toBe('Events – Inbox')
  })

  test('filters stand in the address: the server is asked with them, a reload keeps them, the back button undoes them', async () => {
    const page = await on.visit('/events')
    await rowsOf(page).first().waitFor()
    await page.getByLabel('Type').selectOption('pump.graduation')
    await page.getByLabel('Network').selectOption('solana')
    await page.getByLabel('Status').selectOption('dead')
    await page.getByLabel('Address').fill(' 0xAB ')
    await page.getByLabel('Address').press('Enter')
    await page.getByLabel('Words in the body').fill('rug pull & more')
    await page.getByLabel('Words in the body').press('Enter')
    const query = 'type=pump.graduation&network=solana&address=0xAB&status=dead&q=rug+pull+%26+more'
    await page.waitForURL(`${on.api.url}/#/events?${query}`)
    await page.waitForFunction(() => document.querySelector('[data-row]') !== null)
    expect(on.api.read.at(-1)).toBe(`/events?${query}&limit=200`)

    await page.reload()
    await rowsOf(page).first().waitFor()
    expect(await page.getByLabel('Type').inputValue()).toBe('pump.graduation')
    expect(await page.getByLabel('Address').inputValue()).toBe('0xAB')
    expect(await page.getByLabel('Words in the body').inputValue()).toBe('rug pull & more')
    expect(on.api.read.findLast((path) => path.startsWith('/events?'))).toBe(`/events?${query}&limit=200`)

    await page.goBack()
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[type="search"]')?.value === '')
    expect(await page.getByLabel('Address').inputValue()).toBe('0xAB')
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.waitForURL(`${on.api.url}/#/events`)
    await page.waitForFunction(() => document.querySelector<HTMLSelectElement>('main select')?.value === '')
  })

  test('a time is chosen as a span back from now, or as a beginning and an end in UTC', async () => {
    const page = await on.visit('/events')
    await page.getByLabel('Time').selectOption('Last day')
    await page.waitForURL(/last=day$/)
    await rowsOf(page).first().waitFor()
    const from = new URLSearchParams(on.api.read.findLast((path) => path.includes('from='))?.split('?')[1]).get('from')
    const ageMs = Date.now() - Date.parse(from ?? '')
    expect(Math.abs(ageMs - 86_400_000)).toBeLessThan(60_000)

    await page.getByLabel('Time').selectOption('From … to …')
    await page.getByLabel('From (UTC)').fill('2026-01-31T13:00')
    await page.getByLabel('To (UTC)').fill('2026-01-31T15:30')
    await page.waitForURL(/from=2026-01-31T13%3A00%3A00\.000Z&to=2026-01-31T15%3A30%3A00\.000Z$/)
    // What has an end has nothing to come.
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    await page.reload()
    expect(await page.getByLabel('To (UTC)').inputValue()).toBe('2026-01-31T15:30')
  })

  test(
    'thousands of rows are loaded as one scrolls, and only those that are seen are in the page',
    { timeout: 60_000 },
    async () => {
      const page = await on.visit('/events', { 'GET /events': pagesOf(scrolledRows) })
      await page.getByText('200 loaded, there are more').waitFor()
      let most = 0
      // Each step shows the end of what is loaded, so that more is.
      for (let loaded = 400; loaded <= scrolledRows; loaded += 200) {
        await listOf(page).evaluate((box) => box.scrollTo(0, box.scrollHeight))
        await page.waitForFunction((count) => {
          const text = document.querySelector('.ui-list-head')?.textContent ?? ''
          return Number(text.replaceAll(',', '').match(/^\d+/)?.[0]) >= count
        }, loaded)
        most = Math.max(most, await rowsOf(page).count())
      }
      await page.getByText(`${scrolledRows.toLocaleString('en-US')} loaded`, { exact: true }).waitFor()
      await listOf(page).evaluate((box) => box.scrollTo(0, box.scrollHeight))
      await rowOf(page, 1).waitFor()
      expect(most).toBeLessThan(100)
      const asked = on.api.read.filter((path) => path.includes('cursor='))
      expect(new Set(asked).size).toBe(asked.length)

      // Whoever comes back from an event is where they were.
      await page.keyboard.press('j')
      const top = await listOf(page).evaluate((box) => box.scrollTop)
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('there is no GET /events/').waitFor()
      on.forget()
      await page.goBack()
      await rowOf(page, 1).waitFor()
      expect(await listOf(page).evaluate((box) => box.scrollTop)).toBe(top)
      await page.getByText(`${scrolledRows.toLocaleString('en-US')} loaded`, { exact: true }).waitFor()
    },
  )

  test('where the server gave up looking it says how far back it has looked, and goes on when asked', async () => {
    const first = { data: [summaryOf(50)], next_cursor: 'c', searched_to: '2026-01-01T00:00:00.000Z' }
    const page = await on.visit('/events?q=rare', {
      'GET /events': (query) =>
        ok(query.has('cursor') ? { data: [summaryOf(3)], next_cursor: null, searched_to: null } : first),
    })
    await page.getByText('Looked back to 2026-01-01 00:00:00 UTC.').waitFor()
    expect(await rowsOf(page).count()).toBe(1)
    expect(on.api.read.filter((path) => path.includes('cursor='))).toEqual([])
    await page.getByRole('button', { name: 'Continue' }).click()
    await rowOf(page, 3).waitFor()
    expect(await page.getByText('Looked back to').count()).toBe(0)
  })

  test('new ones come in on top; whoever reads further below is not moved, and is told how many wait', async () => {
    const page = await on.visit('/events', { 'GET /events': pagesOf(100) })
    await rowOf(page, 100).waitFor()
    await live(page)
    on.api.answer('GET /events', pagesOf(101))
    on.api.publish('events', told(summaryOf(101, { status: 'pending' })))
    await rowOf(page, 101).getByText('pending').waitFor()
    // Its state is looked up a little later.
    await rowOf(page, 101).getByText('done').waitFor()

    await listOf(page).evaluate((box) => box.scrollTo(0, 1000))
    await rowOf(page, 101).waitFor({ state: 'detached' })
    const place = () => rowOf(page, 70).evaluate((row) => row.getBoundingClientRect().top)
    const before = await place()
    on.api.answer('GET /events', pagesOf(113))
    on.api.publish('events', told(...Array.from({ length: 12 }, (_, index) => summaryOf(113 - index))))
    await page.getByRole('button', { name: '12 new' }).waitFor()
    expect(await place()).toBe(before)
    await page.getByRole('button', { name: '12 new' }).click()
    await rowOf(page, 113).waitFor()
    await page.getByText('113 loaded').waitFor()
    expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0)
  })

  test('a paused tail holds what comes until it goes on; after a break it catches up, and says where it cannot count', async () => {
    const page = await on.visit('/events?network=ethereum', { 'GET /events': pagesOf(100) })
    await rowOf(page, 100).waitFor()
    await live(page)
    await page.keyboard.press('.')
    await page.getByText('paused', { exact: true }).waitFor()
    on.api.answer('GET /events', pagesOf(101))
    on.api.publish('events', told(summaryOf(102, { network: 'solana' }), summaryOf(101)))
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await rowOf(page, 101).count()).toBe(0)

    on.api.answer('GET /events', pagesOf(5000))
    on.api.breakStreams()
    await page.getByRole('button', { name: 'Many new' }).waitFor()
    expect(await rowOf(page, 100).count()).toBe(1)
    await page.getByRole('button', { name: 'Go on' }).click()
    await rowOf(page, 5000).waitFor()
    expect(await rowOf(page, 100).count()).toBe(0)
    await page.getByText('200 loaded, there are more').waitFor()
  })

  test('where a state is filtered by, events that have left it go', async () => {
    const dead = (seq: number) => summaryOf(seq, { status: 'dead' })
    const page = await on.visit('/events?status=dead', {
      'GET /events': ok({ data: [dead(9), dead(8), dead(7)], next_cursor: null, searched_to: null }),
    })
    await rowOf(page, 8).waitFor()
    await live(page)
    on.api.answer('GET /events', ok({ data: [dead(9), dead(7)], next_cursor: null, searched_to: null }))
    on.api.publish('events', told(summaryOf(10, { status: 'pending' })))
    await rowOf(page, 8).waitFor({ state: 'detached' })
    expect(await rowsOf(page).count()).toBe(2)
  })

  test('what is loaded is saved as CSV in which nothing is a formula, and as NDJSON', async () => {
    const cells = [nasty.formula, '+1', '-1', '@a', '\ta', '\ra', 'plain, "quoted"\nline', '＝1'] as const
    const events = cells.map((type, index) => summaryOf(20 - index, { type }))
    const page = await on.visit('/events', {
      'GET /events': ok({ data: events, next_cursor: null, searched_to: null }),
    })
    await rowsOf(page).first().waitFor()
    const save = async (name: string) => {
      const coming = page.waitForEvent('download')
      await page.getByRole('button', { name, exact: true }).click()
      const download = await coming
      return [download.suggestedFilename(), await text(await download.createReadStream())] as const
    }
    const [csvName, csv] = await save('CSV')
    expect(csvName).toBe('events.csv')
    expect(csv.split('\r\n')[0]).toBe('seq,received_at,created_at,id,type,network,address,status')
    expect(csv).toContain(`,"'=HYPERLINK(""http://localhost/"",""click"")",ethereum,`)
    for (const kept of [",'+1,", ",'-1,", ",'@a,", ",'\ta,", `,"'\ra",`, `,"plain, ""quoted""\nline",`, ",'＝1,"])
      expect(csv).toContain(kept)
    const [jsonName, json] = await save('NDJSON')
    expect(jsonName).toBe('events.ndjson')
    expect(
      json
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(events)
    expect(on.api.asked).toEqual([])
  })

  test('types of the inbox itself are offered, and any other one is typed and kept in the address', async () => {
    const page = await on.visit('/events')
    const type = page.getByLabel('Type', { exact: true })
    await type.selectOption('inbox.warning')
    await page.waitForURL(/#\/events\?type=inbox\.warning$/)
    await type.selectOption('another type …')
    const other = page.getByLabel('Another type')
    await other.fill('token.burned')
    await other.press('Enter')
    await page.waitForURL(/#\/events\?type=token\.burned$/)
    await page.reload()
    expect(await other.inputValue()).toBe('token.burned')
    await type.selectOption('inbox.resolved')
    await page.waitForURL(/#\/events\?type=inbox\.resolved$/)
    expect(await other.count()).toBe(0)
  })

  test('no events, none of these filters, and a list that cannot be loaded each say what to do', async () => {
    const none = ok({ data: [], next_cursor: null, searched_to: null })
    const page = await on.visit('/events', { 'GET /events': none })
    await page.getByText('No events yet').waitFor()
    await expectForEverybody(page)
    await page.getByLabel('Status').selectOption('dead')
    await page.getByText('No event matches these filters').waitFor()
    await live(page)
    on.api.answer('GET /events', ok({ data: [summaryOf(1)], next_cursor: null, searched_to: null }))
    await page.getByRole('button', { name: 'Show all events' }).click()
    await rowOf(page, 1).waitFor()

    on.api.answer('GET /events', failed(400, 'bad_request', 'address: got "x", expected an address'))
    await page.getByLabel('Address').fill('x')
    await page.getByLabel('Address').press('Enter')
    await page.getByRole('alert').getByText('address: got "x", expected an address').waitFor()
    on.forget()
    on.api.answer('GET /events', none)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No event matches these filters').waitFor()
  })

  test('is well for everybody, on a phone too, and asks nobody but the inbox', async () => {
    const strangers: string[] = []
    const page = await on.visit('/audit')
    page.on('request', (request) => {
      if (!request.url().startsWith(on.api.url)) strangers.push(request.url())
    })
    await page.getByRole('link', { name: 'Events', exact: true }).click()
    await rowsOf(page).first().waitFor()
    await expectForEverybody(page)
    expect(await findLinkOf(page)).toBe(`#/events/${idOf(20)}`)
    expect(strangers.filter((url) => !url.startsWith('data:'))).toEqual([])
  })

  test.each(hostileTexts)('%s in every field is shown as text', async (_name, text) => {
    const list = { data: [summaryOf(2), summaryOf(1)], next_cursor: null, searched_to: null }
    const page = await on.visit('/events', { 'GET /events': ok(withTexts(list, text)) })
    await rowsOf(page).first().waitFor()
    await expectAsText(page, text, 4)
  })
})

function findLinkOf(page: Page): Promise<string | null> {
  return rowsOf(page).first().getByRole('link').getAttribute('href')
}
