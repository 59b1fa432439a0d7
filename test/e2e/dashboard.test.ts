import { describe, expect, test } from 'vitest'
import { hasBrowser } from '../support/browser.ts'
import { apiOf, dialogOf, setUpVisits } from '../support/dashboard-visits.ts'
import { until } from '../support/until.ts'

const hourMs = 3_600_000
/** The whole ladder: 1 min, 5 min, 30 min, 2 h, 8 h. */
const ladderMs = 11 * hourMs

describe.skipIf(!hasBrowser)(
  'deliveries and world in the dashboard of a true emulator (needs Chromium: set CHROMIUM_PATH)',
  () => {
    const on = setUpVisits()
    const get = (path: string) => apiOf(on.stage).get(path)

    test('R86, R87 an undelivered one is found by the filter, shows six attempts and its exact bytes, and is replayed', async () => {
      on.stage.endpoint.status = 503
      on.stage.emulator.trigger('contract.ownership_changed')
      await on.stage.emulator.advance(ladderMs)
      const page = await on.visit('/deliveries')
      await page.getByLabel('State').selectOption('undelivered')
      await page.getByLabel('Type').selectOption('contract.ownership_changed')
      await page
        .getByRole('row', { name: /undelivered/ })
        .first()
        .getByRole('link')
        .click()

      await page.getByRole('heading', { name: 'contract.ownership_changed' }).waitFor()
      expect(await page.getByRole('article').count()).toBe(6)
      const last = page.getByRole('article', { name: 'Retry 5' })
      await last.getByText('503', { exact: true }).waitFor()
      await last.getByText('Headers and answer').click()
      await last.getByText('<b>not today</b>').waitFor()
      await page.getByLabel('On lines of their own').uncheck()
      const body = await page.getByRole('region', { name: 'Body' }).textContent()
      const posts = () => on.stage.endpoint.received.filter((post) => post.body === body).length
      expect(posts()).toBe(6)

      on.stage.endpoint.status = 200
      await page.getByRole('button', { name: 'Replay' }).click()
      await page.getByText('A replay: the same bytes and id, one attempt.').waitFor()
      await page.getByText('acknowledged', { exact: true }).waitFor()
      expect(posts()).toBe(7)
      await page.getByRole('button', { name: 'Send a duplicate' }).click()
      await until(() => posts() === 8, 'the duplicate')
    })

    test('R87 all undelivered ones since a moment are counted first, and then replayed', async () => {
      on.stage.endpoint.status = 500
      on.stage.emulator.tour()
      await on.stage.emulator.advance(ladderMs)
      const { undelivered } = await get('/deliveries/counts')
      expect(undelivered).toBeGreaterThan(10)
      on.stage.endpoint.status = 200
      const before = on.stage.endpoint.received.length

      const page = await on.visit('/deliveries')
      await page.getByRole('button', { name: 'Replay undelivered' }).click()
      await dialogOf(page).getByLabel('Events since').selectOption('the last 7 days')
      await dialogOf(page).getByLabel('Type').selectOption('pump.graduation')
      await dialogOf(page).getByRole('button', { name: 'Count them' }).click()
      const said =
        (await dialogOf(page)
          .getByText(/would be replayed/)
          .textContent()) ?? ''
      const count = Number(/^\d+/.exec(said)?.[0])
      expect(count).toBeGreaterThan(0)
      expect(on.stage.endpoint.received).toHaveLength(before)
      await dialogOf(page)
        .getByRole('button', { name: `Replay ${count}` })
        .click()
      await dialogOf(page).getByText(`${count} are being replayed.`).waitFor()
      await until(() => on.stage.endpoint.received.length >= before + count, 'the replays')
      const again = on.stage.endpoint.received.slice(before)
      expect(again.every(({ body }) => body.includes('pump.graduation'))).toBe(true)
      await dialogOf(page).getByRole('button', { name: 'Close' }).last().click()
      await page.getByRole('link', { name: 'pump.graduation (replay)' }).first().waitFor()
    })

    test('deliveries appear, and change, while the list is looked at', async () => {
      // What earlier tests left pending is acknowledged meanwhile.
      await on.stage.emulator.advance(ladderMs)
      const page = await on.visit('/deliveries?state=pending&type=wallet.large_trade')
      await page.getByText('No such deliveries').waitFor()
      on.stage.endpoint.status = 500
      on.stage.emulator.trigger('wallet.large_trade')
      await page
        .getByRole('row', { name: /wallet.large_trade retrying 1 500/ })
        .first()
        .waitFor()
      on.stage.endpoint.status = 200
      await on.stage.emulator.advance(60_000)
      await page.getByText('No such deliveries').waitFor()
    })

    test('older deliveries are loaded when they are asked for', async () => {
      for (let round = 0; round < 110; round++) on.stage.emulator.trigger('contract.ownership_changed')
      const page = await on.visit('/deliveries')
      const rows = page.getByRole('table').locator('tbody tr')
      await rows.nth(99).waitFor()
      expect(await rows.count()).toBe(100)
      await page.getByRole('button', { name: 'Load more' }).click()
      await rows.nth(110).waitFor()
      const links = await rows.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
      expect(new Set(links).size).toBe(links.length)
    })

    test('R92 events appear as they arise, of the chosen type; while it is paused they wait', async () => {
      const page = await on.visit('/')
      const feed = page.getByRole('region', { name: 'Live events, newest first' })
      await page.getByText('live', { exact: true }).waitFor()
      await page.getByLabel('Type of the live events').selectOption('pump.graduation')
      const graduations = feed.getByRole('listitem')
      const before = await graduations.count()
      on.stage.emulator.trigger('pump.graduation')
      await graduations.nth(before).waitFor()
      await graduations.first().getByText('SOL raised').waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      on.stage.emulator.trigger('pump.graduation')
      await page.getByText(/paused, [1-9]\d* new/).waitFor()
      expect(await graduations.count()).toBe(before + 1)
      await page.getByRole('button', { name: 'Go on' }).click()
      await graduations.nth(before + 1).waitFor()
    })

    test('a token is found by its symbol and shows the course of its price; the log of events shows one in full', async () => {
      const [token] = on.stage.emulator.world.views.tokens()
      const { symbol, address } = on.stage.emulator.world.views.token(token!)
      const page = await on.visit('/tokens')
      await page.getByLabel('Symbol, name or address').fill(symbol)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: symbol, exact: true }).first().click()
      await page.getByRole('img', { name: /^Price: from \$/ }).waitFor()
      expect(await page.content()).toContain(address)
      await page.getByRole('link', { name: 'Events', exact: true }).click()
      await page
        .getByRole('button', { name: /^Show event/ })
        .first()
        .click()
      await dialogOf(page).getByText('"created_at"').waitFor()
    })

    test('the clock is moved on from the page, runs when it is set to, and stands again', async () => {
      const page = await on.visit('/clock')
      const before = on.stage.emulator.clock.now()
      await page.getByRole('button', { name: 'Advance 5 min' }).click()
      await page.getByText('everything that was due has happened').waitFor()
      expect(on.stage.emulator.clock.now()).toBe(before + 300_000)
      await page.getByLabel('Mode').selectOption('scaled')
      await page.getByLabel('Speed').fill('5')
      await page.getByRole('button', { name: 'Set the clock' }).click()
      await page.getByText('5× as fast').first().waitFor()
      expect(on.stage.emulator.clock.state()).toMatchObject({ mode: 'scaled', speed: 5 })
      await page.getByLabel('Mode').selectOption('manual')
      await page.getByRole('button', { name: 'Set the clock' }).click()
      await page.getByRole('button', { name: 'Advance 1 min' }).waitFor()
    })

    test('events are triggered from the page, with members of one’s own as well; a story begins', async () => {
      const page = await on.visit('/clock')
      await page.getByLabel('Type of the event').selectOption('wallet.large_trade')
      await page.getByLabel('Members to set').fill('data.amount_usd = 987654.5\ndata.token_symbol = MINE')
      await page.getByRole('button', { name: 'Trigger', exact: true }).click()
      await page.getByText('1 raw wallet.large_trade').waitFor()
      const isMine = ({ body }: { body: string }) => body.includes('987654.5') && body.includes('MINE')
      await until(() => on.stage.endpoint.received.some(isMine), 'the raw event')
      await page.getByRole('button', { name: 'Begin scam' }).click()
      await page.getByText('The story scam has begun.').waitFor()
    })

    test('a fault is set by the form of its kind, shows in the attempt, and is removed; a scenario sets its own', async () => {
      const page = await on.visit('/faults')
      await page.getByLabel('Kind').selectOption('signature-missing')
      await page.getByLabel('Times').fill('1')
      await page.getByRole('button', { name: 'Add the rule' }).click()
      const row = page.getByRole('row', { name: /signature-missing Deliveries times 1 0/ })
      await row.waitFor()
      on.stage.emulator.trigger('contract.ownership_changed')
      await page.getByRole('row', { name: /signature-missing Deliveries times 1 1/ }).waitFor()
      expect(on.stage.endpoint.received.some(({ signature }) => signature === 'undefined')).toBe(true)
      await page.getByRole('link', { name: 'Deliveries' }).first().click()
      await page.getByRole('link', { name: 'contract.ownership_changed' }).first().click()
      await page.getByText('fault: signature-missing').waitFor()

      await page.getByRole('link', { name: 'Faults' }).click()
      await page.getByRole('button', { name: 'Start retry-storm' }).click()
      await page
        .getByRole('row', { name: /drop-ack/ })
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Remove all' }).click()
      await dialogOf(page).getByRole('button', { name: 'Remove all' }).click()
      await page.getByText('Everything goes as it should.').waitFor()
      expect(await get('/faults')).toEqual([])
    })
  },
)
