import type { Locator, Page } from 'playwright-core'
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
import { handlerOf, handlers } from '../support/console-samples/b.ts'
import { dialogOf } from '../support/dashboard-visits.ts'
import { failed, ok } from '../support/fake-console-api.ts'

const answers = { 'GET /handlers': ok(handlers) }
const done = ok({})

describe.skipIf(!hasBrowser)('the handlers in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const console = setUpConsolePages()
  const panel = (page: Page, name: string) => page.getByRole('article', { name, exact: true })
  const valueOf = (of: Locator, name: string) =>
    of
      .locator('.ui-facts > div')
      .filter({ has: of.page().getByText(name, { exact: true }) })
      .locator('dd')

  test('each shows its rate, its times, its queue and what died, with the way to its dead letters', async () => {
    const page = await console.visit('/handlers', answers)
    const trades = panel(page, 'large-trades')
    await trades.waitFor()
    const expected = {
      Attempts: '12.3/s',
      p50: '3 ms',
      p95: '9 ms',
      p99: '21 ms',
      Waiting: '7',
      Ready: '5',
      Running: '2 of 8',
    }
    for (const [name, value] of Object.entries(expected)) {
      expect(await valueOf(trades, name).textContent()).toBe(value)
    }
    expect(await trades.getByRole('progressbar').getAttribute('value')).toBe('0.25')
    const ledger = panel(page, 'ledger')
    expect(await valueOf(ledger, 'Running').textContent()).toBe('0 of 2')
    expect(await valueOf(ledger, 'Held').textContent()).toBe('1')
    await valueOf(ledger, 'Dead').getByRole('link', { name: '3' }).click()
    await page.waitForURL(/#\/dead-letters\?handler=ledger$/)
  })

  test('a sink that is left alone says since when, why, and until when; what is not loaded says what waits for it', async () => {
    const page = await console.visit('/handlers', answers)
    const chat = panel(page, 'chat')
    await chat.getByText(/5 sends in a row have failed.*2026-01-31 14:01:00.*answered 503 by the chat/).waitFor()
    await panel(page, 'old-one').getByText('5 runs wait until it is back').waitFor()
    const paused = { ...handlers.data[2]!.shut!, reason: 'pause' as const, error: null }
    console.api.answer('GET /handlers', ok({ ...handlers, data: [handlerOf('chat', { kind: 'sink', shut: paused })] }))
    await page.getByText('live', { exact: true }).waitFor()
    console.api.publish('changed', { what: ['handlers'] })
    await chat.getByText(/It asked for a pause at 2026-01-31 13:59:00/).waitFor()
  })

  test('settings are folded, and told in words', async () => {
    const page = await console.visit('/handlers', answers)
    const trades = panel(page, 'large-trades')
    await trades.waitFor()
    expect(await trades.getByText('handlers/large-trades.ts').isVisible()).toBe(false)
    await trades.getByText('Settings').click()
    for (const text of ['wallet.*', '10 attempts, 1 s doubling up to 10 min', '30 s', 'handlers/large-trades.ts']) {
      await trades.getByText(text, { exact: true }).waitFor()
    }
  })

  test('one is paused and goes on, each after a question; a dialog that was cancelled sends nothing', async () => {
    const page = await console.visit('/handlers', {
      ...answers,
      'POST /handlers/large-trades/pause': done,
      'POST /handlers/ledger/resume': done,
    })
    await page.getByRole('button', { name: 'Pause large-trades' }).click()
    await dialogOf(page).getByRole('button', { name: 'Cancel' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked).toEqual([])
    await page.getByRole('button', { name: 'Pause large-trades' }).click()
    // The keyboard is enough: the button that does it has the focus.
    await dialogOf(page).getByRole('button', { name: 'Pause' }).press('Enter')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Resume ledger' }).click()
    await dialogOf(page).getByRole('button', { name: 'Resume' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked).toEqual([
      { call: 'POST /handlers/large-trades/pause', body: null },
      { call: 'POST /handlers/ledger/resume', body: null },
    ])
  })

  test('all are paused together and go on together', async () => {
    const page = await console.visit('/handlers', { ...answers, 'POST /pause': done, 'POST /resume': done })
    await page.getByRole('button', { name: 'Pause all' }).click()
    console.api.answer('GET /handlers', ok({ ...handlers, paused: true }))
    await dialogOf(page).getByRole('button', { name: 'Pause all' }).click()
    await page.getByText('All handlers are paused').waitFor()
    await page.getByRole('button', { name: 'Resume all' }).click()
    await dialogOf(page).getByRole('button', { name: 'Resume all' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked.map(({ call }) => call)).toEqual(['POST /pause', 'POST /resume'])
  })

  test('the concurrency is set, and given back to what the handler says; why that failed is said in the dialog', async () => {
    const page = await console.visit('/handlers', {
      ...answers,
      'PATCH /handlers/ledger': failed(400, 'bad_request', 'expected a whole number from 1 to 10000'),
    })
    const open = () => page.getByRole('button', { name: 'Concurrency of ledger' }).click()
    await open()
    expect(await dialogOf(page).getByLabel('Runs at once').inputValue()).toBe('2')
    await dialogOf(page).getByLabel('Runs at once').fill('5')
    await page.keyboard.press('Enter')
    await dialogOf(page).getByText('expected a whole number').waitFor()
    console.forget()
    console.api.answer('PATCH /handlers/ledger', done)
    await dialogOf(page).getByRole('button', { name: 'Set it' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    const set = handlerOf('ledger', { set_concurrency: 2 })
    const inForce = { ...set, settings: { ...set.settings!, concurrency: 2 } }
    console.api.answer('GET /handlers', ok({ ...handlers, data: [inForce] }))
    await page.reload()
    await panel(page, 'ledger').getByText('Somebody set its concurrency to 2; it says 8 itself.').waitFor()
    await open()
    await dialogOf(page).getByRole('button', { name: 'As it says itself: 8' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked.map(({ body }) => body)).toEqual([
      { concurrency: 5 },
      { concurrency: 5 },
      { concurrency: null },
    ])
  })

  test.each(['-5', '0', '10001'])(
    'a concurrency of %s is refused in words, and not taken for another',
    async (typed) => {
      const page = await console.visit('/handlers', answers)
      await page.getByRole('button', { name: 'Concurrency of ledger' }).click()
      const field = dialogOf(page).getByLabel('Runs at once')
      await field.fill(typed)
      await field.blur()
      expect(await field.inputValue()).toBe(typed)
      await dialogOf(page).getByRole('button', { name: 'Set it' }).click()
      await dialogOf(page).getByText('Give a whole number from 1 to 10,000.').waitFor()
      expect(console.api.asked).toEqual([])
    },
  )

  test('the open runs of one that is gone are dropped with a reason, and of no other', async () => {
    const page = await console.visit('/handlers', { ...answers, 'POST /handlers/old-one/drop': done })
    await page.getByRole('button', { name: 'Drop its runs: old-one' }).click()
    expect(await page.getByRole('button', { name: /^Drop its runs/ }).count()).toBe(1)
    const drop = dialogOf(page).getByRole('button', { name: 'Drop them' })
    expect(await drop.isDisabled()).toBe(true)
    await dialogOf(page).getByLabel('Reason').fill(' it was renamed ')
    await drop.click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked).toEqual([{ call: 'POST /handlers/old-one/drop', body: { reason: 'it was renamed' } }])
  })

  test('a name with a slash and such is one part of the path', async () => {
    const name = 'a/b?c#d%2F'
    const call = `POST /handlers/${encodeURIComponent(name)}/pause`
    const page = await console.visit('/handlers', {
      'GET /handlers': ok({ ...handlers, data: [handlerOf(name, { dead: 1 })] }),
      [call]: done,
    })
    await page.getByRole('button', { name: `Pause ${name}` }).click()
    await dialogOf(page).getByRole('button', { name: 'Pause' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    expect(console.api.asked.map((asked) => asked.call)).toEqual([call])
    const href = await panel(page, name).getByRole('link', { name: '1' }).getAttribute('href')
    expect(new URLSearchParams(href?.split('?', 2)[1]).get('handler')).toBe(name)
  })

  test('which are shown is in the address; where none are it says what to do', async () => {
    const page = await console.visit('/handlers?show=trouble', answers)
    await panel(page, 'chat').waitFor()
    expect(await page.getByRole('article').count()).toBe(3)
    await page.getByLabel('Show').selectOption('gone')
    await page.waitForURL(/#\/handlers\?show=gone$/)
    expect(await page.getByRole('article').count()).toBe(1)
    await page.keyboard.press('/')
    await page.keyboard.type('ledger')
    await page.getByText('No such handlers').waitFor()
    await page.waitForURL(/#\/handlers\?show=gone&q=ledger$/)
    await page.reload()
    await page.getByText('No such handlers').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('ledger')
    console.api.answer('GET /handlers', ok({ ...handlers, data: [] }))
    await page.reload()
    await page.getByText('No handlers yet').waitFor()
    await expectForEverybody(page, ['dark'])
  })

  test('a list that cannot be loaded says why; after a break of the stream it is there', async () => {
    const page = await console.visit('/handlers', {
      'GET /handlers': failed(503, 'store_unavailable', 'the disk is gone'),
    })
    await page.getByRole('alert').getByText('the disk is gone').waitFor()
    console.forget()
    console.api.answer('GET /handlers', ok(handlers))
    await page.getByText('live', { exact: true }).waitFor()
    console.api.breakStreams()
    await panel(page, 'chat').waitFor()
  })

  test('a viewer sees all of it and no acts', async () => {
    const page = await console.visit('/handlers', { ...answers, ...asViewer })
    await panel(page, 'old-one').waitFor()
    expect(await page.locator('main').getByRole('button').count()).toBe(0)
  })

  test(
    'it is well for everybody: axe in light and dark, and a phone',
    async () => {
      const page = await console.visit('/handlers', answers)
      await panel(page, 'old-one').waitFor()
      await panel(page, 'ledger').getByText('Settings').click()
      await expectForEverybody(page)
    },
    axeMs,
  )

  test.each(hostileTexts)('text from elsewhere is shown as text: %s', async (_name, text) => {
    const page = await console.visit('/handlers', { 'GET /handlers': ok(withTexts(handlers, text)) })
    await page.getByRole('article').nth(3).waitFor()
    for (const summary of await page.locator('main summary').all()) await summary.click()
    // Four names, three files, three types, the error of a sink.
    await expectAsText(page, text, 4 + 3 + 3 + 1)
    await page
      .getByRole('button', { name: /^Pause / })
      .nth(1)
      .click()
    await dialogOf(page).getByRole('button', { name: 'Cancel' }).waitFor()
    expect(await dialogOf(page).locator('img, script').count()).toBe(0)
  })
})
