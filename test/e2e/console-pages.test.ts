import { describe, expect, test } from 'vitest'
import { findBarriersInBoth, hasBrowser, sidewaysScroll } from '../support/browser.ts'
import { bodyId, conflict } from '../support/console-samples/c.ts'
import { idOf, overview } from '../support/console-samples/a.ts'
import { hostileTexts, setUpSamplePages, walkMs, withTexts } from '../support/sample-pages.ts'
import type { FakeAnswer } from '../support/fake-api-server.ts'
import { consoleSamples, failed, ok, startFakeApi } from '../support/fake-console-api.ts'

const open = (key: string) => `open=${encodeURIComponent(key)}`

/** Every page, and a text that it shows once loaded. */
const places: readonly (readonly [place: string, text: string])[] = [
  ['/', 'Problems'],
  ['/events', 'bought'],
  [`/events?${open(idOf(7))}`, 'Payload'],
  [`/events/${idOf(7)}`, 'Payload'],
  ['/dead-letters', 'Error groups'],
  [`/dead-letters?${open('5')}`, 'Blocks its key'],
  ['/handlers', 'Breaker open'],
  [`/handlers?${open('chat')}`, '5 sends failed in a row'],
  ['/deliveries', 'Downtime'],
  ['/deliveries/rejected', '203.0.113.9'],
  [`/deliveries/rejected?${open('r1')}`, 'The digest is written in base64'],
  ['/deliveries/quarantine', 'evt_1'],
  [`/deliveries/quarantine?${open(bodyId)}`, 'compressed, cut'],
  ['/deliveries/conflicts', 'evt_00000000000000000000000007'],
  [`/deliveries/conflicts?${open(`${conflict.digest} ${conflict.event_id}`)}`, 'lines differ'],
  ['/deliveries/drift', 'data.gas_usd'],
  ['/replays', '42 %'],
  [`/replays?${open('3')}`, 'Cancel replay'],
  ['/replays?start=1', 'Live events always go first.'],
  ['/system', 'INBOX_PORT'],
  ['/system/secrets', 'never used'],
  ['/system/replicas', 'leader'],
  ['/system/audit', 'handler.pause'],
  ['/system/database', 'Blocked keys'],
]

// oxlint-disable-next-line no-control-regex -- these must not reach the page
const unsafe = /[\u0000-\u0008\u000e-\u001f\u200f\u202e\u2066]/gu
const toCode = (character: string) => `U+${character.charCodeAt(0).toString(16)}`
const gone = failed(503, 'store_unavailable', 'the disk is gone')
const calls = Object.keys(consoleSamples).filter((path) => path !== '/session')
const allOf = (answerOf: (path: string) => FakeAnswer) =>
  Object.fromEntries(calls.map((path) => [`GET ${path}`, answerOf(path)]))
const walk = { timeout: walkMs }

describe.skipIf(!hasBrowser)('every page of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)

  test.each([1280, 390])(
    'has no barrier in light and dark at a width of %i px, and is not cut',
    walk,
    async (width) => {
      const page = await pages.visit('/')
      await page.setViewportSize({ width, height: 860 })
      for (const [place, text] of places) {
        await pages.go(place)
        await page.getByText(text).first().waitFor({ state: 'attached' })
        expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
        expect([place, await findBarriersInBoth(page)]).toEqual([place, []])
      }
    },
  )

  test.each(hostileTexts)('shows %s as text in every field', walk, async (_name, text) => {
    const page = await pages.visit(
      '/',
      allOf((path) => ok(withTexts(consoleSamples[path], text))),
    )
    await page.setViewportSize({ width: 390, height: 844 })
    for (const [place] of places) {
      await pages.go(place)
      await page.locator('h1').waitFor()
      await page.locator('.ui-skeleton').first().waitFor({ state: 'detached' })
      expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
      expect([place, await page.locator('main :is(img, script)').count()]).toEqual([place, 0])
      const shown = await page.locator('main').innerText()
      expect([place, shown.match(unsafe)?.map(toCode) ?? []]).toEqual([place, []])
    }
  })

  test('an unknown address has a page that links to the overview', async () => {
    const page = await pages.visit('/nowhere')
    await page.getByText('There is no page here').waitFor()
    expect(await page.locator('.ui-empty').getByRole('link').getAttribute('href')).toBe('#/')
  })

  test('shows an error with Retry', walk, async () => {
    const page = await pages.visit(
      '/',
      allOf(() => gone),
    )
    for (const [place] of places.filter(([each]) => !/open=|start=/.test(each))) {
      await pages.go(place)
      await page.getByText('the disk is gone').first().waitFor()
      await page.getByRole('button', { name: 'Retry', exact: true }).first().waitFor()
    }
    pages.allowFailures()
  })

  test.each(places.filter(([place]) => ['/', '/events', '/dead-letters', '/system'].includes(place)))(
    '%s loads with Retry once the error is gone',
    async (place, text) => {
      // Without a stream: when one opens, everything is read again.
      const page = await pages.visit(place, { ...allOf(() => gone), 'GET /stream': gone })
      const retry = page.getByRole('button', { name: 'Retry', exact: true })
      await retry.first().waitFor()
      for (const path of calls) pages.api.answer(`GET ${path}`, ok(consoleSamples[path]))
      await retry.first().click()
      await page.getByText(text).first().waitFor()
      pages.allowFailures()
    },
  )

  test('says without data what would appear', walk, async () => {
    const empty = ok({ data: [], next_cursor: null, searched_to: null, dropped_groups: 0, paused: false })
    const lists = [
      'events',
      'dead-letters',
      'handlers',
      'rejects',
      'quarantine',
      'conflicts',
      'drift',
      'replays',
      'audit',
    ]
    const page = await pages.visit('/', {
      ...Object.fromEntries(lists.map((name) => [`GET /${name}`, empty])),
      'GET /overview': ok({ ...overview, events: 0 }),
    })
    for (const [place, text] of [
      ['/', 'onchain-inbox trigger wallet.large_trade --url http://127.0.0.1:8080/webhooks'],
      ['/events', 'No events yet'],
      ['/dead-letters', 'No dead letters'],
      ['/handlers', 'No handlers'],
      ['/deliveries/rejected', 'Nothing rejected since the start'],
      ['/deliveries/quarantine', 'Quarantine is empty'],
      ['/deliveries/conflicts', 'No conflicts'],
      ['/deliveries/drift', 'Events match their documentation'],
      ['/replays', 'No replays yet'],
      ['/system/audit', 'No actions yet'],
    ] as const) {
      await pages.go(place)
      await page.getByText(text).first().waitFor()
    }
  })

  test('offers a viewer no action', walk, async () => {
    const verbs = /^(Requeue|Drop|Retry|Pause|Resume|Set|Try|Start|Cancel|Acknowledge|Find|Replay)/
    const page = await pages.visit('/', { 'GET /session': ok({ role: 'viewer', expires_at: null }) })
    for (const [place, text] of places.filter(([each]) => each !== '/replays?start=1' && !each.includes('/replays?'))) {
      await pages.go(place)
      await page.getByText(text).first().waitFor()
      expect([place, await page.getByRole('button', { name: verbs }).count()]).toEqual([place, 0])
      expect([place, await page.getByRole('checkbox').count()]).toEqual([place, 0])
    }
  })

  test('has its open row and its filter in the address', async () => {
    const page = await pages.visit(`/dead-letters?handler=ledger&${open('5')}`)
    await page.getByLabel('Stack trace').waitFor()
    await expect.poll(() => pages.api.read).toContain('/dead-letters?handler=ledger&limit=100')
    await page.keyboard.press('Escape')
    await page.getByLabel('Stack trace').waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toMatch(/#\/dead-letters\?handler=ledger$/)
  })
})

describe.skipIf(!hasBrowser)('the frame of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('console', startFakeApi)
  const signedOut = failed(401, 'unauthorized', 'sign in first')

  test('a wrong token shows the reason, a valid one opens the requested page', async () => {
    const page = await pages.visit('/system/audit', { 'GET /session': signedOut })
    await page.getByLabel('Token', { exact: true }).fill(' wrong ')
    pages.api.answer('POST /session', failed(401, 'unauthorized', 'the token is unknown'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('the token is unknown').waitFor()
    await expect.poll(() => pages.api.asked).toEqual([{ call: 'POST /session', body: { token: 'wrong' } }])
    pages.api.answer('POST /session', ok({ role: 'operator', expires_at: null }))
    pages.api.answer('GET /session', ok({ role: 'operator', expires_at: null }))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('handler.pause').waitFor()
    pages.allowFailures()
  })

  test('a session that ends leads to the sign-in with a note', async () => {
    const page = await pages.visit('/events')
    await page.getByText('bought').first().waitFor()
    pages.api.answer('GET /session', signedOut)
    pages.api.answer('GET /handlers', signedOut)
    // Not by a link: the console may have noticed already.
    await pages.go('/handlers')
    await page.getByText('Your session has ended').waitFor()
    await expect.poll(() => page.url()).toContain('#/handlers')
    pages.allowFailures()
  })

  test('signing out ends the session', async () => {
    const page = await pages.visit('/', { 'DELETE /session': ok({ signed_out: true }) })
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    pages.api.answer('GET /session', signedOut)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    await expect.poll(() => pages.api.asked).toEqual([{ call: 'DELETE /session', body: null }])
    pages.allowFailures()
  })

  test('the navigation counts dead letters, failing handlers and quarantined bodies, as the stream reports', async () => {
    const page = await pages.visit('/events')
    await page.getByRole('link', { name: 'Dead letters 4' }).waitFor()
    await page.getByRole('link', { name: 'Handlers 1' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const isVisible = (name: string) => page.getByRole('link', { name, exact: true }).isVisible()
    await expect
      .poll(async () => {
        // The opened stream also lets the page read the old figures again.
        pages.api.publish('overview', { ...overview, dead_letters: 12_345, quarantined: 0 })
        return [await isVisible('Dead letters 12,345'), await isVisible('Deliveries')]
      })
      .toEqual([true, true])
  })

  test('a lost stream is shown, and everything is read again once it is back', async () => {
    const page = await pages.visit('/system/audit')
    await page.getByText('Live', { exact: true }).waitFor()
    pages.api.answer('GET /stream', failed(503, 'overloaded', 'too many streams'))
    pages.api.breakStreams()
    await page.getByText('Reconnecting').waitFor()
    const before = pages.api.read.filter((path) => path.startsWith('/audit')).length
    pages.api.answer('GET /stream', null)
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => pages.api.read.filter((path) => path.startsWith('/audit')).length).toBeGreaterThan(before)
    pages.allowFailures()
  })

  test('Ctrl-K jumps to a page, a handler, an address or an event', async () => {
    const page = await pages.visit('/')
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    const jump = async (text: string, option: RegExp) => {
      await page.keyboard.press('Control+k')
      await page.getByLabel('Jump to', { exact: true }).fill(text)
      await page.getByRole('button', { name: option }).click()
      await page.getByLabel('Jump to', { exact: true }).waitFor({ state: 'detached' })
    }
    await jump('conf', /Conflicts/)
    await page.getByRole('tab', { name: 'Conflicts', selected: true }).waitFor()
    // Only what matches, and Enter takes the first.
    await page.keyboard.press('Control+k')
    await page.getByLabel('Jump to', { exact: true }).fill('ledger')
    const options = page.getByRole('dialog').getByRole('button')
    await expect.poll(() => options.allInnerTexts()).toEqual(['ledger\nHandler', 'ledger\nSearch bodies'])
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: 'Handler' }).waitFor()
    await jump(idOf(7), /Event id/)
    await page.getByText('Payload').waitFor()
    await jump(`0x${'ab'.repeat(20)}`, /Address/)
    await expect.poll(() => page.url()).toContain('#/events?address=0xabab')
    // The field keeps its text and the focus when the page below changes.
    await page.keyboard.press('Control+k')
    await page.getByLabel('Jump to', { exact: true }).fill('two words')
    await page.evaluate('location.hash = "#/replays"')
    await page.getByRole('heading', { name: 'Replays', includeHidden: true }).waitFor()
    await page.keyboard.type(' more')
    await page.getByRole('button', { name: /Search bodies/ }).click()
    await expect.poll(() => page.url()).toContain('#/events?q=two+words+more')
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
  })

  test('arrow keys move through the tabs', async () => {
    const page = await pages.visit('/system')
    await page.getByRole('tab', { name: 'Settings' }).focus()
    for (const name of ['Secrets', 'Replicas']) {
      await page.keyboard.press('ArrowRight')
      await page.getByRole('tab', { name, selected: true }).and(page.locator(':focus')).waitFor()
    }
  })

  test('a phone has the navigation in a drawer, which closes after a choice', async () => {
    const page = await pages.visit('/events')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Replays' }).click()
    await page.getByRole('heading', { name: 'Replays' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('the colour scheme is kept in the browser', async () => {
    const page = await pages.visit('/')
    await page.getByLabel('Colour scheme').selectOption('dark')
    await page.reload()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
    await page.getByLabel('Colour scheme').selectOption('auto')
  })

  test('pages open in a browser whose language is no language tag', async () => {
    const page = await pages.visit('/')
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })`,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
  })
})
