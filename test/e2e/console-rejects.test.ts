import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { diffLines, foldRows } from '../../src/web/console/parts/conflicts-diff.ts'
import { hasBrowser } from '../support/browser.ts'
import { expectAsText, expectForEverybody, hostile, setUpConsolePages, withTexts } from '../support/console-pages.ts'
import { conflict, conflictDetail, explanation, samples } from '../support/console-samples/c.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

test('what is equal in two texts stands beside each other, and each side is the whole text in its order', () => {
  const kinds = (left: string, right: string) => diffLines(left, right).rows.map(({ kind }) => kind)
  expect(kinds('a\nb\nc', 'a\nb\nc')).toEqual(['same', 'same', 'same'])
  expect(kinds('a\nb\nc', 'a\nc')).toEqual(['same', 'left', 'same'])
  expect(kinds('a\nc', 'a\nb\nc')).toEqual(['same', 'right', 'same'])
  expect(kinds('a\nx\nc\nd', 'a\ny\nz\nc\ne')).toEqual(['same', 'changed', 'right', 'same', 'changed'])
  expect(kinds('', '')).toEqual(['same'])
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '')).map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, text, (left, right) => {
      const { rows } = diffLines(left, right)
      const side = (name: 'left' | 'right') => rows.flatMap((row) => row[name] ?? []).join('\n')
      expect([side('left'), side('right')]).toEqual([left, right])
      expect(rows.every((row) => (row.kind === 'same') === (row.left === row.right))).toBe(true)
    }),
    { seed: Math.trunc(Math.random() * 2 ** 31) },
  )
})

test('lines far from every difference are folded, and so is what is too much', () => {
  const numbers = Array.from({ length: 100 }, (_, index) => String(index))
  const { rows } = diffLines(numbers.join('\n'), numbers.with(50, 'x').join('\n'))
  const shown = foldRows(rows, 1_000)
  expect(shown.map((row) => (row.kind === 'folded' ? row.lines : row.left))).toEqual([47, ...numbers.slice(47, 54), 46])
  expect(foldRows(rows, 2).at(-1)).toEqual({ kind: 'folded', lines: 52 })
})

describe.skipIf(!hasBrowser)('rejects, conflicts and drift in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('rejects are grouped by reason and source, and the page says how far they go back', async () => {
    const page = await on.visit('/rejects')
    await page.getByRole('heading', { name: 'Wrong signature: 13' }).waitFor()
    await page.getByText('No configured secret gives this signature for these bytes.').waitFor()
    await page.getByText('kept in memory since the start').waitFor()
    await page.getByText('7 groups had to make room for newer ones').waitFor()
    const rows = page.getByRole('region', { name: 'Sources: Wrong signature' }).locator('tbody tr')
    expect(await rows.count()).toBe(2)
    expect(await rows.nth(0).textContent()).toContain('EVIL\\u{202e}LOOC')
    expect(await rows.nth(1).textContent()).toContain('203.0.113.9')
    await page.getByRole('heading', { name: 'Body too large: 2' }).waitFor()
    await page.getByRole('cell', { name: 'not read' }).waitFor()
    await page.getByRole('heading', { name: 'Another reason: 1' }).waitFor()
    expect(await page.getByRole('link', { name: /^Explain/ }).count()).toBe(2)
  })

  test('R73 the signature explainer says what is wrong and what to do, and hostile headers stay text', async () => {
    const page = await on.visit('/rejects')
    await page.getByRole('link', { name: 'Explain the signature from 203.0.113.9' }).click()
    await page.waitForURL(/#\/rejects\?id=r1$/)
    await page.getByRole('heading', { name: 'It is base64 instead of hex' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Explanation')
    await page.getByText(explanation.message).waitFor()
    await page.getByText('Have the sender write the digest as hex.').waitFor()
    const headers = page.getByRole('region', { name: 'Headers of the request' })
    expect(await headers.textContent()).toContain(`x-note: ${nasty.markup}`)
    expect(await headers.textContent()).not.toMatch(/\p{Cf}|[^\P{Cc}\n]/u)
    expect(await page.getByRole('region', { name: 'Begin of the body' }).textContent()).toBe(nasty.markup)
    await expectForEverybody(page, ['light'])
    await page.getByRole('link', { name: 'Close' }).click()
    await page.waitForURL(/#\/rejects$/)
  })

  test.each([
    ['wrong_secret', 'Another secret, or other bytes'],
    ['body_json', 'The JSON was written anew'],
    ['something_new', 'Another finding'],
    ['constructor', 'Another finding'],
  ])('a finding of the explainer has words, be it known or not: %s', async (code, title) => {
    on.api.answer('GET /rejects/r1', ok({ ...explanation, code, matched_label: null }))
    const page = await on.visit('/rejects?id=r1')
    await page.getByRole('heading', { name: title }).waitFor()
    await page.getByText('none', { exact: true }).waitFor()
  })

  test('a text of all that is nasty does nothing in any field, and fits on a phone', async () => {
    const raw = Buffer.from(JSON.stringify({ id: 'evt_1', data: { name: hostile } })).toString('base64')
    const conflicts = `/conflicts/${conflict.event_id}`
    for (const path of ['/rejects', '/rejects/r1', '/conflicts', conflicts, '/drift']) {
      const keep = { next_cursor: null, raw_base64: raw, kept_raw_base64: raw }
      on.api.answer(`GET ${path}`, ok({ ...withTexts(samples[path] as object, hostile), ...keep }))
    }
    let page = await on.visit('/rejects?id=r1')
    await page.getByRole('region', { name: 'Headers of the request' }).waitFor()
    await page.getByRole('table').first().waitFor()
    await expectAsText(page, hostile, 10)
    page = await on.visit(`/conflicts?event=${conflict.event_id}&digest=x`)
    await page.getByRole('region', { name: 'Both bodies, line by line' }).waitFor()
    await expectAsText(page, hostile, 1)
    await expectAsText(await on.visit('/drift'), hostile, 8)
  })

  test('a request that is not kept any more, a list that fails and one that is empty say what to do', async () => {
    on.api.answer('GET /rejects/r1', failed(404, 'not_found', 'gone'))
    on.api.answer('GET /rejects', failed(500, 'internal', 'the disk is full'))
    const page = await on.visit('/rejects?id=r1')
    await page.getByText('It made room for newer ones').waitFor()
    await page.getByRole('alert').getByText('the disk is full').waitFor()
    on.forget()
    on.api.answer('GET /rejects', ok({ data: [], dropped_groups: 0 }))
    await until(() => on.api.listeners > 0, 'the stream')
    on.api.publish('changed', { what: ['rejects'] })
    await page.getByText('Nothing was refused since the start').waitFor()
  })

  test('two bodies with one id are compared line by line, and the differences are said as well as marked', async () => {
    const page = await on.visit('/conflicts')
    await page.getByRole('link', { name: /^Compare the bodies/ }).click()
    await page.getByText('Lines that differ: 2 changed, 1 only in the refused one.').waitFor()
    const marks = page.getByRole('region', { name: 'Both bodies, line by line' }).locator('mark')
    const texts = (await marks.allTextContents()).map((text) => text.slice(0, 40))
    expect(texts[0]).toBe('Kept: −    "amount_usd": 1.10,')
    expect(texts[1]).toBe('Refused: +    "amount_usd": 1.1,')
    expect(await marks.filter({ hasText: '<img src=x' }).count()).toBe(1)
    expect(await marks.last().textContent()).toContain('"to": "\\u202e"')
    expect(await page.getByTitle(conflict.event_id, { exact: true }).first().getAttribute('href')).toBe(
      `#/events/${conflict.event_id}`,
    )
    expect(on.api.read).toContain(`/conflicts/${conflict.event_id}?digest=${conflict.digest}`)
    await expectForEverybody(page, ['light'])
  })

  test('bodies that differ in white space alone, large ones, and bytes that are gone', async () => {
    const encoded = (text: string) => Buffer.from(text).toString('base64')
    const at = `/conflicts?event=${conflict.event_id}&digest=${conflict.digest}`
    const call = `GET /conflicts/${conflict.event_id}`
    on.api.answer(
      call,
      ok({ ...conflictDetail, kept_raw_base64: encoded('{"a":1}'), raw_base64: encoded('{ "a": 1 }') }),
    )
    let page = await on.visit(at)
    await page.getByText('No line differs: the two are written differently').waitFor()
    const many = (from: number) => JSON.stringify(Array.from({ length: 80_000 }, (_, index) => index + from))
    on.api.answer(
      call,
      ok({ ...conflictDetail, kept_raw_base64: encoded(many(0)), raw_base64: encoded(many(500_000)) }),
    )
    page = await on.visit(at)
    await page.getByText('There is too much of it to find out which lines belong together.').waitFor()
    await page.getByText('Only the first 262,144 bytes of each were compared.').waitFor()
    expect(await page.getByRole('listitem').count()).toBeLessThan(1_100)
    on.api.answer(call, ok({ ...conflictDetail, kept_raw_base64: '', raw_base64: '' }))
    page = await on.visit(at)
    await page.getByText('The bytes are no longer kept').waitFor()
    on.api.answer('GET /conflicts', ok({ data: [], next_cursor: null }))
    page = await on.visit('/conflicts')
    await page.getByText('No conflicts', { exact: true }).waitFor()
  })

  test('drift is listed with its first example and what to do; the kind is in the address', async () => {
    const page = await on.visit('/drift')
    const row = page.getByRole('row', { name: /^New field wallet.large_trade data.gas_usd/ })
    await row.getByText('0.31').waitFor()
    expect(await row.getByRole('link').getAttribute('href')).toBe('#/events/evt_00000000000000000000000007')
    await page.getByText('Handlers that compute with it may fail').waitFor()
    expect(await page.locator('main').textContent()).not.toContain('\u202e')
    await expectForEverybody(page, ['light'])
    await page.getByLabel('Kind').selectOption('Missing field')
    await page.waitForURL(/#\/drift\?kind=missing_field$/)
    await page.getByText('None of this kind').waitFor()
    on.api.answer('GET /drift', ok({ data: [] }))
    await on.visit('/drift')
    await page.getByText('Events are as they are documented').waitFor()
  })
})
