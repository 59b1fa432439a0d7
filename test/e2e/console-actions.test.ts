import { describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { hasBrowser } from '../support/browser.ts'
import { counts } from '../counts.ts'
import { detail, idOf, overview, rowOf } from '../support/console-samples/a.ts'
import { activityOf, handlerOf, handlers, health, reconciled, sender, warnings } from '../support/console-samples/b.ts'
import { bodyId, deadGroups, letterOf, replayOf, unusableBytes } from '../support/console-samples/c.ts'
import { setUpSamplePages } from '../support/sample-pages.ts'
import { failed, ok, startFakeApi } from '../support/fake-console-api.ts'

const rowsIn = (page: Page, caption: string) =>
  page.getByRole('table', { name: caption }).locator('tbody tr[data-index]')
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const inDialog = (page: Page, name: string | RegExp) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true }).click()

describe.skipIf(!hasBrowser)('the overview (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)

  test('R43 R44 R79 R115 shows five figures, each with the page that explains it', async () => {
    const page = await pages.visit('/', { 'GET /overview': ok({ ...overview, sender }) })
    const tile = (name: RegExp) => page.locator('.ui-tile').filter({ hasText: name })
    await tile(/Success rate99.9 %10,000 deliveries, 10 failed/).waitFor()
    await tile(/Acknowledgement p992.75 sof 5 s allowed · p50 4.3 ms/).waitFor()
    await tile(/Pending runs3/).waitFor()
    await tile(/Dead letters4\+3 in the last hour/).click()
    await expect.poll(() => page.url()).toContain('#/dead-letters')
  })

  test('shows an open breaker, dead letters and warnings as one line each, with their action', async () => {
    const page = await pages.visit('/', {
      'GET /overview': ok({ ...overview, warnings }),
      'POST /handlers/chat/try': ok({
        handler: 'chat',
        results: [
          { replica: 'inbox-0', result: 'sent', error: null },
          { replica: 'inbox-1', result: 'failed', error: 'answered 503' },
        ],
      }),
    })
    const lines = rowsIn(page, 'Problems')
    await lines.first().waitFor()
    await expect.poll(() => lines.count()).toBe(3)
    expect(await lines.nth(0).innerText()).toMatch(/Ack slow[\s\S]*half of the time/)
    expect(await lines.nth(1).innerText()).toMatch(/Sink down[\s\S]*chat fails: answered 503 by the chat/)
    expect(await lines.nth(2).innerText()).toMatch(/ledger: 4 runs failed for good/)
    await press(page, 'Try now: chat')
    await page.getByText('inbox-0: sent one item, breaker closed').waitFor()
    await page.getByText('inbox-1: failed: answered 503').waitFor()
    await expect.poll(() => pages.api.asked).toEqual([{ call: 'POST /handlers/chat/try', body: null }])
  })

  test('shows a handler whose runs fail as a problem, in the navigation and on its page', async () => {
    const { pace, ...rest } = handlerOf('mailer', { kind: 'sink', ready: 1 })
    const error = { at: new Date().toISOString(), name: 'Error', message: 'answered 502' }
    const failing = { ...rest, pace: pace && { ...pace, error_rate: 1, last_error: error } }
    const page = await pages.visit('/', { 'GET /handlers': ok({ ...handlers, data: [failing] }) })
    await page.getByRole('link', { name: 'Handlers 1' }).waitFor()
    await expect
      .poll(() => rowsIn(page, 'Problems').innerText())
      .toMatch(/Failing[\s\S]*mailer fails: Error: answered 502. Pending runs: 1, none lost/)
    await page.getByRole('link', { name: 'View mailer' }).click()
    const panel = page.getByRole('complementary', { name: 'Handler' })
    await panel.getByText('Failing', { exact: true }).waitFor()
    expect(await panel.innerText()).toMatch(/Last five minutes\s+Runs\s+60\s+Error rate\s+100 %/)
  })

  test('paused handlers have Resume in their line', async () => {
    const warning = { code: 'paused', level: 'warning', text: '', since: overview.now, href: '/handlers' } as const
    const page = await pages.visit('/', {
      'GET /overview': ok({
        ...overview,
        warnings: [
          { ...warning, subject: '', title: 'All handlers are paused' },
          { ...warning, subject: 'ledger', title: 'ledger is paused' },
        ],
      }),
      'POST /resume': ok({ paused: false }),
      'POST /handlers/ledger/resume': ok({ handler: 'ledger', paused: false }),
    })
    for (const name of ['Resume all handlers', 'Resume ledger']) {
      await press(page, name)
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Resume/ })
        .click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await expect
      .poll(() => pages.api.asked.map(({ call }) => call))
      .toEqual(['POST /resume', 'POST /handlers/ledger/resume'])
  })

  test('stacks the largest types over full minutes, names all values, and keeps the window in the address', async () => {
    const page = await pages.visit('/')
    await page.getByRole('img', { name: /Events by type: kind.number_0 1,368, at most/ }).waitFor()
    expect(await page.locator('figcaption').innerText()).toMatch(/kind.number_4[\s\S]*other/)
    pages.api.answer('GET /activity', ok(activityOf('day')))
    await page.getByLabel('Window').selectOption('day')
    await page.getByText('Events per 15 minutes by type').waitFor()
    await expect.poll(() => page.url()).toMatch(/#\/\?window=day$/)
    await expect.poll(() => pages.api.read).toContain('/activity?window=day')
  })

  test('sorts handlers by trouble, and a row opens its handler', async () => {
    const page = await pages.visit('/')
    const rows = rowsIn(page, 'Handlers and sinks')
    await rows.first().waitFor()
    const names = await rows.locator('[role=rowheader]').allInnerTexts()
    expect(names).toEqual(['chat', 'old-one', 'ledger', 'large-trades'])
    await rows.nth(2).click()
    await page.getByRole('complementary', { name: 'Handler' }).getByText('Blocked keys').waitFor()
    await expect.poll(() => page.url()).toContain('#/handlers?open=ledger')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Handlers')
  })
})

describe.skipIf(!hasBrowser)('the events (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)

  test('a row shows type, summary, the state of each run by name, and the error of a failed run', async () => {
    const page = await pages.visit('/events')
    const [first] = [rowsIn(page, 'Events').first()]
    await first.waitFor()
    expect(await first.innerText()).toMatch(
      /wallet.large_trade[\s\S]*0x5aAe…eAed bought ABC for \$12,346[\s\S]*ledger: the book is locked/,
    )
    expect(
      await first.getByRole('img').evaluateAll((dots) => dots.map((dot) => dot.getAttribute('aria-label'))),
    ).toEqual(['large-trades: done', 'ledger: retrying'])
    expect((await first.boundingBox())?.height).toBe(32)
  })

  test('a click opens the panel, j and k move it, Escape closes it, and the address names it', async () => {
    const page = await pages.visit('/events', {
      [`GET /events/${idOf(20)}`]: ok({ ...detail, id: idOf(20), type: 'number.twenty' }),
      [`GET /events/${idOf(19)}`]: ok({ ...detail, id: idOf(19), type: 'number.nineteen' }),
    })
    const rows = rowsIn(page, 'Events')
    await rows.first().click()
    const panel = page.getByRole('complementary', { name: 'Event' })
    await panel.getByText('number.twenty').waitFor()
    await page.keyboard.press('j')
    await panel.getByText('number.nineteen').waitFor()
    await expect.poll(() => page.url()).toContain(`open=${idOf(19)}`)
    await page.keyboard.press('k')
    await panel.getByText('number.twenty').waitFor()
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await panel.waitFor()
  })

  test('the filter line and the selects set one filter, and the address contains it', async () => {
    const page = await pages.visit('/events')
    await rowsIn(page, 'Events').first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('type:wallet.large_trade handler:ledger 2d two words')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain('type=wallet.large_trade&handler=ledger&from=2d&q=two+words')
    const asked = () =>
      new URLSearchParams(pages.api.read.findLast((path) => path.startsWith('/events?'))?.split('?')[1])
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
  })

  test('a phone has the selects behind a button', async () => {
    const page = await pages.visit('/events?status=dead')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByLabel('Statuses').waitFor({ state: 'hidden' })
    await press(page, 'Filters (1)')
    await page.getByLabel('Statuses').selectOption('done')
    await expect.poll(() => page.getByLabel('Filter', { exact: true }).inputValue()).toBe('status:done')
  })

  test('new events appear at the top, or behind a button while the list is scrolled down', async () => {
    const total = 80
    const list = (newest: number) => ({
      data: Array.from({ length: total }, (_, index) => rowOf(newest - index)),
      next_cursor: null,
      searched_to: null,
    })
    const page = await pages.visit('/events', { 'GET /events': ok(list(200)) })
    const rows = rowsIn(page, 'Events')
    await rows.first().waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    pages.api.answer('GET /events', ok(list(201)))
    pages.api.publish('events', { data: [], skipped: 1 })
    const hrefOf = () => rows.first().locator('a').getAttribute('href')
    await expect.poll(hrefOf).toContain(idOf(201))
    await page.getByRole('region', { name: 'Events' }).evaluate((box) => box.scrollTo(0, 1_000))
    pages.api.answer('GET /events', ok(list(202)))
    await expect
      .poll(async () => {
        pages.api.publish('events', { data: [], skipped: 1 })
        return page.getByRole('button', { name: 'Show new events' }).isVisible()
      })
      .toBe(true)
    await press(page, 'Show new events')
    await page.getByRole('region', { name: 'Events' }).evaluate((box) => box.scrollTo(0, 0))
    await expect.poll(hrefOf).toContain(idOf(202))
  })

  test('loads thousands of rows while scrolling, and renders only the visible ones', async () => {
    const page = await pages.visit('/events', {
      'GET /events': (query) => {
        const newest = Number(query.get('cursor') ?? counts.scrolledRows)
        const limit = Number(query.get('limit'))
        const data = Array.from({ length: Math.min(limit, newest) }, (_, index) => rowOf(newest - index))
        const next = newest - limit
        return ok({ data, next_cursor: next > 0 ? String(next) : null, searched_to: null })
      },
    })
    const box = page.getByRole('region', { name: 'Events' })
    await rowsIn(page, 'Events').first().waitFor()
    await expect
      .poll(async () => {
        await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return rowsIn(page, 'Events').last().locator('a').getAttribute('href')
      })
      .toContain(idOf(1))
    expect(await rowsIn(page, 'Events').count()).toBeLessThan(80)
    await page.getByText(`${counts.scrolledRows.toLocaleString('en-US')} loaded`).waitFor()
  })

  test('a search that runs out of time shows how far it got, and continues with a button', async () => {
    const cut = { next_cursor: 'c', searched_to: '2026-01-01T00:00:00.000Z' }
    const page = await pages.visit('/events?q=rare', {
      'GET /events': (query) => ok({ data: query.get('cursor') === null ? [rowOf(9)] : [], ...cut }),
    })
    await page.getByText('searched to 2026-01-01 00:00:00 UTC').waitFor()
    expect(await rowsIn(page, 'Events').count()).toBe(1)
    pages.api.answer('GET /events', ok({ data: [rowOf(3)], next_cursor: null, searched_to: null }))
    await press(page, 'Search further')
    await expect.poll(() => rowsIn(page, 'Events').count()).toBe(2)
  })

  test('the panel shows the error first, exact numbers, explorers, attempts, bytes and receipt', async () => {
    const page = await pages.visit(`/events/${idOf(7)}`)
    const error = page.getByRole('group', { name: 'Error of ledger' })
    await error.getByText('ledger failed for good after 2 attempts').waitFor()
    await error.getByText('Stack trace').click()
    await error.getByText('at write (ledger.ts:14:9)').waitFor()
    await page.getByText('18446744073709551615').waitFor()
    await page.getByText('12345.670000000000000001').waitFor()
    expect(
      await page
        .getByRole('link', { name: /Etherscan/ })
        .first()
        .getAttribute('href'),
    ).toMatch(/^https:\/\/etherscan.io\/address\/0x/)
    await page.getByText('+3 ms').waitFor()
    await page.getByText('3 (2 duplicates)').waitFor()
    await page.getByText(/Raw bytes/).click()
    await page.getByRole('region', { name: 'Body' }).getByText('"block_number": 18446744073709551615').waitFor()
    await press(page, 'Hex')
    await page.getByRole('region', { name: 'Body' }).getByText('00000000  7b 22 69 64').waitFor()
  })

  test('replays an event for one handler, and requeues or drops its dead runs', async () => {
    const page = await pages.visit(`/events/${idOf(7)}`, {
      'POST /replays': ok(replayOf(9)),
      'POST /dead-letters/requeue': ok({ requeued: 1, complete: true }),
      'POST /dead-letters/drop': failed(503, 'store_unavailable', 'the disk is gone'),
    })
    await press(page, 'Replay')
    await page.getByRole('dialog').getByLabel('Handler').selectOption('ledger')
    await inDialog(page, 'Replay')
    await page.getByText('The replay has started.').waitFor()
    await inDialog(page, 'Done')
    await press(page, 'Requeue 1 run of ledger')
    await inDialog(page, 'Requeue 1 run')
    await page.getByText('1 dead letter requeued.').waitFor()
    await inDialog(page, 'Done')
    await press(page, 'Drop 1 run of ledger')
    await page.getByRole('dialog').getByText('the disk is gone').waitFor()
    pages.allowFailures()
    await expect
      .poll(() => pages.api.asked)
      .toEqual([
        { call: 'POST /replays', body: { ids: [idOf(7)], handler: 'ledger' } },
        { call: 'POST /dead-letters/requeue', body: { run_ids: [32], dryRun: true } },
        { call: 'POST /dead-letters/requeue', body: { run_ids: [32] } },
        { call: 'POST /dead-letters/drop', body: { run_ids: [32], reason: 'preview', dryRun: true } },
      ])
  })
})

describe.skipIf(!hasBrowser)('the lists (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)

  test('requeues dead letters by group and by row after counting them', async () => {
    let count = 3
    const page = await pages.visit('/dead-letters', {
      'POST /dead-letters/requeue': () => ok({ requeued: count, complete: count < 3 }),
    })
    await rowsIn(page, 'Error groups').first().getByRole('checkbox').check()
    await press(page, 'Requeue 1,204 runs')
    await page.getByText('3 dead letters selected. These are the first of them').waitFor()
    await inDialog(page, 'Requeue 1,204 runs')
    await page.getByText('3 dead letters requeued.').waitFor()
    await inDialog(page, 'Done')
    count = 1
    await rowsIn(page, 'Dead letters').nth(1).getByRole('checkbox').check()
    await press(page, 'Requeue 1 run')
    await inDialog(page, 'Requeue 1 run')
    await page.getByText('1 dead letter requeued.').waitFor()
    const filter = { handler: 'large-trades', group: deadGroups.data[0]?.group }
    await expect
      .poll(() => pages.api.asked.map(({ body }) => body))
      .toEqual([{ filter, dryRun: true }, { filter }, { run_ids: [2], dryRun: true }, { run_ids: [2] }])
  })

  test('a group filters the dead letters below it, and an action on none can’t be confirmed', async () => {
    const page = await pages.visit('/dead-letters', {
      'POST /dead-letters/drop': ok({ dropped: 0, complete: true, dry_run: true }),
    })
    const group = page.getByRole('row', { name: /cannot read amount #/ })
    await group.getByText('at run (handlers/large-trades.ts:8:11)').waitFor()
    await group.getByRole('link', { name: 'TypeError: cannot read amount #', exact: true }).click()
    const ofGroup = new URLSearchParams({ handler: 'large-trades', group: deadGroups.data[0]?.group ?? '' }).toString()
    await expect.poll(() => pages.api.read.join(' ')).toContain(`/dead-letters?${ofGroup}`)
    await press(page, 'Drop matching')
    await page.getByText('0 dead letters selected.').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('x')
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Drop matching' }).isDisabled()).toBe(true)
    await inDialog(page, 'Cancel')
    await group.getByRole('link', { name: /^Newest of/ }).click()
    await page.getByRole('complementary', { name: 'Dead letter' }).getByText('Blocks its key').waitFor()
    await group.getByRole('link', { name: /^Events of/ }).click()
    await expect.poll(() => pages.api.read.join(' ')).toContain(`/events?details=true&${ofGroup}`)
  })

  test('loads more rows at the end, also after an error with Retry, and reads a changed list again', async () => {
    let isFailing = true
    const page = await pages.visit('/dead-letters', {
      'GET /dead-letters': (query) => {
        const from = Number(query.get('cursor') ?? 0)
        if (from > 0 && isFailing) return failed(503, 'store_unavailable', 'the disk is gone')
        const data = Array.from({ length: 100 }, (_, index) => letterOf(from + index + 1))
        return ok({ data, next_cursor: from < 200 ? String(from + 100) : null })
      },
    })
    const box = page.getByRole('region', { name: 'Dead letters' })
    await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByText('the disk is gone').waitFor()
    isFailing = false
    pages.allowFailures()
    await press(page, 'Retry')
    await page.getByText('the disk is gone').waitFor({ state: 'detached' })
    await expect
      .poll(async () => {
        await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return rowsIn(page, 'Dead letters').last().getAttribute('data-index')
      })
      .toBe('299')
    await page.getByText('Live', { exact: true }).waitFor()
    const before = pages.api.read.length
    pages.api.publish('changed', { what: ['dead-letters'] })
    await expect.poll(() => pages.api.read.slice(before).some((path) => path.startsWith('/dead-letters?'))).toBe(true)
  })

  test('retries quarantined bodies after a dry run, and downloads one byte for byte', async () => {
    const result = { accepted: 2, known: 1, still_unusable: 1, unusable: [] }
    const page = await pages.visit(`/deliveries/quarantine?reason=not_utf8&open=${encodeURIComponent(bodyId)}`, {
      'POST /quarantine/retry': ok(result),
    })
    await press(page, 'Retry matching')
    await page.getByText('Would give: 2 accepted, 1 known already, 1 still unusable.').waitFor()
    await inDialog(page, 'Retry matching')
    await page.getByText('2 accepted, 1 known already, 1 still unusable.', { exact: true }).waitFor()
    await inDialog(page, 'Done')
    expect(pages.api.asked[0]?.body).toEqual({ filter: { reason: 'not_utf8' }, dryRun: true })
    const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Download')])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(unusableBytes))
  })

  test('counts a replay, starts it with the counted request, and cancels it', async () => {
    let answer: object = { dry_run: true, events: 12, skipped: 1 }
    const page = await pages.visit('/replays?start=1&status=dead', {
      'POST /replays': () => ok(answer),
      'POST /replays/3/cancel': ok({ ...replayOf(3), cancelled: true }),
    })
    await page.getByLabel('Filter').fill('type:wallet.large_trade status:dead')
    await inDialog(page, 'Count')
    await page.getByText('12 events match. 1 more have no body and are skipped.').waitFor()
    answer = replayOf(4)
    await inDialog(page, 'Replay 12 events')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await rowsIn(page, 'Replays').first().click()
    await press(page, 'Cancel replay')
    await inDialog(page, 'Cancel replay')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const request = { type: 'wallet.large_trade', status: 'dead' }
    await expect
      .poll(() => pages.api.asked)
      .toEqual([
        { call: 'POST /replays', body: { ...request, dryRun: true } },
        { call: 'POST /replays', body: request },
        { call: 'POST /replays/3/cancel', body: null },
      ])
  })

  test('a replay that the server rejects shows why', async () => {
    const page = await pages.visit('/replays?start=1', {
      'POST /replays': failed(400, 'bad_request', 'at least one filter is needed'),
    })
    await inDialog(page, 'Count')
    await page.getByText('at least one filter is needed').waitFor()
    pages.allowFailures()
  })

  test('R73 shows the cause of a rejected signature and the remedy', async () => {
    const page = await pages.visit('/deliveries/rejected?open=r1')
    await page.getByText('The digest is written in base64. Send it as 64 hex digits.').waitFor()
  })
})

describe.skipIf(!hasBrowser)('handlers and health (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)

  test('the table of handlers has concurrency, retries and last error', async () => {
    const page = await pages.visit('/handlers')
    const ledger = page.getByRole('row', { name: 'ledger' })
    await ledger.getByTitle('2 (own: 8)').waitFor()
    await ledger
      .getByTitle(/^10 attempts, /)
      .and(page.getByText('9', { exact: true }))
      .waitFor()
    await page.getByRole('row', { name: 'chat' }).getByText('answered 503 by the chat').waitFor()
  })

  test('the row of an open breaker has its next attempt and Try now, whose results stay when the breaker closes', async () => {
    const results = [{ replica: 'inbox-0', result: 'sent', error: null }]
    const page = await pages.visit('/handlers', { 'POST /handlers/chat/try': ok({ handler: 'chat', results }) })
    await page.getByRole('row', { name: 'chat' }).getByText('Next attempt').waitFor()
    pages.api.answer('GET /handlers', ok({ ...handlers, data: [handlerOf('chat')] }))
    await press(page, 'Try now: chat')
    await page.getByText('Breaker open').waitFor({ state: 'detached' })
    await page.getByText('inbox-0: sent one item, breaker closed').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).not.toContain('open=')
  })

  test('resumes a handler with a note about its breaker, and sets and resets a concurrency', async () => {
    const shut = handlerOf('chat', { ...handlers.data[2], paused: true })
    const page = await pages.visit('/handlers?open=ledger', {
      'GET /handlers': ok({ ...handlers, data: [...handlers.data.slice(0, 2), shut] }),
      'POST /handlers/ledger/resume': ok({ handler: 'ledger', paused: false }),
      'POST /handlers/chat/resume': ok({ handler: 'chat', paused: false }),
      'PATCH /handlers/ledger': ok({ handler: 'ledger', concurrency: 3 }),
    })
    await press(page, 'Resume ledger')
    await inDialog(page, 'Resume')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press(page, 'Set concurrency of ledger')
    await page.getByLabel('Runs at once').fill('3')
    await inDialog(page, 'Set concurrency')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press(page, 'Set concurrency of ledger')
    await page.getByLabel('Runs at once').fill('')
    await inDialog(page, 'Set concurrency')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await rowsIn(page, 'Handlers and sinks').first().click()
    await press(page, 'Resume chat')
    await inDialog(page, 'Resume')
    await page.getByText('The breaker is still open').waitFor()
    await expect
      .poll(() => pages.api.asked)
      .toEqual([
        { call: 'POST /handlers/ledger/resume', body: null },
        { call: 'PATCH /handlers/ledger', body: { concurrency: 3 } },
        { call: 'PATCH /handlers/ledger', body: { concurrency: null } },
        { call: 'POST /handlers/chat/resume', body: null },
      ])
  })

  test('drops the runs of a removed handler, also one with / and ? in its name', async () => {
    const name = 'a/b?c#d%2F'
    const gone = { ...handlers.data[3], name } as (typeof handlers.data)[number]
    const call = `POST /handlers/${encodeURIComponent(name)}/drop`
    const page = await pages.visit(`/handlers?open=${encodeURIComponent(name)}`, {
      'GET /handlers': ok({ ...handlers, data: [gone] }),
      [call]: ok({ handler: name, dropped: 5 }),
    })
    await press(page, `Drop 5 pending runs of ${name}`)
    await page.getByText('They end for good.').waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('replaced')
    await inDialog(page, 'Drop 5 pending runs')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => pages.api.asked).toEqual([{ call, body: { reason: 'replaced' } }])
  })

  test('health shows a learning silence alarm, acknowledges downtime and reconciles lost time', async () => {
    const page = await pages.visit('/deliveries', {
      'POST /gaps/acknowledge': ok({ missing_sequence_numbers: 0, gaps: 1 }),
      'POST /reconcile': ok({ ...reconciled, state: 'running' }),
    })
    const learning = rowsIn(page, 'Silence').filter({ hasText: 'until 2026-01-31 15:00 and 12 events' })
    expect(await learning.innerText()).toMatch(/12 events\s+1 min\s+–\s+–\s+2026-01-31/)
    await press(page, 'Acknowledge')
    await inDialog(page, 'Acknowledge')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Reconcile' }).first().click()
    await expect.poll(() => page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-30T17:59:59')
    pages.api.answer('GET /health', ok({ ...health, reconcile: reconciled }))
    await press(page, 'Find missing trades')
    await page.getByText('1 trades without an event').waitFor()
    await expect
      .poll(() => pages.api.asked)
      .toEqual([
        { call: 'POST /gaps/acknowledge', body: null },
        { call: 'POST /reconcile', body: { from: '2026-01-30T17:59:59.000Z', to: '2026-01-30T23:00:00.000Z' } },
      ])
  })
  test('settings have their INBOX_ name, value, origin and default; the audit has the user agent', async () => {
    const page = await pages.visit('/system')
    const host = rowsIn(page, 'Settings').filter({ hasText: 'INBOX_HOST' })
    expect(await host.innerText()).toMatch(/INBOX_HOST\s+0\.0\.0\.0\s+environment\s+127\.0\.0\.1/)
    await pages.go('/system/audit')
    const entry = rowsIn(page, 'Audit').first()
    expect(await entry.innerText()).toMatch(/operator \(session\) 127\.0\.0\.1\s+Mozilla\/5\.0/)
  })
})
