import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { findBarriers, findBarriersInBoth, hasBrowser, sidewaysScroll } from '../support/browser.ts'
import { stageOf } from '../integration/emulator-stage.ts'
import { dialogOf, setUpDashboard, signIn } from '../support/dashboard-visits.ts'
import { until } from '../support/until.ts'
import { expectHarmless, markup, walk } from '../support/visits.ts'

const hourMs = 3_600_000
/** The whole ladder: 1 min, 5 min, 30 min, 2 h, 8 h. */
const ladderMs = 11 * hourMs

/** Every page with a text that it shows once loaded, and a button that opens a dialog. */
const placesOf = (seq: number): readonly (readonly [place: string, text: string, dialog?: string])[] => [
  ['/', 'Newest events'],
  [`/events?open=${seq}`, 'Time (UTC)'],
  ['/deliveries?open=dlv_000000000001', 'Headers and answer', 'Replay undelivered'],
  ['/webhooks', 'desk', 'Add webhook'],
  ['/alerts', 'active', 'Add alert'],
  ['/faults', 'off now'],
  ['/triggers', 'A token is listed'],
  ['/account', 'desk', 'Create key'],
  ['/nowhere', 'There is no page here'],
]
/** Members whose text is a fixed name, such as a state. */
const fixedKeys = /^(mode|state|status|kind|direction|type|network|plan|now|at|.*At|created_at|deliveryId|error)$/
const failed = { status: 500, json: { success: false, error: { code: 'internal', message: 'the disk is full' } } }

describe.skipIf(!hasBrowser)('every page of the dashboard (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpDashboard()
  /** All pages, after an event. */
  const triggered = () => {
    on.stage.emulator.trigger('contract.ownership_changed')
    return placesOf(on.stage.emulator.world.eventsAfter(0, 10_000).at(-1)?.seq ?? 0)
  }

  test('pages and dialogs have no barrier in light and dark, and are not cut', walk, async () => {
    const page = await on.visit('/')
    for (const [place, text, dialog] of triggered()) {
      await on.go(place)
      await page.getByText(text).locator('visible=true').first().waitFor()
      for (const summary of await page.getByText('Headers and answer').all()) await summary.click()
      expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
      expect([place, await findBarriersInBoth(page)]).toEqual([place, []])
      if (dialog === undefined) continue
      await page.getByRole('button', { name: dialog }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').getByRole('button', { name: dialog }).waitFor()
      expect([dialog, await sidewaysScroll(page)]).toEqual([dialog, 0])
      expect([dialog, await findBarriersInBoth(page, '[role=dialog]')]).toEqual([dialog, []])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      // The focus returns to the button.
      await page.waitForFunction((label) => document.activeElement?.textContent === label, dialog)
    }
  })

  test('shows hostile text in every field as text, on a phone', walk, async () => {
    const places = triggered()
    await on.poison(fixedKeys, markup)
    const page = await on.visit('/')
    await page.setViewportSize({ width: 390, height: 844 })
    for (const [place] of places) {
      await on.go(place)
      await page.locator('h1').waitFor()
      await page.locator('.ui-skeleton').first().waitFor({ state: 'detached' })
      for (const summary of await page.getByText('Headers and answer').all()) await summary.click()
      await expectHarmless(page, place)
    }
  })

  test.each([
    ['the login of the demo filled in', { user: 'demo', password: 'demo-password-do-not-use' }, 1],
    ['A65 nothing filled in for a private login', null, 0],
  ])('the sign-in has %s, and no barrier', async (_name, demo, notes) => {
    const session = { signedIn: false, user: null, demo }
    await on.answer('GET /session', { json: { success: true, data: session } })
    const page = await on.visitSignedOut('/')
    await page.getByLabel('User').waitFor()
    expect(await page.getByLabel('User').inputValue()).toBe(demo?.user ?? '')
    expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe(demo?.password ?? '')
    expect(await page.getByText('This is the demo').count()).toBe(notes)
    expect(await findBarriers(page)).toEqual([])
  })
})

describe.skipIf(!hasBrowser)('the dashboard of a true emulator (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpDashboard()
  const get = async (path: string) => (await stageOf(on.stage.emulator).control('GET', path)).json.data

  test('A65 the sign-in needs the right password; signing out and ended sessions return to it', async () => {
    const page = await on.visitSignedOut('/')
    await page.getByLabel('User').fill(on.stage.login.user)
    await page.getByLabel('Password', { exact: true }).fill('wrong-password-0001')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('user or password is wrong').waitFor()
    await signIn(page, on.stage.login)
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signIn(page, on.stage.login)
    await page.evaluate(() => fetch('./_emulator/session', { method: 'DELETE' }))
    // Not by a link: the dashboard may have noticed already.
    await page.evaluate(() => {
      location.hash = '#/alerts'
    })
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    on.allowFailures()
  })

  test('R86, R87, R88 an undelivered event shows six attempts and its bytes; it is replayed and duplicated', async () => {
    on.stage.endpoint.status = 503
    on.stage.emulator.trigger('contract.ownership_changed')
    await on.stage.emulator.advance(ladderMs)
    const page = await on.visit('/deliveries')
    await page.getByLabel('States').selectOption('undelivered')
    await page.getByLabel('Types').selectOption('contract.ownership_changed')
    await page.getByRole('link', { name: 'contract.ownership_changed' }).first().click()
    const last = page.getByRole('article', { name: 'Retry 5' })
    await last.getByText('503', { exact: true }).waitFor()
    expect(await page.getByRole('article').count()).toBe(6)
    await last.getByText('Headers and answer').click()
    await last.getByText('<b>not today</b>').waitFor()
    await page.getByText('Exact bytes').click()
    const body = await page.getByRole('region', { name: 'Exact bytes' }).textContent()
    const posts = () => on.stage.endpoint.received.filter((post) => String(post.body) === body).length
    expect(posts()).toBe(6)

    on.stage.endpoint.status = 200
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Delivery' })
    await panel.getByText('same bytes and id, one attempt').waitFor()
    await panel.getByText('acknowledged', { exact: true }).waitFor()
    expect(posts()).toBe(7)
    await page.getByRole('button', { name: 'Send duplicate' }).click()
    await until(() => posts() === 8, 'the duplicate')
  })

  test('R87 all undelivered events of a type are counted, and then replayed', async () => {
    on.stage.endpoint.status = 500
    on.stage.emulator.tour()
    await on.stage.emulator.advance(ladderMs)
    on.stage.endpoint.status = 200
    const before = on.stage.endpoint.received.length
    const page = await on.visit('/deliveries?type=pump.graduation')
    await page.getByRole('button', { name: 'Replay undelivered' }).click()
    const text =
      (await dialogOf(page)
        .getByText(/^\d+ deliver/)
        .textContent()) ?? ''
    const count = Number.parseInt(text)
    expect(count).toBeGreaterThan(0)
    expect(on.stage.endpoint.received).toHaveLength(before)
    await dialogOf(page).getByRole('button', { name: 'Replay undelivered' }).click()
    await dialogOf(page).getByText(`${count} replayed.`).waitFor()
    await until(() => on.stage.endpoint.received.length >= before + count, 'the replays')
    expect(on.stage.endpoint.received.slice(before).every(({ body }) => body.includes('pump.graduation'))).toBe(true)
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('link', { name: 'pump.graduation (replay)' }).first().waitFor()
  })

  test('the list of deliveries updates itself, and loads older ones while scrolling', async () => {
    await on.stage.emulator.advance(ladderMs)
    const page = await on.visit('/deliveries?state=pending&type=wallet.large_trade')
    await page.getByText('Nothing matches the filter').waitFor()
    on.stage.endpoint.status = 500
    on.stage.emulator.trigger('wallet.large_trade')
    await page
      .getByRole('row', { name: /wallet.large_trade retrying 1 500/ })
      .first()
      .waitFor()
    on.stage.endpoint.status = 200
    await on.stage.emulator.advance(60_000)
    await page.getByText('Nothing matches the filter').waitFor()

    for (let round = 0; round < 110; round++) on.stage.emulator.trigger('contract.ownership_changed')
    await page.getByRole('button', { name: 'Clear filter' }).click()
    const list = page.getByRole('region', { name: 'Deliveries' })
    await list.getByRole('row').nth(10).waitFor()
    await until(async () => {
      await list.evaluate((box) => box.scrollTo(0, box.scrollHeight))
      return Number(await page.getByRole('table').getAttribute('aria-rowcount')) > 111
    }, 'the second page')
  })

  test('R92 events of the chosen type appear as they arise; one of them opens', async () => {
    on.stage.emulator.trigger('pump.graduation')
    const page = await on.visit('/events?type=pump.graduation')
    const rows = page.getByRole('row').filter({ hasText: 'graduated with' })
    await rows.first().waitFor()
    const count = async () => Number(await page.getByRole('table').getAttribute('aria-rowcount'))
    const before = await count()
    on.stage.emulator.trigger('pump.graduation')
    await page.locator(`table[aria-rowcount="${before + 1}"]`).waitFor()
    await rows.first().getByRole('link').click()
    await page.getByRole('region', { name: 'Event' }).getByText('"created_at"').waitFor()
  })

  test('the clock is advanced, runs at a speed, and is paused', async () => {
    const page = await on.visit('/')
    const before = on.stage.emulator.clock.now()
    await page.getByRole('button', { name: '5 min' }).click()
    await page.getByText('Advanced to').waitFor()
    expect(on.stage.emulator.clock.now()).toBe(before + 300_000)
    await page.getByRole('button', { name: '×10', exact: true }).click()
    await page.getByRole('group', { name: 'World time' }).getByText('×10').waitFor()
    expect(on.stage.emulator.clock.state()).toMatchObject({ mode: 'scaled', speed: 10 })
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('group', { name: 'World time' }).getByText('paused').waitFor()
    expect(on.stage.emulator.clock.state()).toMatchObject({ mode: 'manual' })
  })

  test('events are triggered, also with overridden fields; a story begins', async () => {
    const page = await on.visit('/triggers')
    await page.getByLabel('Event type').selectOption('wallet.large_trade')
    await page.getByLabel('Overridden fields').fill('data.amount_usd = 987654.5\ndata.token_symbol = MINE')
    await page.getByRole('button', { name: 'Trigger', exact: true }).click()
    await page.getByText('1 raw wallet.large_trade triggered').waitFor()
    const [{ deliveryId }] = await get('/deliveries?type=wallet.large_trade&limit=1')
    const { data } = JSON.parse((await get(`/deliveries/${deliveryId}`)).body)
    expect(data).toMatchObject({ amount_usd: 987_654.5, token_symbol: 'MINE' })
    await page.getByLabel('Story', { exact: true }).selectOption('scam')
    await page.getByRole('button', { name: 'Begin' }).click()
    await page.getByText('Story scam has begun.').waitFor()
  })

  test('a fault is added and applied; deliberate duplicates are counted; a scenario replaces the rules', async () => {
    const page = await on.visit('/faults')
    await page.getByText('off now').waitFor()
    const { duplicates } = await get('/deliveries/counts')
    await page.getByLabel('Kind').selectOption('duplicate')
    await page.getByLabel('Times').fill('1')
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByRole('row', { name: /^duplicate deliveries .*times 1 0/ }).waitFor()
    on.stage.emulator.trigger('contract.ownership_changed')
    await page.getByRole('row', { name: /^duplicate deliveries .*times 1 1/ }).waitFor()
    await page.getByText(`Duplicates: ${duplicates + 1}, sent on purpose`).waitFor()
    await page.getByLabel('Scenario', { exact: true }).selectOption('retry-storm')
    await page.getByRole('button', { name: 'Start' }).click()
    await page
      .getByRole('row', { name: /^drop-ack/ })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Remove all' }).click()
    await dialogOf(page).getByRole('button', { name: 'Remove all' }).click()
    await page.getByText('No faults', { exact: true }).waitFor()
    expect(await get('/faults')).toEqual([])
  })

  test('R76, R91 the secret of a new webhook signs its deliveries; the webhook is changed and deleted', async () => {
    const page = await on.visit('/webhooks')
    const url = `${on.stage.endpoint.url}?second`
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await dialogOf(page).getByLabel('URL').fill(url)
    await dialogOf(page).getByLabel('All, and types to come').uncheck()
    await dialogOf(page).getByLabel('contract.ownership_changed').check()
    await dialogOf(page).getByRole('button', { name: 'Add webhook' }).click()
    const secret = (await dialogOf(page).locator('code').textContent()) ?? ''
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('row').filter({ hasText: url }).waitFor()
    expect(await page.content()).not.toContain(secret)

    on.stage.emulator.trigger('contract.ownership_changed')
    const posts = () => on.stage.endpoint.received
    const isSigned = () => posts().some(({ body, headers }) => headers['x-service-signature'] === sign(body, secret))
    await until(isSigned, 'a post signed with the secret')

    await page.getByRole('button', { name: `Change ${url}` }).click()
    await dialogOf(page).getByLabel('All, and types to come').check()
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row').filter({ hasText: url }).getByText('all', { exact: true }).waitFor()
    await on.answer('DELETE *', failed)
    await page.getByRole('button', { name: `Delete ${url}` }).click()
    await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
    await dialogOf(page).getByRole('alert').getByText('the disk is full').waitFor()
    await on.heal()
    on.allowFailures()
    await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('row').filter({ hasText: url }).waitFor({ state: 'detached' })
    expect(await get('/webhooks')).toHaveLength(1)
  })

  test('R57 an alert is added and deleted; a rejected field shows its error', async () => {
    const page = await on.visit('/alerts')
    const [token] = on.stage.emulator.world.views.tokens()
    const { network, address } = on.stage.emulator.world.views.token(token!)
    await page.getByRole('button', { name: 'Add alert' }).click()
    await dialogOf(page).getByLabel('Network').selectOption(network)
    await dialogOf(page).getByLabel('Address').fill('no address')
    await dialogOf(page).getByLabel('Threshold').fill('123456')
    await dialogOf(page).getByLabel('URL').fill(on.stage.endpoint.url)
    await dialogOf(page).getByLabel('Label').fill('far above')
    await dialogOf(page).getByRole('button', { name: 'Add alert' }).click()
    await dialogOf(page).getByRole('alert').getByText('address').waitFor()
    on.allowFailures()
    await dialogOf(page).getByLabel('Address').fill(address)
    await dialogOf(page).getByRole('button', { name: 'Add alert' }).click()
    await page.getByRole('button', { name: 'Delete alert far above' }).click()
    await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('row', { name: /far above/ }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await dialogOf(page).getByRole('button', { name: 'Replace secret' }).click()
    const secret = (await dialogOf(page).locator('code').textContent()) ?? ''
    await dialogOf(page).getByRole('button', { name: 'Done' }).click()
    const kept = await page.evaluate(() => document.body.innerHTML + JSON.stringify(localStorage))
    expect([secret.length > 16, kept.includes(secret)]).toEqual([true, false])
  })

  test('R67, R68 a key is created, shown once and revoked; a wallet is tracked and untracked', async () => {
    const page = await on.visit('/account')
    await page.getByRole('button', { name: 'Create key' }).click()
    await dialogOf(page).getByLabel('Name').fill('trading desk')
    for (const scope of ['write:alerts', 'read:tokens', 'write:webhooks'])
      await dialogOf(page).getByLabel(scope).uncheck()
    await dialogOf(page).getByRole('button', { name: 'Create key' }).click()
    const value = (await dialogOf(page).locator('code').textContent()) ?? ''
    const ask = (path: string) => fetch(`${on.stage.url}/v1${path}`, { headers: { Authorization: `Bearer ${value}` } })
    expect((await ask('/networks')).status).toBe(200)
    expect((await ask('/tokens/search?q=a')).status).toBe(403)
    await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('row', { name: /trading desk.*read:wallets.*active/ }).waitFor()
    expect(await page.content()).not.toContain(value)
    expect(JSON.stringify(await get('/accounts'))).not.toContain(value)
    await page.getByRole('button', { name: 'Revoke trading desk' }).click()
    await dialogOf(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: /trading desk.*revoked/ }).waitFor()
    expect((await ask('/networks')).status).toBe(401)

    const { views } = on.stage.emulator.world
    const tracked = () => views.trackedWallets().map((wallet) => wallet.address)
    const wallet = views.wallets().find(({ address, tradeCount }) => tradeCount > 0 && !tracked().includes(address))!
    await page.getByLabel('Network').selectOption(wallet.network)
    await page.getByLabel('Wallet address').fill(wallet.address)
    await page.getByRole('button', { name: 'Track wallet' }).click()
    const row = page.getByRole('row').filter({ has: page.locator(`[title="${wallet.address}"]`) })
    await row.getByRole('button', { name: /^Untrack/ }).click()
    expect(tracked()).toContain(wallet.address)
    await dialogOf(page).getByRole('button', { name: 'Untrack' }).click()
    await row.waitFor({ state: 'detached' })
    expect(tracked()).not.toContain(wallet.address)
  })
})
