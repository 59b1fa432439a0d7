import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import {
  asViewer,
  expectAsText,
  expectForEverybody,
  hostileTexts,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { body, detail, idOf, summaryOf, token, tx, wallet } from '../support/console-samples/a.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { failed, ok } from '../support/fake-console-api.ts'

const path = `/events/${idOf(7)}`
const calls = { detail: `GET ${path}`, raw: `GET ${path}/raw` } as const
const asked = (page: Page, name: string) => page.getByRole('article', { name, exact: true })

describe.skipIf(!hasBrowser)('one event in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('says in a line what happened, and each field as it is meant, with links to the explorer of its network', async () => {
    const page = await on.visit(path)
    const says = page.locator('section', { has: page.getByRole('heading', { name: 'What it says' }) })
    const line = (await says.locator('.ui-event-line').textContent()) ?? ''
    expect(line.replaceAll(/\s+/g, ' ').trim()).toBe('0x5aAe…eAed bought ABC for $12,346 0xfB69…d359 ethereum')
    await says.getByText('18446744073709551615', { exact: true }).waitFor()
    const amount = says.getByTitle('12345.670000000000000001')
    expect(await amount.textContent()).toBe('$12,346')
    const links = await says.getByRole('link').all()
    const facts = await Promise.all(
      links.map(async (link) => [await link.getAttribute('href'), await link.getAttribute('rel')] as const),
    )
    expect(facts).toEqual([
      [`https://etherscan.io/address/${wallet}`, 'noreferrer noopener'],
      [`https://etherscan.io/address/${token}`, 'noreferrer noopener'],
      [`https://etherscan.io/tx/${tx}`, 'noreferrer noopener'],
    ])
    expect(await page.title()).toBe('Event – Inbox')
  })

  test('a dead run says that a replay has done its work since, as soon as one has', async () => {
    const dead = detail.runs.find(({ state }) => state === 'dead')!
    const replayed = { ...dead, run_id: 40, state: 'running', replay: 3 } as const
    const of = (run: object) => ok({ ...detail, runs: [...detail.runs, run] })
    const page = await on.visit(path, { [calls.detail]: of(replayed) })
    const first = page.getByRole('article', { name: dead.handler, exact: true }).first()
    await page.getByText('replay 3', { exact: true }).waitFor()
    expect(await page.getByText('replayed: done').count()).toBe(0)
    await page.getByText('live', { exact: true }).waitFor()
    on.api.answer(calls.detail, of({ ...replayed, state: 'done' }))
    on.api.publish('changed', { what: ['handlers'] })
    await first.getByText('replayed: done').waitFor()
    expect(await page.getByText('replayed: done').count()).toBe(1)
  })

  test('what is no address of its network leads to no explorer', async () => {
    const data = { wallet_address: '0x12', token_address: 'javascript:alert(1)', tx_hash: wallet, network: 'ethereum' }
    const page = await on.visit(path, {
      [calls.detail]: ok({ ...detail, address: '0x12', envelope: { ...(detail.envelope as object), data } }),
    })
    await page.locator('dt', { hasText: 'tx_hash' }).waitFor()
    expect(await page.locator('main a[target]').count()).toBe(0)
  })

  test('the body is exact: digits as they were written, the bytes one by one, and as a file', async () => {
    const page = await on.visit(path)
    const region = page.getByRole('region', { name: 'Body' })
    await region.waitFor()
    expect(await region.textContent()).toContain('"block_number": 18446744073709551615')
    expect(await region.textContent()).toContain('"amount_usd": 12345.670000000000000001')
    await page.getByLabel('On lines of their own').last().uncheck()
    expect(await region.textContent()).toBe(body)
    await page.getByLabel('As bytes').check()
    const hex = (await page.getByRole('region', { name: 'Bytes' }).textContent()) ?? ''
    expect(hex.split('\n')[0]).toBe('00000000  7b 22 69 64 22 3a 22 65 76 74 5f 30 30 30 30 30  {"id":"evt_00000')
    const coming = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download' }).click()
    const download = await coming
    expect(download.suggestedFilename()).toBe(`${idOf(7)}.json`)
    expect(await text(await download.createReadStream())).toBe(body)
  })

  test('bytes that are no text are shown as bytes, a long body bit by bit', async () => {
    const bytes = Buffer.alloc(20_000, 0xff)
    const page = await on.visit(path, { [calls.raw]: ok(bytes) })
    const region = page.getByRole('region', { name: 'Bytes' })
    await region.waitFor()
    expect(await page.getByLabel('As bytes').count()).toBe(0)
    const lines = async () => ((await region.textContent()) ?? '').split('\n').length
    expect(await lines()).toBe(256)
    await page.getByRole('button', { name: 'Show more of 20,000 bytes' }).click()
    expect(await lines()).toBe(1250)
  })

  test('the timeline goes from receipt to effects, with durations, errors, the next try and what was written', async () => {
    const page = await on.visit(path)
    await page.getByText('+3 ms').waitFor()
    const done = (await asked(page, 'large-trades').textContent()) ?? ''
    expect(done).toContain('Attempt 12026-01-31 14:00:07+10 mstook 42 msdone')
    expect(done).toContain('Wrote to its state: volume:ethereum')
    const dead = asked(page, 'ledger')
    expect(await dead.getByRole('listitem').count()).toBe(2)
    expect(await dead.getByText('ledger.ts:14:9').isVisible()).toBe(false)
    await dead.getByText('Stack').last().click()
    expect(await dead.getByText('ledger.ts:14:9').isVisible()).toBe(true)
    await dead.getByText('crashed 1×').waitFor()
    const sink = asked(page, 'chat')
    await sink.getByText('Next try 2026-01-31 14:01:09').waitFor()
    await sink.getByText('What it delivers').click()
    expect(await sink.getByRole('region', { name: 'Payload' }).textContent()).toContain('"text": "ABC was bought"')
    await sink.getByText('large-trades:31:0').waitFor()
    // Digits that no number of JavaScript keeps.
    await sink.getByText('"wei": 340282366920938463463374607431768211455').waitFor()
  })

  test('the receipt tells of secret, repeats, conflicts, trace and headers', async () => {
    const page = await on.visit(path)
    await page.getByText('primary', { exact: true }).waitFor()
    await page.getByText('2 times').waitFor()
    expect(await page.getByRole('link', { name: '1 conflict' }).getAttribute('href')).toBe('#/conflicts')
    await page.getByText(detail.receipt.traceparent ?? '').waitFor()
    await page.getByText('Headers', { exact: true }).click()
    await page.getByText('user-agent: sender/1.0').waitFor()
  })

  test('is replayed for all handlers, or for one of them, after it was asked for', async () => {
    const page = await on.visit(path)
    const replay = { id: 3, state: 'running' }
    on.api.answer(`POST ${path}/replay`, { status: 201, body: replay })
    on.api.answer('POST /replays', failed(400, 'bad_request', 'there is no such handler'))
    await page.getByRole('button', { name: 'Replay' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('By').locator('option').last().waitFor({ state: 'attached' })
    expect(await dialog.getByLabel('By').locator('option').allTextContents()).toEqual([
      'All handlers that take it',
      'large-trades',
      'ledger',
    ])
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('The replay has begun.').waitFor()

    await page.getByRole('button', { name: 'Replay' }).click()
    await dialog.getByLabel('By').selectOption('ledger')
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await dialog.getByRole('alert').getByText('there is no such handler').waitFor()
    on.forget()
    on.api.answer('POST /replays', { status: 201, body: replay })
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await dialog.waitFor({ state: 'detached' })
    const one = { call: 'POST /replays', body: { ids: [idOf(7)], handler: 'ledger' } }
    expect(on.api.asked).toEqual([{ call: `POST ${path}/replay`, body: null }, one, one])
  })

  test('its dead letters are requeued, or dropped with a reason, and the page shows what became of it', async () => {
    const page = await on.visit(path)
    on.api.answer('POST /dead-letters/requeue', ok({ requeued: 1, complete: true }))
    on.api.answer('POST /dead-letters/drop', ok({ dropped: 1, complete: true }))
    await asked(page, 'ledger').waitFor()
    expect(await page.getByRole('button', { name: /^Requeue/ }).count()).toBe(1)
    await page.getByRole('button', { name: 'Drop ledger' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Drop' }).click()
    await dialog.getByText('Say why').waitFor()
    await dialog.getByLabel('Reason').fill('closed for good')
    await dialog.getByRole('button', { name: 'Drop' }).click()
    await dialog.waitFor({ state: 'detached' })

    const runs = detail.runs.map((run) => ({ ...run, state: 'done' as const }))
    on.api.answer(calls.detail, ok({ ...detail, status: 'done', runs }))
    await page.getByRole('button', { name: 'Requeue ledger' }).click()
    await page.getByRole('button', { name: /^Requeue/ }).waitFor({ state: 'detached' })
    expect(on.api.asked).toEqual([
      { call: 'POST /dead-letters/drop', body: { run_ids: [32], reason: 'closed for good' } },
      { call: 'POST /dead-letters/requeue', body: { run_ids: [32] } },
    ])
  })

  test('a viewer sees all of it and no acts', async () => {
    const page = await on.visit(path, asViewer)
    await asked(page, 'ledger').waitFor()
    await page.getByRole('region', { name: 'Body' }).waitFor()
    expect(await page.getByRole('button', { name: /Replay|Requeue|Drop/ }).count()).toBe(0)
  })

  test('a pruned one says so, and asks for no body', async () => {
    const receipt = { ...detail.receipt, headers: null, traceparent: null, stored_at: null }
    const page = await on.visit(path, {
      [calls.detail]: ok({ ...detail, pruned: true, envelope: null, runs: [], timeline: [], receipt }),
    })
    await page.getByText('Its body is no longer kept').waitFor()
    await page.getByText('Its headers were not kept.').waitFor()
    expect(await page.getByRole('button', { name: 'Replay' }).count()).toBe(0)
    expect(on.api.read.filter((read) => read.endsWith('/raw'))).toEqual([])
  })

  test('one that no handler took, and one that is not there, say so', async () => {
    const page = await on.visit(path, { [calls.detail]: ok({ ...detail, runs: [], timeline: [] }) })
    await page.getByText('No handler took this event').waitFor()
    await page.goto(`${on.api.url}/#/events/evt_nowhere`)
    await page.getByRole('alert').getByText('there is no GET /events/evt_nowhere').waitFor()
    on.forget()
  })

  test('leads to the newer and the older one: of the list that was looked at, else of all', async () => {
    const list = [summaryOf(9), summaryOf(7), summaryOf(2)]
    const page = await on.visit('/events?status=done', {
      'GET /events': ok({ data: list, next_cursor: null, searched_to: null }),
      [`GET /events/${idOf(2)}`]: ok({ ...detail, ...summaryOf(2) }),
      [`GET /events/${idOf(2)}/raw`]: ok(Buffer.from('{}')),
      [`GET /events/${idOf(8)}`]: ok({ ...detail, ...summaryOf(8) }),
      [`GET /events/${idOf(8)}/raw`]: ok(Buffer.from('{}')),
    })
    await page.getByRole('row').nth(2).getByRole('link').click()
    await asked(page, 'ledger').waitFor()
    expect(await page.getByRole('link', { name: 'Newer' }).getAttribute('href')).toBe(`#/events/${idOf(9)}`)
    await page.keyboard.press('j')
    await page.waitForURL(`**/#/events/${idOf(2)}`)
    await page.getByRole('button', { name: 'Older', exact: true }).and(page.locator(':disabled')).waitFor()
    await page.getByRole('link', { name: 'Newer' }).click()
    await page.waitForURL(`**/#${path}`)
    await page.keyboard.press('u')
    await page.waitForURL('**/#/events?status=done')

    on.api.answer('GET /events', (query) =>
      ok({
        data: query.has('to') ? [summaryOf(7), summaryOf(6)] : [summaryOf(9), summaryOf(8), summaryOf(7)],
        next_cursor: null,
        searched_to: null,
      }),
    )
    await page.goto('about:blank')
    await page.goto(`${on.api.url}/#${path}`)
    await page.getByRole('link', { name: 'Older' }).waitFor()
    expect(await page.getByRole('link', { name: 'Older' }).getAttribute('href')).toBe(`#/events/${idOf(6)}`)
    await page.keyboard.press('k')
    await page.waitForURL(`**/#/events/${idOf(8)}`)
  })

  test('is looked at anew when the handlers have moved on', async () => {
    const page = await on.visit(path)
    await asked(page, 'ledger').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    on.api.answer(calls.detail, ok({ ...detail, receipt: { ...detail.receipt, duplicates: 5 } }))
    on.api.publish('changed', { what: ['handlers'] })
    await page.getByText('5 times').waitFor()
  })

  test('is well for everybody, on a phone too, with a long body and long names', async () => {
    const page = await on.visit(path)
    await asked(page, 'chat').getByText('What it delivers').click()
    await page.getByText('Headers', { exact: true }).click()
    await page.getByRole('region', { name: 'Body' }).waitFor()
    await expectForEverybody(page)
    await page.getByLabel('As bytes').check()
    await page.setViewportSize({ width: 360, height: 780 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  })

  test.each(hostileTexts)('%s in every field is shown as text', async (_name, text) => {
    const { id, status, runs, timeline } = detail
    const hostile = withTexts(detail, text)
    const raw = { id: text, type: text, data: { name: text, [text]: [text] } }
    const page = await on.visit(path, {
      [calls.raw]: ok(Buffer.from(JSON.stringify(raw))),
      [calls.detail]: ok({
        ...hostile,
        // No sender can choose these.
        id,
        status,
        runs: hostile.runs.map((run, index) => ({ ...run, state: runs[index]?.state })),
        timeline: hostile.timeline.map((attempt, index) => ({ ...attempt, outcome: timeline[index]?.outcome })),
      }),
    })
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    for (const fold of await page.locator('main summary').all()) await fold.click()
    await expectAsText(page, text, 20)
  })

  test('a body of a hundred thousand characters, and markup in it, is text', async () => {
    const raw = JSON.stringify({
      data: { name: nasty.markup, long: nasty.long, controls: nasty.controls, bidi: nasty.bidi },
    })
    const page = await on.visit(path, { [calls.raw]: ok(Buffer.from(raw)) })
    const region = page.getByRole('region', { name: 'Body' })
    await region.waitFor()
    const shown = (await region.textContent()) ?? ''
    expect(JSON.parse(shown)).toEqual(JSON.parse(raw))
    expect(shown).toContain('\\u202e')
    expect(await page.locator('main :is(img, script)').count()).toBe(0)
    await page.setViewportSize({ width: 360, height: 780 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  })
})
