import { describe, expect, test } from 'vitest'
import type { FilledAdmin } from '../support/filled-admin.ts'
import { findBarriersInBoth, hasBrowser, sidewaysScroll } from '../support/browser.ts'
import { failed, setUpConsole } from '../support/console-visits.ts'
import { idOf } from '../support/filled-admin.ts'
import { expectHarmless, hostile, walk } from '../support/visits.ts'

const open = (key: string) => `open=${encodeURIComponent(key)}`

/** Every page with a text that it shows once loaded; and whether it has actions for operators. */
function placesOf({ rejectId, unusableId, digest }: FilledAdmin) {
  const places: readonly (readonly [place: string, text: string, hasActions?: boolean])[] = [
    ['/', 'Problems', true],
    ['/events', 'bought'],
    [`/events?${open(idOf(7))}`, 'Payload', true],
    [`/events/${idOf(7)}`, 'Payload'],
    ['/dead-letters', 'Error groups', true],
    [`/dead-letters?${open('15')}`, 'Blocks its key', true],
    ['/handlers', 'Breaker open', true],
    [`/handlers?${open('chat')}`, '5 sends failed in a row', true],
    ['/deliveries', 'Downtime', true],
    ['/deliveries/rejected', '203.0.113.9'],
    [`/deliveries/rejected?${open(rejectId)}`, 'base64'],
    ['/deliveries/quarantine', '[1]', true],
    [`/deliveries/quarantine?${open(unusableId)}`, 'compressed, cut', true],
    ['/deliveries/conflicts', idOf(7)],
    [`/deliveries/conflicts?${open(`${digest} ${idOf(7)}`)}`, 'lines differ'],
    ['/deliveries/drift', 'data.gas_usd'],
    ['/replays', '0 %'],
    [`/replays?${open('1')}`, 'Cancel replay'],
    ['/replays?start=1', 'Live events always go first.'],
    ['/system', 'INBOX_HOST'],
    ['/system/secrets', 'never used'],
    ['/system/replicas', 'leader'],
    ['/system/audit', 'handler.pause'],
    ['/nowhere', 'There is no page here'],
  ]
  return places
}

/** Members whose text is a fixed name, such as a state, or encoded bytes. */
const fixedKeys =
  /^(level|state|kind|source|order|on_dead|origin|window|status|outcome|role|raw_base64|kept_raw_base64|.*_at|at|now|from|to|until|since)$/

describe.skipIf(!hasBrowser)('every page of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpConsole()

  test('has no barrier in light and dark, and is not cut', walk, async () => {
    const page = await pages.visit('/')
    const places = placesOf(pages.stage)
    // Lists are checked beside an open panel, if they have one.
    const isWithoutPanel = (place: string) => !places.some(([other]) => other.startsWith(`${place}?open`))
    for (const [place, text] of places.filter(([each]) => isWithoutPanel(each))) {
      await pages.go(place)
      await page.getByText(text).first().waitFor({ state: 'attached' })
      expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
      expect([place, await findBarriersInBoth(page, /^\/$|start=/.test(place) ? 'html' : 'main')]).toEqual([place, []])
    }
  })

  test('shows hostile text in every field as text, on a phone', walk, async () => {
    await pages.poison(fixedKeys, hostile)
    const page = await pages.visit('/')
    await page.setViewportSize({ width: 390, height: 844 })
    for (const [place] of placesOf(pages.stage)) {
      await pages.go(place)
      await page.locator('h1').waitFor()
      await page.locator('.ui-skeleton').first().waitFor({ state: 'detached' })
      await expectHarmless(page, place)
    }
  })

  test('shows an error with Retry, which loads it once the error is gone', walk, async () => {
    const gone = failed(503, 'store_unavailable', 'the disk is gone')
    // The stream stays lost: when it is back, everything is read again without a click.
    let failing = /(?<!\/session)$/
    await pages.answer('*', (request) => (failing.test(request.url()) ? gone : undefined))
    const page = await pages.visit('/')
    const places = placesOf(pages.stage).filter(([each]) => !/open=|start=|nowhere|\/events\//.test(each))
    // Nothing is read before every page has failed: pages show data of the last second without reading it again.
    const retried = places.filter(([each]) => ['/', '/events', '/dead-letters'].includes(each))
    for (const [place, text] of [...places.map(([each]) => [each]), ...retried]) {
      failing = /(?<!\/session)$/
      await pages.go(place)
      await page.getByText('the disk is gone').first().waitFor()
      const retry = page.getByRole('button', { name: 'Retry', exact: true }).first()
      await retry.waitFor()
      if (text === undefined) continue
      failing = /\/stream/
      await retry.click()
      await page.getByText(text).first().waitFor()
    }
    pages.allowFailures()
  })

  test('says without data what would appear', walk, async () => {
    const empty = { json: { data: [], next_cursor: null, searched_to: null, paused: false } }
    const lists = 'events dead-letters handlers rejects quarantine conflicts drift replays audit'.split(' ')
    for (const name of lists) await pages.answer(`GET /${name}`, empty)
    const overview = (await pages.stage.call('GET', '/overview')).json as object
    await pages.answer('GET /overview', { json: { ...overview, events: 0 } })
    // The stream would bring the overview with events.
    await pages.answer('GET /stream', failed(503, 'overloaded', 'too many streams'))
    const page = await pages.visit('/')
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
    pages.allowFailures()
  })

  test('offers actions to operators only', walk, async () => {
    const verbs = /^(Requeue|Drop|Retry|Pause|Resume|Set|Try|Start|Cancel|Acknowledge|Find|Replay)/
    const places = placesOf(pages.stage).filter(([, , hasActions]) => hasActions)
    for (const role of ['viewer', 'operator'] as const) {
      const page = await pages.visit('/', role)
      for (const [place, text] of places) {
        await pages.go(place)
        await page.getByText(text).first().waitFor()
        const actions = await page.getByRole('button', { name: verbs }).or(page.getByRole('checkbox')).count()
        expect([role, place, actions > 0]).toEqual([role, place, role === 'operator'])
      }
    }
  })
})

describe.skipIf(!hasBrowser)('the frame of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpConsole()

  test('signing in opens the requested page; an ended session leads back with a note; signing out ends it', async () => {
    const page = await pages.visit('/system/audit', null)
    const signIn = async (token: string) => {
      await page.getByLabel('Token', { exact: true }).fill(` ${token} `)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn('wrong')
    await page.getByText('neither the admin nor the viewer token').waitFor()
    await signIn('admin-token-of-the-test')
    await page.getByText('handler.pause').waitFor()
    await page.evaluate(() => fetch('./api/v1/session', { method: 'DELETE' }))
    // Not by a link: the console may have noticed already.
    await pages.go('/handlers')
    await page.getByText('Your session has ended').waitFor()
    await signIn('admin-token-of-the-test')
    await page.getByRole('heading', { name: 'Handlers' }).first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    await page.reload()
    await page.getByLabel('Token', { exact: true }).waitFor()
    pages.allowFailures()
  })

  test('the navigation counts what needs attention, as the stream reports; a lost stream is shown until it is back', async () => {
    const page = await pages.visit('/system/audit')
    for (const name of ['Dead letters 4', 'Handlers 1', 'Deliveries 3'])
      await page.getByRole('link', { name }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await pages.stage.inbox.dropDead('all', 'a test')
    await pages.stage.clock.advance(1_000)
    await page.getByRole('link', { name: 'Dead letters', exact: true }).waitFor()
    await page.getByText('dead.drop').waitFor()
    await pages.answer('GET /stream', failed(503, 'overloaded', 'too many streams'))
    pages.stage.breakConnections()
    await page.getByText('Reconnecting').waitFor()
    await pages.stage.inbox.note('session.end', {})
    await pages.heal()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('session.end').nth(1).waitFor()
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

  test('arrow keys move through the tabs; a phone has the navigation in a drawer', async () => {
    const page = await pages.visit('/system')
    await page.getByRole('tab', { name: 'Settings' }).focus()
    for (const name of ['Secrets', 'Replicas']) {
      await page.keyboard.press('ArrowRight')
      await page.getByRole('tab', { name, selected: true }).and(page.locator(':focus')).waitFor()
    }
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Replays' }).click()
    await page.getByRole('heading', { name: 'Replays' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('the colour scheme is kept in the browser, also one whose language is no language tag', async () => {
    const page = await pages.visit('/')
    await page.getByLabel('Colour scheme').selectOption('dark')
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })`,
    )
    await page.reload()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
    await page.getByLabel('Colour scheme').selectOption('auto')
  })
})
