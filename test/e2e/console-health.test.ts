import { describe, expect, test } from 'vitest'
import { toField, toMoment } from '../../src/web/console/parts/health-reconcile-form.tsx'
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
import { tx } from '../support/console-samples/a.ts'
import { gap, health, reconciled, secrets } from '../support/console-samples/b.ts'
import { dialogOf } from '../support/dashboard-visits.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { until } from '../support/until.ts'

const answers = { 'GET /health': ok(health), 'GET /secrets': ok({ data: secrets }) }
const title = '2026-01-30 18:00:00 to 2026-01-31 10:00:00'

test('a moment goes into a field rounded away from the middle of its span, and comes out of it in UTC', () => {
  expect(toField('2026-01-30T17:59:59.500Z', 'down')).toBe('2026-01-30T17:59:59')
  expect(toField('2026-01-30T17:59:59.500Z', 'up')).toBe('2026-01-30T18:00:00')
  expect(toField('2026-01-30T17:59:59.000Z', 'up')).toBe('2026-01-30T17:59:59')
  expect(toField('yesterday', 'up')).toBe('')
  expect(toField(null, 'down')).toBe('')
  expect(toMoment('2026-01-30T17:59')).toBe('2026-01-30T17:59:00.000Z')
  expect(toMoment('yesterday')).toBe('yesterday')
})

describe.skipIf(!hasBrowser)('health in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const console = setUpConsolePages()

  test('R43, R44, R79 it shows how the sender was answered, with the rule that it goes by', async () => {
    const page = await console.visit('/health', answers)
    const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'As the sender sees it' }) })
    await panel.waitFor()
    const said = (await panel.textContent()) ?? ''
    for (const text of ['99.9 %', '10,000', '2.75 s', '5.21 s', 'Too late3', 'Refused7', 'any 2xx within 5 s']) {
      expect(said).toContain(text)
    }
  })

  test('a time out of service says what is lost and until when the sender tries again', async () => {
    const page = await console.visit('/health', answers)
    const article = page.getByRole('article', { name: title })
    await article.waitFor()
    const said = (await article.textContent()) ?? ''
    for (const text of [
      '16 h',
      'killed, or crashed',
      '2026-01-30 17:59:59 to 2026-01-30 23:00:00 UTC does not come by itself',
      'Tried again until2026-01-31 20:00:00',
      'Came later120',
      'Of the lost ones2',
    ]) {
      expect(said).toContain(text)
    }
    const other = page.getByRole('article').nth(1)
    expect(await other.textContent()).toContain('stopped in good order')
    expect(await other.textContent()).not.toContain('does not come by itself')
  })

  test('what is missing or lost is acknowledged after a question, and then there is nothing to acknowledge', async () => {
    const page = await console.visit('/health', {
      ...answers,
      'GET /health': ok({ ...health, missing_sequence_numbers: 3 }),
      'POST /gaps/acknowledge': ok({ missing_sequence_numbers: 3, gaps: 1 }),
    })
    await page.getByText('3 accepted events are missing from the database').waitFor()
    const acknowledge = page.getByRole('button', { name: 'Acknowledge what is missing or lost' })
    await acknowledge.click()
    expect(console.api.asked).toEqual([])
    console.api.answer(
      'GET /health',
      ok({ ...health, gaps: [{ ...gap, acknowledged_at: '2026-01-31T14:00:00.000Z' }] }),
    )
    await dialogOf(page).getByRole('button', { name: 'It is dealt with' }).click()
    await page.getByRole('article', { name: title }).getByText('acknowledged', { exact: true }).waitFor()
    expect(await acknowledge.count()).toBe(0)
    expect(console.api.asked).toEqual([{ call: 'POST /gaps/acknowledge', body: null }])
  })

  test('a reconciliation is asked for over the time of the last gap, shows its progress, and lists candidates', async () => {
    const running = {
      ...reconciled,
      state: 'running',
      wallets_done: 3,
      ended_at: null,
      candidates: [],
      candidate_count: 0,
    } as const
    const page = await console.visit('/health', { ...answers, 'POST /reconcile': { status: 202, body: running } })
    const form = page.getByRole('form', { name: 'Reconcile a time' })
    await form.waitFor()
    expect(await form.getByLabel('From (UTC)').inputValue()).toBe('2026-01-30T17:59:59')
    await form.getByLabel('To (UTC)').fill('2026-01-30T20:00:00')
    console.api.answer('GET /reconcile', ok({ reconcile: { ...running, wallets_done: 7 } }))
    await form.getByRole('button', { name: 'Look for what is missing' }).click()
    const last = page.getByRole('group', { name: 'The last reconciliation' })
    await last.getByText('7 of 12').waitFor()
    expect(await last.getByRole('progressbar').getAttribute('value')).toBe('7')
    expect(await form.count()).toBe(0)
    // The health, as it was asked for before that, knows nothing of it.
    await page.getByText('live', { exact: true }).waitFor()
    const asked = () => console.api.read.filter((path) => path === '/health').length
    const before = asked()
    console.api.publish('changed', { what: ['health'] })
    await until(() => asked() > before, 'the health to be asked for')
    console.api.answer('GET /reconcile', ok({ reconcile: reconciled }))
    await last.getByText('buy 12 ABC for $340').waitFor()
    await last.getByText('Wallets that no stored event names are not asked for.').waitFor()
    const explorer = last.getByRole('link', { name: /^Etherscan/ }).nth(1)
    expect(await explorer.getAttribute('href')).toBe(`https://etherscan.io/tx/${tx}`)
    expect(await explorer.getAttribute('rel')).toContain('noreferrer')
    expect(console.api.asked).toEqual([
      { call: 'POST /reconcile', body: { from: '2026-01-30T17:59:59.000Z', to: '2026-01-30T20:00:00.000Z' } },
    ])
    await page.getByText('Alerts cannot be reconciled').waitFor()
  })

  test('one that runs is cancelled; the time to look at comes from a gap by its link, and is in the address', async () => {
    const running = { ...reconciled, state: 'running', ended_at: null } as const
    const page = await console.visit('/health', {
      ...answers,
      'GET /health': ok({ ...health, reconcile: running }),
      'GET /reconcile': ok({ reconcile: running }),
      'POST /reconcile/cancel': ok({ reconcile: { ...reconciled, state: 'cancelled' } }),
    })
    const last = page.getByRole('group', { name: 'The last reconciliation' })
    await last.getByRole('button', { name: 'Cancel' }).click()
    await last.getByText('cancelled', { exact: true }).waitFor()
    expect(console.api.asked).toEqual([{ call: 'POST /reconcile/cancel', body: null }])
    await page.getByLabel('From (UTC)').fill('2026-01-01T00:00:00')
    await page.getByRole('link', { name: 'Look for it' }).click()
    await page.waitForURL(/#\/health\?from=2026-01-30T17/)
    await page.reload()
    await page.getByRole('group', { name: 'The last reconciliation' }).waitFor()
  })

  test('why a reconciliation cannot begin, or ended early, is said; of many candidates more are shown when asked for', async () => {
    const many = Array.from({ length: 250 }, (_, index) => ({
      ...reconciled.candidates[0]!,
      tx_hash: `0x${index.toString(16).padStart(64, '0')}`,
    }))
    const ended = {
      ...reconciled,
      state: 'failed',
      error: 'answered 500',
      candidates: many,
      candidate_count: 1_400,
    } as const
    const page = await console.visit('/health', {
      ...answers,
      'GET /health': ok({ ...health, reconcile: ended }),
      'POST /reconcile': failed(409, 'api_not_configured', 'set INBOX_API_URL and INBOX_API_KEY'),
    })
    await page.getByText('It ended early: answered 500').waitFor()
    await page.getByText('The first 250 of 1,400 candidates.').waitFor()
    const rows = page.getByRole('region', { name: 'Candidates' }).locator('tbody tr')
    expect(await rows.count()).toBe(100)
    await page.getByRole('button', { name: 'Show more of 150' }).click()
    await rows.nth(199).waitFor()
    await page.getByRole('button', { name: 'Look for what is missing' }).click()
    await page.getByRole('alert').getByText('set INBOX_API_URL and INBOX_API_KEY').waitFor()
    console.forget()
  })

  test('silences are listed with the silent ones first, and those of a state by the address', async () => {
    const page = await console.visit('/health', answers)
    const rows = page.getByRole('region', { name: 'Silences' }).locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.first().textContent()).toBe('wallet.large_tradeethereumsilent2026-01-31 12:00:002 h5 min20 min')
    expect(await rows.count()).toBe(2)
    await page.getByLabel('Which silences').selectOption('usual')
    await page.waitForURL(/#\/health\?silences=usual$/)
    await page.getByLabel('Which silences').selectOption('learning')
    await page.getByText('No such silences').waitFor()
    const [silence] = health.silences
    console.api.answer('GET /health', ok({ ...health, silences: [{ ...silence!, state: 'gone' }, ...health.silences] }))
    console.api.publish('changed', { what: ['health'] })
    await page.getByLabel('Which silences').selectOption('gone')
    await rows.getByText('gone', { exact: true }).waitFor()
    expect(await rows.count()).toBe(1)
    await page.getByLabel('Which silences').selectOption('')
    expect(await rows.last().textContent()).toContain('gone')
  })

  test('without access to the service there is no form, but what to set', async () => {
    const page = await console.visit('/health', {
      ...answers,
      'GET /health': ok({ ...health, reconcile_configured: false }),
    })
    await page.getByText(/set INBOX_API_URL and INBOX_API_KEY, and start/).waitFor()
    expect(await page.getByRole('form', { name: 'Reconcile a time' }).count()).toBe(0)
  })

  test('tells where the inbox is registered', async () => {
    const page = await console.visit('/health', answers)
    await page.getByText('https://inbox.example.com/webhooks').waitFor()
    console.api.answer('GET /health', ok({ ...health, subscription: { ...health.subscription, state: 'begun' } }))
    await page.getByText('live', { exact: true }).waitFor()
    console.api.publish('changed', { what: ['health'] })
    await page.getByText('onchain-inbox subscribe --confirm').waitFor()
  })

  test('where nothing has happened yet it says so, and how to register; other changes ask for nothing', async () => {
    const page = await console.visit('/health', {
      'GET /health': ok({
        ...health,
        gaps: [],
        silences: [],
        subscription: null,
        sender: null,
        warnings: [],
        index: { state: 'off', reason: null, indexed_seq: 0, behind: 0, lag_ms: 0, size_bytes: null },
      }),
      'GET /secrets': ok({ data: [] }),
    })
    for (const text of [
      'It was never out of service',
      'No events yet',
      'No secrets',
      'This inbox has registered nothing',
    ]) {
      await page.getByText(text, { exact: true }).waitFor()
    }
    await page.getByText(/^onchain-inbox subscribe --url/).waitFor()
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe('')
    await expectForEverybody(page, ['dark'])
  })

  test('what cannot be asked for says why, and comes with another try', async () => {
    const page = await console.visit('/health', { 'GET /health': failed(503, 'store_unavailable', 'the disk is gone') })
    await page.getByRole('alert').getByText('the disk is gone').waitFor()
    console.forget()
    console.api.answer('GET /health', ok(health))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('article', { name: title }).waitFor()
  })

  test('a viewer sees all of it and no acts', async () => {
    const page = await console.visit('/health', {
      ...answers,
      'GET /health': ok({ ...health, missing_sequence_numbers: 1, reconcile: { ...reconciled, state: 'running' } }),
      ...asViewer,
    })
    await page.getByRole('article', { name: title }).waitFor()
    await page.getByText('buy 12 ABC for $340').waitFor()
    const buttons = page.locator('main').getByRole('button', { name: /^(?!Copy)/ })
    expect(await buttons.count()).toBe(0)
    expect(await page.getByRole('form').count()).toBe(0)
  })

  test(
    'it is well for everybody: axe in light and dark, and a phone',
    async () => {
      const page = await console.visit('/health', {
        ...answers,
        'GET /health': ok({ ...health, reconcile: reconciled }),
      })
      await page.getByText('buy 12 ABC for $340').waitFor()
      await page.getByRole('region', { name: 'Secrets' }).waitFor()
      await expectForEverybody(page)
    },
    axeMs,
  )

  test.each(hostileTexts)('text from elsewhere is shown as text: %s', async (_name, text) => {
    const failedOne = { ...reconciled, state: 'failed', error: 'why' } as const
    const page = await console.visit('/health', {
      'GET /health': ok(withTexts({ ...health, reconcile: failedOne }, text)),
      'GET /secrets': ok(withTexts({ data: secrets }, text)),
    })
    await page.getByRole('region', { name: 'Secrets' }).waitFor()
    // Warnings 5, registration 3, silences 4, secrets 3, index 1, reconciliation 3 and its error.
    await expectAsText(page, text, 20)
    expect(await page.locator('main a[href^="http"]').count()).toBe(0)
  })
})
