import { describe, expect, test } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import {
  asViewer,
  expectAsText,
  expectForEverybody,
  hostile,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { replayOf, replays } from '../support/console-samples/c.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { dialogOf } from '../support/dashboard-visits.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

const start = 'POST /replays'

describe.skipIf(!hasBrowser)('replays in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('they are listed with progress and their filter in words, whatever stands in it', async () => {
    const page = await on.visit('/replays')
    const row = page.getByRole('row', { name: /^#3/ })
    await row
      .getByText(
        'events of type wallet.large_trade on ethereum received from 2026-01-31 14:00:00 UTC for the handler large-trades',
      )
      .waitFor()
    await row.getByText('42 %').waitFor()
    expect(await row.getByRole('progressbar').getAttribute('value')).toBe('0.425')
    await page
      .getByRole('row', { name: /^#1 cancelled/ })
      .getByText('the event evt_1')
      .waitFor()
    await page.getByText('<img src=x').waitFor()
    expect(await page.locator('main').textContent()).not.toContain('\u202e')
    await expectForEverybody(page, ['light'])
  })

  test('a text of all that is nasty does nothing in any field, and fits on a phone', async () => {
    on.api.answer('GET /replays', ok({ data: withTexts(replays, hostile), next_cursor: null }))
    await expectAsText(await on.visit('/replays'), hostile, 3)
  })

  test('progress is live, and one that runs is cancelled after a question', async () => {
    on.api.answer('POST /replays/3/cancel', ok({ ...replayOf(3), cancelled: true }))
    const page = await on.visit('/replays')
    await page.getByText('42 %').waitFor()
    await until(() => on.api.listeners > 0, 'the stream')
    on.api.answer('GET /replays', ok({ data: [replayOf(3, { progress: 0.9 })], next_cursor: null }))
    on.api.publish('changed', { what: ['replays'] })
    await page.getByText('90 %').waitFor()
    await page.getByRole('button', { name: 'Cancel replay 3' }).click()
    await dialogOf(page).getByText('What was done stays done.').waitFor()
    on.api.answer('GET /replays', ok({ data: [replayOf(3, { state: 'cancelled' })], next_cursor: null }))
    await dialogOf(page).getByRole('button', { name: 'Cancel the replay' }).click()
    await page.getByRole('row', { name: /^#3 cancelled/ }).waitFor()
    expect(on.api.asked).toEqual([{ call: 'POST /replays/3/cancel', body: null }])
    expect(await page.getByRole('button', { name: /^Cancel/ }).count()).toBe(0)
  })

  test('an empty filter, a time that is none and a pace that is none are refused with help, and nothing is sent', async () => {
    const page = await on.visit('/replays')
    await page.getByRole('button', { name: 'Start a replay' }).click()
    const count = dialogOf(page).getByRole('button', { name: 'Count them' })
    await count.click()
    await dialogOf(page)
      .getByText('fill in at least one of type, network, address, status, handler, from, to')
      .waitFor()
    await dialogOf(page).getByLabel('Received from').fill('yesterday')
    await count.click()
    await dialogOf(page).getByText('Expected a moment such as 2026-01-31 12:00, received “yesterday”.').waitFor()
    await dialogOf(page).getByLabel('Received from').fill('2026-01-31')
    await dialogOf(page).getByLabel('Runs per second').fill('0')
    await count.click()
    await dialogOf(page).getByText('expected a number above 0').waitFor()
    await expectForEverybody(page, ['light'])
    expect(on.api.asked).toEqual([])
  })

  test('a replay is counted first, and started with the very filter that was counted', async () => {
    on.api.answer('GET /handlers', ok({ paused: false, data: [{ name: 'large-trades' }], next_cursor: null }))
    on.api.answer(start, ok({ dry_run: true, events: 1_234, skipped: 5 }))
    const page = await on.visit('/replays?start=1&type=wallet.large_trade')
    const dialog = dialogOf(page)
    expect(await dialog.getByLabel('Type').inputValue()).toBe('wallet.large_trade')
    await dialog.getByLabel('Network').selectOption('ethereum')
    await dialog.getByLabel('Address').fill(' 0xabc ')
    await dialog.getByLabel('Status').selectOption('dead')
    await dialog.getByLabel('Handler').selectOption('large-trades')
    await dialog.getByLabel('Received from').fill('2026-01-31 12:00')
    await dialog.getByLabel('Received before').fill('2026-01-31T14:00+01:00')
    await dialog.getByLabel('Runs per second').fill('2.5')
    await dialog.getByLabel('With new idempotency keys').check()
    await dialog.getByRole('button', { name: 'Count them' }).click()
    await dialog.getByText('1,234 events would be run again: events of type wallet.large_trade on ethereum').waitFor()
    await dialog.getByText('5 more have no body any more and are left out.').waitFor()
    const filter = {
      type: 'wallet.large_trade',
      network: 'ethereum',
      address: '0xabc',
      status: 'dead',
      handler: 'large-trades',
      from: '2026-01-31T12:00:00.000Z',
      to: '2026-01-31T13:00:00.000Z',
      per_second: 2.5,
      new_keys: true,
    }
    expect(on.api.asked).toEqual([{ call: start, body: { ...filter, dryRun: true } }])
    on.api.answer(start, ok(replayOf(4)))
    on.api.answer('GET /replays', ok({ data: [replayOf(4), ...replays], next_cursor: null }))
    await dialog.getByRole('button', { name: 'Replay 1,234' }).click()
    await page.getByText('Replay #4 was started').waitFor()
    await page.getByRole('row', { name: /^#4/ }).waitFor()
    await page.waitForURL(/#\/replays$/)
    expect(on.api.asked.at(-1)).toEqual({ call: start, body: filter })
  })

  test('a change of the filter asks for another count; one that finds nothing starts nothing; a refusal is shown', async () => {
    on.api.answer(start, ok({ dry_run: true, events: 3, skipped: 0 }))
    const page = await on.visit('/replays?start=1&status=dead')
    const dialog = dialogOf(page)
    await dialog.getByRole('button', { name: 'Count them' }).click()
    await dialog.getByRole('button', { name: 'Replay 3' }).waitFor()
    on.api.answer(start, ok({ dry_run: true, events: 0, skipped: 0 }))
    await dialog.getByLabel('Network').selectOption('solana')
    await dialog.getByRole('button', { name: 'Count them' }).click()
    await dialog.getByText('There are no events on solana that are dead.').waitFor()
    on.api.answer(start, failed(404, 'not_found', nasty.markup))
    await dialog.getByRole('button', { name: 'Count them' }).click()
    await dialog.getByRole('alert').getByText('<img src=x').waitFor()
    on.forget()
    expect(on.api.asked.every(({ body }) => (body as { dryRun?: boolean }).dryRun)).toBe(true)
  })

  test('a viewer sees them and can neither start nor cancel, not by the address either', async () => {
    const page = await on.visit('/replays?start=1', asViewer)
    await page.getByText('42 %').waitFor()
    expect(await page.getByRole('button', { name: /start|cancel/i }).count()).toBe(0)
    expect(await dialogOf(page).count()).toBe(0)
    on.api.answer('GET /replays', ok({ data: [], next_cursor: null }))
    await on.visit('/replays', asViewer)
    await page.getByText('No replays yet').waitFor()
  })
})
