import { describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import type { HandlerJson, HandlerListJson } from '../../src/admin/handlers.ts'
import { hasBrowser } from '../support/browser.ts'
import { counts } from '../counts.ts'
import { arrivalOf, createDeadLetters } from '../fixtures/stored-events.ts'
import { failed, setUpConsole } from '../support/console-visits.ts'
import { idOf, tradeOf, unusableBytes } from '../support/filled-admin.ts'

const rowsIn = (page: Page, caption: string) =>
  page.getByRole('table', { name: caption }).locator('tbody tr[data-index]')
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const inDialog = (page: Page, name: string | RegExp) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
/** Confirms a dialog that closes by itself. */
async function confirm(page: Page, name: string | RegExp) {
  await inDialog(page, name)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}
const gone = failed(503, 'store_unavailable', 'the disk is gone')
const pages = setUpConsole()
const statsOf = async (name: string) =>
  (await pages.stage.inbox.stats()).handlers.find(({ handler }) => handler === name)

describe.skipIf(!hasBrowser)('the overview (needs Chromium: set CHROMIUM_PATH)', () => {
  test('R43 R44 R79 R115 shows five figures with the page that explains each, the course of events, and handlers by trouble', async () => {
    const page = await pages.visit('/')
    const tile = (name: RegExp) => page.locator('.ui-tile').filter({ hasText: name })
    await tile(/Success rate100 %1 delivery, 0 failed/).waitFor()
    await tile(/Acknowledgement p9912 msof 5 s allowed · p50 12 ms/).waitFor()
    await tile(/Pending runs\d+oldest/).waitFor()
    const names = rowsIn(page, 'Handlers and sinks').locator('[role=rowheader]')
    expect(await names.allInnerTexts()).toEqual(['chat', 'old-one', 'large-trades', 'ledger'])
    await page.getByRole('img', { name: /Events by type: wallet.large_trade 20/ }).waitFor()
    await page.getByLabel('Window').selectOption('day')
    await page.getByText('Events per 15 minutes by type').waitFor()
    await expect.poll(() => page.url()).toMatch(/#\/\?window=day$/)
    await tile(/Dead letters4\+4 in the last hour/).click()
    await expect.poll(() => page.url()).toContain('#/dead-letters')
  })

  test('shows problems as one line each, with their action: Try now, Resume, View', async () => {
    const { json } = await pages.stage.call('GET', '/handlers')
    const { data, ...rest } = json as HandlerListJson
    const error = { at: new Date().toISOString(), name: 'Error', message: 'answered 502' }
    const failing = ({ name, pace, ...handler }: HandlerJson) =>
      name === 'large-trades'
        ? { ...handler, name, ready: 1, pace: { ...pace, error_rate: 1, last_error: error } }
        : { ...handler, name, pace }
    await pages.answer('GET /handlers', { json: { ...rest, data: data.map(failing) } })
    const page = await pages.visit('/')
    const lines = rowsIn(page, 'Problems')
    await lines.getByText('all with TypeError').waitFor()
    const texts = await lines.allInnerTexts()
    expect(texts).toEqual(
      [
        /Ack slow[\s\S]*half of the time/,
        /Sink down[\s\S]*chat: 1 run pending, none lost: answered 503/,
        /Failing[\s\S]*large-trades: 1 run pending, none lost: Error: answered 502/,
        /large-trades: 3 runs failed for good, all with TypeError: cannot read amount/,
        /ledger: 1 run failed for good/,
        /Paused[\s\S]*ledger is paused/,
      ].map((line) => expect.stringMatching(line)),
    )
    await page.getByRole('link', { name: 'Handlers 2' }).waitFor()
    await press(page, 'Try now: chat')
    await inDialog(page, 'Try now')
    await page.getByText('chat: failed: still 503').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press(page, 'Resume ledger')
    await confirm(page, 'Resume')
    expect(await statsOf('ledger')).toMatchObject({ paused: false })
    await page.getByRole('link', { name: 'View large-trades', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Handler' })
    await panel.getByText('Failing', { exact: true }).waitFor()
    expect(await panel.innerText()).toMatch(/Last five minutes\s+Runs\s+60\s+Error rate\s+100 %/)
    await page.waitForFunction(() => document.activeElement?.textContent === 'Handlers')
  })
})

describe.skipIf(!hasBrowser)('the events (needs Chromium: set CHROMIUM_PATH)', () => {
  test('a row shows type, summary and runs; a click opens it, j and k move, Escape closes, and the address names it', async () => {
    const page = await pages.visit('/events')
    const rows = rowsIn(page, 'Events')
    await rows.nth(1).waitFor()
    expect(await rows.nth(1).innerText()).toMatch(
      /wallet.large_trade[\s\S]*0x5aAe…BeAed bought ABC for \$12,345.67[\s\S]*ledger: the book is locked/,
    )
    const dots = rows.nth(1).getByRole('img')
    const labels = await dots.evaluateAll((all) => all.map((dot) => dot.getAttribute('aria-label')))
    expect(labels).toEqual(['large-trades: done', 'ledger: retrying'])
    expect((await rows.nth(1).boundingBox())?.height).toBe(32)
    const panel = page.getByRole('complementary', { name: 'Event' })
    const isShown = async (seq: number) => {
      await expect.poll(() => page.url()).toContain(`open=${idOf(seq)}`)
      await panel.getByTitle(idOf(seq)).first().waitFor()
    }
    await rows.first().click()
    await isShown(20)
    await page.keyboard.press('j')
    await isShown(19)
    await page.keyboard.press('k')
    await isShown(20)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await panel.waitFor()
  })

  test('the filter line and the selects, behind a button on a phone, set one filter, and the address contains it', async () => {
    const page = await pages.visit('/events')
    await rowsIn(page, 'Events').first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('type:wallet.large_trade handler:ledger 2d two words')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain('type=wallet.large_trade&handler=ledger&from=2d&q=two+words')
    const asked = () => {
      const last = pages.stage.answered.findLast(({ url }) => url.startsWith('/api/v1/events?'))
      return new URLSearchParams(last?.url.split('?')[1])
    }
    await expect.poll(() => asked().get('q')).toBe('two words')
    expect(asked().get('handler')).toBe('ledger')
    const age = Date.now() - Date.parse(asked().get('from') ?? '')
    expect(Math.round(age / 3_600_000)).toBe(48)
    await page.getByLabel('Statuses').selectOption('dead')
    await expect.poll(() => page.getByLabel('Filter').inputValue()).toContain('status:dead')
    await page.goBack()
    await expect.poll(() => page.getByLabel('Filter').inputValue()).not.toContain('status:dead')
    const csv = await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')
    expect(csv).toMatch(/^\.\/api\/v1\/export\?type=wallet.large_trade&handler=ledger&from=.*&q=two\+words&format=csv$/)

    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByLabel('Statuses').waitFor({ state: 'hidden' })
    await press(page, /^Filters \(\d\)/)
    await page.getByLabel('Statuses').selectOption('done')
    await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toContain('status:done')
  })

  test('an event of another source has a badge, and a select filters by source', async () => {
    await pages.stage.inbox.accept([{ ...arrivalOf('desk/a', 'order.filled'), secretLabel: 'desk/main' }])
    const page = await pages.visit('/events')
    const rows = rowsIn(page, 'Events')
    await expect.poll(() => rows.first().innerText()).toMatch(/desk\s+order\.filled/)
    expect(await rows.nth(1).innerText()).not.toMatch(/desk|default/)
    await page.getByLabel('Sources').selectOption('desk')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Sources').selectOption('default')
    await expect.poll(() => rows.first().innerText()).toContain('wallet.large_trade')
    await pages.go('/deliveries')
    await page.getByText('Answers to desk').waitFor()
  })

  test('loads rows while scrolling and renders only visible ones; new events appear on top, or behind a button when scrolled', async () => {
    const { inbox, clock } = pages.stage
    await inbox.accept(Array.from({ length: counts.scrolledRows - 20 }, (_, index) => tradeOf(index + 21)))
    const page = await pages.visit('/events')
    const rows = rowsIn(page, 'Events')
    const newest = () => rows.first().locator('a').getAttribute('href')
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(newest).toContain(idOf(counts.scrolledRows))
    await inbox.accept([tradeOf(100_001)])
    await clock.advance(1_000)
    await expect.poll(newest).toContain(idOf(100_001))
    const box = page.getByRole('region', { name: 'Events' })
    await expect
      .poll(async () => {
        await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return rows.last().locator('a').getAttribute('href')
      })
      .toContain(idOf(1))
    expect(await rows.count()).toBeLessThan(80)
    await page.getByText(`${(counts.scrolledRows + 1).toLocaleString('en-US')} loaded`).waitFor()
    await inbox.accept([tradeOf(100_002)])
    await clock.advance(1_000)
    await press(page, 'Show new events')
    await box.evaluate((element) => element.scrollTo(0, 0))
    await expect.poll(newest).toContain(idOf(100_002))
  })

  test('a search that runs out of time shows how far it got, and continues with a button', async () => {
    const cut = { data: [], next_cursor: 'MTU', searched_to: '2026-01-01T00:00:00.000Z' }
    await pages.answer('GET /events', { json: cut })
    const page = await pages.visit('/events?q=ABC')
    await page.getByText('searched to 2026-01-01 00:00:00 UTC').waitFor()
    await pages.heal()
    await press(page, 'Search further')
    await rowsIn(page, 'Events').nth(5).waitFor()
  })

  test('the panel shows the error first, exact numbers, explorers, attempts, bytes and receipt', async () => {
    const page = await pages.visit(`/events/${idOf(7)}`)
    const error = page.getByRole('group', { name: 'Error of ledger' })
    await error.getByText('ledger failed for good after 2 attempts').waitFor()
    await error.getByText('Stack trace').click()
    await error.getByText('at write (ledger.ts:14:9)').waitFor()
    await page.getByText('18446744073709551615').waitFor()
    await page.getByText('12345.670000000000000001').waitFor()
    const explorer = page.getByRole('link', { name: /Etherscan/ }).first()
    expect(await explorer.getAttribute('href')).toMatch(/^https:\/\/etherscan.io\/address\/0x/)
    await page.getByText('+3 ms').waitFor()
    await page.getByText('2 (1 duplicates)').waitFor()
    await page.getByText(/Raw bytes/).click()
    await page.getByRole('region', { name: 'Body' }).getByText('"block_number": 18446744073709551615').waitFor()
  })

  test('replays an event for one handler, and requeues or drops its dead runs', async () => {
    const page = await pages.visit(`/events/${idOf(7)}`)
    await press(page, 'Replay')
    await page.getByRole('dialog').getByLabel('Handler').selectOption('large-trades')
    await inDialog(page, 'Replay')
    await page.getByText('The replay has started.').waitFor()
    await inDialog(page, 'Done')
    const { filter } = (await pages.stage.inbox.replays({ limit: 1 })).data[0] ?? {}
    expect(filter).toEqual({ ids: [idOf(7)], handler: 'large-trades' })
    await pages.answer('POST /dead-letters/drop', gone)
    await press(page, 'Drop 1 run of ledger')
    await page.getByRole('dialog').getByText('the disk is gone').waitFor()
    await inDialog(page, 'Cancel')
    await press(page, 'Requeue 1 run of ledger')
    await inDialog(page, 'Requeue 1 run')
    await page.getByText('1 dead letter requeued.').waitFor()
    expect(await statsOf('ledger')).toMatchObject({ dead: 0, held: 0 })
    pages.allowFailures()
  })
})

describe.skipIf(!hasBrowser)('the lists (needs Chromium: set CHROMIUM_PATH)', () => {
  test('requeues dead letters by group and by row after counting them', async () => {
    const page = await pages.visit('/dead-letters')
    const groups = rowsIn(page, 'Error groups')
    await groups.filter({ hasText: 'cannot read amount' }).getByRole('checkbox').check()
    await press(page, 'Requeue 3 runs')
    await page.getByText('3 dead letters selected.').waitFor()
    expect(await statsOf('large-trades')).toMatchObject({ dead: 3 })
    await inDialog(page, 'Requeue 3 runs')
    await page.getByText('3 dead letters requeued.').waitFor()
    await inDialog(page, 'Done')
    await rowsIn(page, 'Dead letters').first().getByRole('checkbox').check()
    await press(page, 'Requeue 1 run')
    await inDialog(page, 'Requeue 1 run')
    await page.getByText('No dead letters').waitFor()
    await page.getByRole('dialog').getByText('1 dead letter requeued.').waitFor()
    expect((await pages.stage.inbox.deadLetters({ limit: 9 })).data).toEqual([])
  })

  test('a group filters the dead letters below it, and an action on none can’t be confirmed', async () => {
    const page = await pages.visit('/dead-letters')
    const group = page.getByRole('row', { name: /cannot read amount #/ })
    await group.getByText('at run (handlers/large-trades.ts:8:11)').waitFor()
    await group.getByRole('link', { name: /^TypeError: cannot read amount #/ }).click()
    await expect.poll(() => rowsIn(page, 'Dead letters').count()).toBe(3)
    await group.getByRole('link', { name: /^Newest of/ }).click()
    await page.getByRole('complementary', { name: 'Dead letter' }).getByLabel('Stack trace').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toMatch(/#\/dead-letters\?handler=large-trades&group=[^&]+$/)
    await pages.stage.inbox.dropDead('all', 'a test')
    await press(page, 'Drop matching')
    await page.getByText('0 dead letters selected.').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('x')
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Drop matching' }).isDisabled()).toBe(true)
  })

  test('loads more rows at the end, also after an error with Retry', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `evt_dead_${index}`)
    await createDeadLetters(pages.stage.inbox, ids)
    await pages.answer('GET /dead-letters', (request) => (request.url().includes('cursor') ? gone : undefined))
    const page = await pages.visit('/dead-letters')
    const box = page.getByRole('region', { name: 'Dead letters' })
    await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByText('the disk is gone').waitFor()
    await pages.heal()
    pages.allowFailures()
    await press(page, 'Retry')
    await page.getByText('the disk is gone').waitFor({ state: 'detached' })
    await expect
      .poll(async () => {
        await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return rowsIn(page, 'Dead letters').last().getAttribute('data-index')
      })
      .toBe('253')
  })

  test('retries quarantined bodies after a dry run, and downloads one byte for byte', async () => {
    const { inbox, unusableId } = pages.stage
    const page = await pages.visit(`/deliveries/quarantine?reason=not_json&open=${encodeURIComponent(unusableId)}`)
    const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Download')])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(unusableBytes))
    const result = { accepted: 1, known: 1, still_unusable: 0, unusable: [] }
    await pages.answer('POST /quarantine/retry', { json: result })
    await press(page, 'Retry matching')
    await page.getByText('Would give: 1 accepted, 1 known already, 0 still unusable.').waitFor()
    const [sent] = await Promise.all([page.waitForRequest(/quarantine\/retry$/), inDialog(page, 'Retry matching')])
    expect(sent.postDataJSON()).toEqual({ filter: { reason: 'not_json' } })
    await page.getByText('1 accepted, 1 known already, 0 still unusable.', { exact: true }).waitFor()
    expect((await inbox.stats()).quarantined).toBe(3)
  })

  test('counts a replay, starts it with the counted request, and cancels it; a rejected one shows why', async () => {
    const page = await pages.visit('/replays?start=1')
    await inDialog(page, 'Count')
    await page.getByText('a replay needs a filter').waitFor()
    await page.getByLabel('Filter').fill('type:wallet.large_trade status:retrying')
    await inDialog(page, 'Count')
    await page.getByText(/^\d+ events match\.$/).waitFor()
    const replays = async () => (await pages.stage.inbox.replays({ limit: 9 })).data
    expect(await replays()).toHaveLength(1)
    await confirm(page, /^Replay \d+ events$/)
    await rowsIn(page, 'Replays').nth(1).waitFor()
    await rowsIn(page, 'Replays').first().click()
    await press(page, 'Cancel replay')
    await confirm(page, 'Cancel replay')
    const filter = { type: 'wallet.large_trade', status: 'retrying' }
    expect(await replays()).toMatchObject([
      { id: 2, filter, state: 'cancelled' },
      { id: 1, state: 'running' },
    ])
    pages.allowFailures()
  })
})

describe.skipIf(!hasBrowser)('handlers and health (needs Chromium: set CHROMIUM_PATH)', () => {
  test('the table has concurrency, retries and last error; the result of Try now stays when the breaker closes', async () => {
    const { json } = await pages.stage.call('GET', '/handlers')
    const page = await pages.visit('/handlers')
    const ledger = page.getByRole('row', { name: 'ledger' })
    await ledger.getByTitle('2 (own: 8)').waitFor()
    await ledger
      .getByTitle(/^10 attempts, /)
      .and(page.getByText('9', { exact: true }))
      .waitFor()
    await page.getByRole('row', { name: 'chat' }).getByText('answered 503').waitFor()
    await page.getByRole('row', { name: 'chat' }).getByTitle('Next attempt').waitFor()
    const { data, ...rest } = json as HandlerListJson
    await pages.answer('GET /handlers', { json: { ...rest, data: data.map((one) => ({ ...one, shut: null })) } })
    await press(page, 'Try now: chat')
    await inDialog(page, 'Try now')
    await page.getByText('Breaker open').waitFor({ state: 'detached' })
    await page.getByText('chat: failed: still 503').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).not.toContain('open=')
  })

  test('resumes a sink with a note about its breaker, and sets and resets a concurrency', async () => {
    await pages.stage.inbox.setPaused('chat', true)
    const page = await pages.visit('/handlers?open=ledger')
    for (const [text, concurrency] of [
      ['3', 3],
      ['', null],
    ] as const) {
      await press(page, 'Set concurrency of ledger')
      await page.getByLabel('Runs at once').fill(text)
      await confirm(page, 'Set concurrency')
      expect(await statsOf('ledger')).toMatchObject({ concurrency })
    }
    await page.keyboard.press('Escape')
    await rowsIn(page, 'Handlers and sinks').first().click()
    await press(page, 'Resume chat')
    await inDialog(page, 'Resume')
    await page.getByText('The breaker is still open').waitFor()
    expect(await statsOf('chat')).toMatchObject({ paused: false })
  })

  test('drops the runs of a removed handler, also one with / and ? in its name', async () => {
    const name = 'a/b?c#d%2F'
    await pages.stage.inbox.register([{ name, types: ['*'], order: 'none' }])
    await pages.stage.inbox.accept([tradeOf(21)])
    const page = await pages.visit(`/handlers?open=${encodeURIComponent(name)}`)
    await press(page, `Drop 1 pending run of ${name}`)
    await page.getByText('They end for good.').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('replaced')
    await confirm(page, 'Drop 1 pending run')
    const { data } = await pages.stage.inbox.audit({ limit: 1 })
    expect(data).toMatchObject([{ action: 'handler.drop', detail: { handler: name, reason: 'replaced' } }])
  })

  test('health shows a learning silence alarm, acknowledges downtime and reconciles lost time', async () => {
    const page = await pages.visit('/deliveries')
    const learning = rowsIn(page, 'Silence').filter({ hasText: 'until 2026-01-31 15:00 and 12 events' })
    expect(await learning.innerText()).toMatch(/12 events\s+1 min\s+–\s+–\s+2026-01-31/)
    await press(page, 'Acknowledge')
    await confirm(page, 'Acknowledge')
    expect((await pages.stage.inbox.gaps())[0]?.acknowledgedAt).toEqual(expect.any(Number))
    await page.getByRole('link', { name: 'Reconcile' }).first().click()
    await expect.poll(() => page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-30T18:00')
    await press(page, 'Find missing trades')
    await page.getByText('1 trades without an event').waitFor()
    const { data } = await pages.stage.inbox.audit({ limit: 1 })
    expect(data).toMatchObject([{ action: 'reconcile.start' }])
  })

  test('settings have their INBOX_ name, value, origin and default, and the size of the database; the audit has the user agent', async () => {
    const page = await pages.visit('/system')
    const host = rowsIn(page, 'Settings').filter({ hasText: 'INBOX_HOST' })
    expect(await host.innerText()).toMatch(/INBOX_HOST\s+0\.0\.0\.0\s+environment\s+127\.0\.0\.1/)
    await page.getByText(/database: \d[\d.]* KiB/).waitFor()
    await pages.go('/system/audit')
    const entry = rowsIn(page, 'Audit').filter({ hasText: 'handler.set' })
    expect(await entry.innerText()).toMatch(/operator \(session\) 127\.0\.0\.1\s+Mozilla\/5\.0/)
  })
})
