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
import { deadGroups, letterOf, letters } from '../support/console-samples/c.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { dialogOf } from '../support/dashboard-visits.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

const requeue = 'POST /dead-letters/requeue'
const drop = 'POST /dead-letters/drop'
const [group] = deadGroups.data

describe.skipIf(!hasBrowser)('dead letters in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('they are grouped by error, a group opens its letters, and an error unfolds to its stack', async () => {
    const page = await on.visit('/dead-letters')
    const card = page.getByRole('article', { name: `large-trades: ${group?.group}` })
    await card.getByText('1,204').waitFor()
    await card.getByText('3 hold up their keys').waitFor()
    await page.getByText('Only the newest dead letters were looked at').waitFor()
    const stack = card.getByRole('region', { name: 'Error of run 5' })
    expect(await stack.isVisible()).toBe(false)
    await card.getByText('TypeError: cannot read amount 5').first().click()
    await stack.getByText('at run (large-trades.ts:5:7)').waitFor()
    const table = page.getByRole('table')
    await table.waitFor()
    expect(await table.getByText('holds up its key').count()).toBe(letters.filter(({ held }) => held).length)
    const link = table.getByTitle(letterOf(1).event_id, { exact: true })
    expect(await link.getAttribute('href')).toBe(`#/events/${letterOf(1).event_id}`)
    await card.getByRole('link', { name: group?.group ?? '', exact: true }).click()
    await page.getByRole('heading', { name: 'Dead letters with this error' }).waitFor()
    const asked = new URLSearchParams({ handler: 'large-trades', group: group?.group ?? '', limit: '50' })
    await until(() => on.api.read.includes(`/dead-letters?${asked.toString()}`), 'the letters of the group')
  })

  test('hostile text in every field stays text, for a hundred kilobytes of it too', async () => {
    const page = await on.visit('/dead-letters')
    const card = page.getByRole('article').nth(1)
    await card.getByText('<img src=x').first().waitFor()
    await card.locator('summary').click()
    const stack = card.getByRole('region')
    expect((await stack.textContent())?.length).toBeGreaterThan(99_000)
    expect(await page.locator('main').textContent()).toContain('EVIL\\u{202e}LOOC')
    expect(await page.locator('main').textContent()).not.toMatch(/\p{Cf}|[^\P{Cc}\n]/u)
    await card.locator('summary').click()
    const link = page.getByRole('table').locator('tbody tr').last().getByRole('link')
    expect(await link.getAttribute('href')).toBe(`#/events/${encodeURIComponent(nasty.markup)}`)
    await expectForEverybody(page, ['light'])
  })

  test('a text of all that is nasty does nothing in any field, and fits on a phone', async () => {
    on.api.answer('GET /dead-letters', ok({ data: withTexts(letters, hostile), next_cursor: null }))
    on.api.answer('GET /dead-letters/groups', ok(withTexts(deadGroups, hostile)))
    const page = await on.visit('/dead-letters')
    await page.getByRole('article').first().waitFor()
    await page.getByRole('table').waitFor()
    await expectAsText(page, hostile, 30)
  })

  test('the filter is in the address, by a field or by a link', async () => {
    on.api.answer('GET /handlers', ok({ paused: false, data: [{ name: 'large-trades' }], next_cursor: null }))
    const page = await on.visit('/dead-letters')
    await page.getByLabel('Handler').selectOption('large-trades')
    await page.getByLabel('Type', { exact: true }).fill('pump.graduation')
    await page.getByLabel('Type', { exact: true }).press('Enter')
    await page.waitForURL(/#\/dead-letters\?handler=large-trades&type=pump.graduation$/)
    await until(
      () => on.api.read.includes('/dead-letters/groups?handler=large-trades&type=pump.graduation'),
      'the groups of the filter',
    )
    await page.reload()
    expect(await page.getByLabel('Type', { exact: true }).inputValue()).toBe('pump.graduation')
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await page.waitForURL(/#\/dead-letters$/)
  })

  test('a group is requeued after a dry run that says how many there are, and the audit is a link away', async () => {
    on.api.answer(requeue, ok({ requeued: 1_204, complete: true, dry_run: true }))
    const page = await on.visit('/dead-letters')
    await page.getByRole('article').first().getByRole('button', { name: 'Requeue group' }).click()
    await dialogOf(page).getByText('1,204 dead letters would be requeued.').waitFor()
    const which = { filter: { handler: 'large-trades', group: group?.group } }
    expect(on.api.asked).toEqual([{ call: requeue, body: { ...which, dryRun: true } }])
    expect(await dialogOf(page).getByLabel('Reason').count()).toBe(0)
    on.api.answer(requeue, ok({ requeued: 1_203, complete: true }))
    on.api.answer('GET /dead-letters/groups', ok({ data: [], complete: true }))
    on.api.answer('GET /dead-letters', ok({ data: [], next_cursor: null }))
    await dialogOf(page).getByRole('button', { name: 'Requeue 1,204' }).click()
    await dialogOf(page).getByText('1,203 dead letters were requeued.').waitFor()
    await dialogOf(page).getByRole('heading', { name: 'Done' }).waitFor()
    expect(on.api.asked).toEqual([
      { call: requeue, body: { ...which, dryRun: true } },
      { call: requeue, body: which },
    ])
    expect(await dialogOf(page).getByRole('link', { name: 'See the audit' }).getAttribute('href')).toBe('#/audit')
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('No dead letters', { exact: true }).waitFor()
  })

  test('where there are more than are acted on at once, the dialog says so before and after', async () => {
    on.api.answer(requeue, ok({ requeued: 100_000, complete: false, dry_run: true }))
    on.api.answer(drop, ok({ dropped: 100_000, complete: false, dry_run: true }))
    const page = await on.visit('/dead-letters')
    await page.getByRole('article').first().getByRole('button', { name: 'Requeue group' }).click()
    const first = 'There are more: these are the first 100,000; then again.'
    await dialogOf(page).getByText(`100,000 dead letters would be requeued. ${first}`).waitFor()
    on.api.answer(requeue, ok({ requeued: 100_000, complete: false }))
    await dialogOf(page).getByRole('button', { name: 'Requeue 100,000' }).click()
    const rest = 'There are more: these were the first 100,000. Do it again.'
    await dialogOf(page).getByText(`100,000 dead letters were requeued. ${rest}`).waitFor()
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('article').first().getByRole('button', { name: 'Drop group' }).click()
    await dialogOf(page).getByText(`100,000 dead letters would be dropped. ${first}`).waitFor()
  })

  test('chosen ones are dropped with a reason, which is asked for', async () => {
    on.api.answer(drop, ok({ dropped: 2, complete: true, dry_run: true }))
    const page = await on.visit('/dead-letters')
    await page.getByLabel('Choose run 2').check()
    await page.getByLabel('Choose run 4').check()
    await page.getByText('2 chosen').waitFor()
    await page.getByRole('button', { name: 'Drop chosen' }).click()
    await dialogOf(page).getByText('2 dead letters would be dropped.').waitFor()
    const button = dialogOf(page).getByRole('button', { name: 'Drop 2' })
    expect(await button.isDisabled()).toBe(true)
    await expectForEverybody(page, ['light'])
    on.api.answer(drop, ok({ dropped: 2, complete: true }))
    await dialogOf(page).getByLabel('Reason').fill(' came twice ')
    await page.keyboard.press('Enter')
    await dialogOf(page).getByText('2 dead letters were dropped.').waitFor()
    expect(on.api.asked).toEqual([
      { call: drop, body: { run_ids: [2, 4], reason: 'dry run', dryRun: true } },
      { call: drop, body: { run_ids: [2, 4], reason: 'came twice' } },
    ])
  })

  test('all, and all that match a filter, can be requeued and dropped', async () => {
    on.api.answer(requeue, ok({ requeued: 6, complete: true, dry_run: true }))
    on.api.answer(drop, ok({ dropped: 1, complete: true, dry_run: true }))
    let page = await on.visit('/dead-letters')
    await page.getByRole('button', { name: 'Requeue all' }).click()
    await dialogOf(page).getByRole('button', { name: 'Requeue 6' }).waitFor()
    await page.keyboard.press('Escape')
    page = await on.visit('/dead-letters?type=pump.graduation&group=TypeError')
    await page.getByRole('button', { name: 'Drop all that match' }).click()
    await dialogOf(page).getByText('1 dead letter would be dropped.').waitFor()
    expect(on.api.asked).toEqual([
      { call: requeue, body: { all: true, dryRun: true } },
      {
        call: drop,
        body: { filter: { type: 'pump.graduation', group: 'TypeError' }, reason: 'dry run', dryRun: true },
      },
    ])
  })

  test('where none are left, nothing can be done; where it fails, the dialog says why and counts again', async () => {
    on.api.answer(requeue, failed(503, 'store_unavailable', nasty.markup))
    const page = await on.visit('/dead-letters')
    await page.getByRole('button', { name: 'Requeue all' }).click()
    await dialogOf(page).getByRole('alert').getByText('<img src=x').waitFor()
    on.forget()
    on.api.answer(requeue, ok({ requeued: 0, complete: true, dry_run: true }))
    await dialogOf(page).getByRole('button', { name: 'Count again' }).click()
    await dialogOf(page).getByText('0 dead letters would be requeued.').waitFor()
    expect(
      await dialogOf(page)
        .getByRole('button', { name: /^Requeue/ })
        .count(),
    ).toBe(0)
  })

  test('more are loaded when they are asked for, and stay when the list is told to have changed', async () => {
    const page2 = [letterOf(7), letterOf(8)]
    on.api.answer('GET /dead-letters', (query) =>
      query.get('cursor') === 'next'
        ? ok({ data: page2, next_cursor: null })
        : ok({ data: letters.slice(0, 2), next_cursor: 'next' }),
    )
    const page = await on.visit('/dead-letters')
    const rows = page.getByRole('table').locator('tbody tr')
    await page.getByRole('button', { name: 'Load more' }).click()
    await rows.nth(3).waitFor()
    expect(await rows.count()).toBe(4)
    await until(() => on.api.listeners > 0, 'the stream')
    page2.push(letterOf(9))
    on.api.publish('changed', { what: ['quarantine', 'dead-letters'] })
    await rows.nth(4).waitFor()
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0)
  })

  test('a viewer sees them and is offered nothing that changes them', async () => {
    const page = await on.visit('/dead-letters', asViewer)
    await page.getByRole('article').first().waitFor()
    await page.getByRole('table').waitFor()
    expect(await page.getByRole('button', { name: /requeue|drop/i }).count()).toBe(0)
    expect(await page.locator('main').getByRole('checkbox').count()).toBe(0)
  })

  test('where there are none it says how they come about; where they cannot be loaded, why', async () => {
    on.api.answer('GET /dead-letters/groups', failed(500, 'internal', 'the disk is full'))
    on.api.answer('GET /dead-letters', ok({ data: [], next_cursor: null }))
    const page = await on.visit('/dead-letters')
    await page.getByRole('alert').getByText('the disk is full').waitFor()
    on.forget()
    on.api.answer('GET /dead-letters/groups', ok({ data: [], complete: true }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('its handler gave up on an event').waitFor()
    expect(await page.getByRole('button', { name: /requeue/i }).count()).toBe(0)
  })
})
