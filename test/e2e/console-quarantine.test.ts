import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { quarantineReasons } from '../../src/web/console/parts/quarantine-reasons.ts'
import type { Unusable } from '../../src/receiver/envelope.ts'
import { hasBrowser } from '../support/browser.ts'
import {
  asViewer,
  expectAsText,
  expectForEverybody,
  hostile,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { bodyId, quarantinedDetail, samples, unusableBytes } from '../support/console-samples/c.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { dialogOf } from '../support/dashboard-visits.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

const retry = 'POST /quarantine/retry'
const drop = 'POST /quarantine/drop'
const one = `/quarantine/${encodeURIComponent(bodyId)}`
const retried = { accepted: 3, known: 1, still_unusable: 0, unusable: [] }

test('every reason for which the receiver puts a body aside has words of its own', () => {
  const reasons: Record<Unusable, true> = {
    not_utf8: true,
    byte_order_mark: true,
    not_json: true,
    too_deep: true,
    not_an_envelope: true,
    bad_id: true,
    own_type: true,
  }
  expect(Object.keys(quarantineReasons).toSorted()).toEqual(Object.keys(reasons).toSorted())
})

describe.skipIf(!hasBrowser)('the quarantine in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('bodies are grouped by reason with what it means and what to do; a reason filters the list by the address', async () => {
    const page = await on.visit('/quarantine')
    const card = page.getByRole('article', { name: 'Not JSON' })
    await card.getByText('The text is no JSON: cut off, empty, or of another format.').waitFor()
    await card.getByText('main (3), EVIL\\u{202e}LOOC').waitFor()
    expect(await card.locator('dd').first().textContent()).toBe('4')
    await page.getByRole('article', { name: 'Another reason' }).getByText('<img src=x').waitFor()
    await expectForEverybody(page, ['light'])
    await card.getByRole('link', { name: 'Not JSON' }).click()
    await until(() => on.api.read.includes('/quarantine?reason=not_json&limit=50'), 'the list of the reason')
    expect(await page.getByRole('article').count()).toBe(1)
    expect(await page.getByLabel('Reason').inputValue()).toBe('not_json')
    await page.getByLabel('Reason').selectOption('All')
    await page.waitForURL(/#\/quarantine$/)
  })

  test('a reason is tried again after a dry run that says what would become of its bodies', async () => {
    const unusable = [{ id: 'sha256:00', reason: nasty.markup }]
    on.api.answer(retry, ok({ ...retried, still_unusable: 1, unusable, dry_run: true }))
    const page = await on.visit('/quarantine')
    const card = page.getByRole('article', { name: 'Not JSON' })
    await card.getByRole('button', { name: 'Try these again' }).click()
    await dialogOf(page)
      .getByText(/^3 bodies would be accepted; 1 would be known already; 1 would be unusable still \(<img/)
      .waitFor()
    on.api.answer(retry, ok(retried))
    await dialogOf(page).getByRole('button', { name: 'Try again 4' }).click()
    await dialogOf(page).getByText('3 bodies were accepted; 1 was known already.').waitFor()
    const filter = { reason: 'not_json' }
    expect(on.api.asked).toEqual([
      { call: retry, body: { filter, dryRun: true } },
      { call: retry, body: { filter } },
    ])
  })

  test('chosen ones, a reason and all can be dropped with a reason', async () => {
    on.api.answer(drop, ok({ dropped: 2, dry_run: true }))
    const page = await on.visit('/quarantine')
    await page.getByLabel('Choose all 3 that are shown').check()
    await page.getByLabel('Choose 00bb').uncheck()
    await page.getByRole('button', { name: 'Drop chosen' }).click()
    await dialogOf(page).getByText('2 bodies would be dropped.').waitFor()
    on.api.answer(drop, ok({ dropped: 2 }))
    await dialogOf(page).getByLabel('Reason').fill('a test of the sender')
    await dialogOf(page).getByRole('button', { name: 'Drop 2' }).click()
    await dialogOf(page).getByText('2 bodies were dropped.').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('article', { name: 'Not UTF-8' }).getByRole('button', { name: 'Drop these' }).click()
    await dialogOf(page).getByRole('button', { name: 'Drop 2' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Drop all' }).click()
    await dialogOf(page).getByRole('button', { name: 'Drop 2' }).waitFor()
    const ids = ['sha256:00aa', bodyId]
    expect(on.api.asked).toEqual([
      { call: drop, body: { ids, reason: 'dry run', dryRun: true } },
      { call: drop, body: { ids, reason: 'a test of the sender' } },
      { call: drop, body: { filter: { reason: 'not_utf8' }, reason: 'dry run', dryRun: true } },
      { call: drop, body: { all: true, reason: 'dry run', dryRun: true } },
    ])
  })

  test('one body is shown as text and in hex, and downloaded byte for byte', async () => {
    const page = await on.visit(one)
    const body = page.getByRole('region', { name: 'Body' })
    await body.getByText('<img src=x').waitFor()
    expect(await body.textContent()).not.toContain('\u202e')
    await page.getByLabel('Show as').selectOption('Bytes in hex')
    await body.getByText(/^00000000 {2}ff 00 7b 22 61 22 3a 20 /).waitFor()
    await page.getByLabel('Show as').selectOption('Text as it came')
    await body.getByText('\ufffd\\u{0}{"a": "').waitFor()
    await expectForEverybody(page, ['light'])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the exact bytes' }).click(),
    ])
    expect(download.suggestedFilename()).toBe(`quarantined-${bodyId.slice(7, 19)}.bin`)
    expect(new Uint8Array(await buffer(await download.createReadStream()))).toEqual(unusableBytes)
  })

  test('a text of all that is nasty does nothing in any field, and fits on a phone', async () => {
    for (const path of ['/quarantine', '/quarantine/groups']) {
      on.api.answer(`GET ${path}`, ok({ ...withTexts(samples[path] as object, hostile), next_cursor: null }))
    }
    const page = await on.visit('/quarantine')
    await page.getByRole('article').first().waitFor()
    await page.getByRole('table').waitFor()
    await expectAsText(page, hostile, 11)
    const raw = { raw_base64: Buffer.from(hostile).toString('base64') }
    on.api.answer(`GET ${one}`, ok({ ...withTexts(quarantinedDetail, hostile), ...raw }))
    await expectAsText(await on.visit(one), hostile, 2)
  })

  test('a large body is shown as far as anybody reads it, an empty one says so', async () => {
    const large = Buffer.alloc(300_000, 'ab')
    on.api.answer(`GET ${one}`, ok({ ...quarantinedDetail, raw_base64: large.toString('base64') }))
    let page = await on.visit(one)
    await page.getByText('The first 65,536 of 300,000 bytes. The download has all of them.').waitFor()
    on.api.answer(`GET ${one}`, ok({ ...quarantinedDetail, raw_base64: '' }))
    page = await on.visit(one)
    await page.getByText('It is empty: no bytes came.').waitFor()
  })

  test('one body is dropped from its page, which says then where it is gone', async () => {
    on.api.answer(drop, ok({ dropped: 1, dry_run: true }))
    const page = await on.visit(one)
    await page.getByRole('button', { name: 'Drop it' }).click()
    await dialogOf(page).getByText('1 body would be dropped.').waitFor()
    on.api.answer(drop, ok({ dropped: 1 }))
    on.api.answer(`GET ${one}`, failed(404, 'not_found', 'there is no body in quarantine with this id'))
    await dialogOf(page).getByLabel('Reason').fill('seen')
    await dialogOf(page).getByRole('button', { name: 'Drop 1' }).click()
    await dialogOf(page).getByText('1 body was dropped.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('It is not in quarantine any more').waitFor()
    on.forget()
    expect(on.api.asked).toEqual([
      { call: drop, body: { ids: [bodyId], reason: 'dry run', dryRun: true } },
      { call: drop, body: { ids: [bodyId], reason: 'seen' } },
    ])
  })

  test('it is asked for anew when it is told to have changed; a viewer is offered no acts', async () => {
    let page = await on.visit('/quarantine', asViewer)
    await page.getByRole('article').first().waitFor()
    await page.getByRole('table').waitFor()
    expect(await page.getByRole('button', { name: /again|drop/i }).count()).toBe(0)
    expect(await page.locator('main').getByRole('checkbox').count()).toBe(0)
    await until(() => on.api.listeners > 0, 'the stream')
    on.api.answer('GET /quarantine/groups', ok({ data: [] }))
    on.api.answer('GET /quarantine', ok({ data: [], next_cursor: null }))
    on.api.publish('changed', { what: ['quarantine'] })
    await page.getByText('Nothing is in quarantine').waitFor()
    page = await on.visit(one, asViewer)
    await page.getByRole('button', { name: 'Download the exact bytes' }).waitFor()
    expect(await page.getByRole('button', { name: /again|drop/i }).count()).toBe(0)
  })
})
