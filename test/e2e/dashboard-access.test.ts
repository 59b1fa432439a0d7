import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { counts } from '../counts.ts'
import {
  findBarriers,
  hasBrowser,
  launchBrowser,
  openPage,
  sidewaysScroll,
  type PageOptions,
} from '../support/browser.ts'
import { apiOf, signIn, startDashboardStage, type DashboardStage } from '../support/dashboard-visits.ts'
import { shared } from '../support/shared.ts'

/** The first two have each colour and each width once. */
const looks = (
  [
    { scheme: 'light', width: 1280 },
    { scheme: 'dark', width: 360 },
    { scheme: 'dark', width: 1280 },
    { scheme: 'light', width: 360 },
  ] as const
).slice(0, counts.dashboardLooks)

/** What a look at all pages may take on a machine that does other things, too: axe reads every element of each. */
const lookMs = 240_000

describe.skipIf(!hasBrowser)('the dashboard for everybody (needs Chromium: set CHROMIUM_PATH)', () => {
  let browser: Browser
  let stage: DashboardStage

  beforeAll(async () => {
    browser = await launchBrowser()
    stage = await startDashboardStage(await shared('dashboard'))
    // Retrying, acknowledged and undelivered ones, and a rule: no list is empty.
    stage.endpoint.status = 500
    stage.emulator.tour()
    await stage.emulator.advance(11 * 3_600_000)
    stage.emulator.tour()
    stage.endpoint.status = 200
    stage.emulator.trigger('contract.ownership_changed')
  }, 120_000)
  afterAll(async () => {
    await stage[Symbol.asyncDispose]()
    await browser.close()
  })

  const open = (options: Omit<PageOptions, 'url'> = {}, path = '/') =>
    openPage(browser, { url: `${stage.url}/#${path}`, ...options })

  /** Every page, with something on it, and a heading or a table that shows that it is there. */
  async function places(): Promise<readonly (readonly [path: string, sign: string])[]> {
    const { views } = stage.emulator.world
    const token = views.token(views.tokens()[0]!)
    const wallet = views.wallets().find(({ tradeCount }) => tradeCount > 2)!
    const [delivery] = await apiOf(stage).get('/deliveries?state=undelivered')
    return [
      ['/', '.ui-feed li'],
      ['/events', 'table'],
      ['/deliveries', 'table'],
      [`/deliveries/${delivery.deliveryId}`, 'article'],
      ['/webhooks', 'table'],
      ['/alerts', 'table'],
      ['/tokens', 'table'],
      [`/tokens/${token.network}/${token.address}`, 'canvas'],
      ['/wallets', 'table'],
      [`/wallets/${wallet.network}/${wallet.address}`, 'table'],
      ['/clock', 'article'],
      ['/faults', 'article'],
      ['/settings/api-keys', 'table'],
      ['/settings/tracking', 'table'],
      ['/nowhere', '.ui-empty'],
    ]
  }

  test.each(looks)(
    'no page has barriers or scrolls sideways, or does what its policy forbids: $scheme, $width px',
    { timeout: lookMs },
    async (look) => {
      await using opened = await open(look)
      const { page, complaints } = opened
      const found: string[] = []
      const note = async (where: string) => {
        const barriers = await findBarriers(page)
        const scroll = await sidewaysScroll(page)
        found.push(...barriers.map((barrier) => `${where}: ${barrier}`))
        if (scroll !== 0) found.push(`${where}: scrolls sideways by ${scroll} px`)
      }
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await note('sign-in')
      await signIn(page, stage.login)
      for (const [path, sign] of await places()) {
        await page.evaluate((hash) => (window.location.hash = hash), path)
        await page.locator(sign).first().waitFor()
        await note(path)
      }
      expect(found).toEqual([])
      expect(complaints).toEqual([])
    },
  )

  test.each(looks.slice(1, 3))('nor has any dialog: $scheme, $width px', { timeout: lookMs }, async (look) => {
    await using opened = await open(look)
    const { page, complaints } = opened
    await signIn(page, stage.login)
    const found: string[] = []
    const dialogs = [
      ['/webhooks', 'Add a webhook'],
      ['/webhooks', /^Delete http/],
      ['/alerts', 'Add an alert'],
      ['/deliveries', 'Replay undelivered'],
      ['/settings/api-keys', 'Create a key'],
      ['/events', /^Show event/],
      ...(look.width === 360 ? [['/', 'Navigation'] as const] : []),
    ] as const
    for (const [path, name] of dialogs) {
      await page.evaluate((hash) => (window.location.hash = hash), path)
      await page.getByRole('button', { name }).first().click()
      await page.getByRole('dialog').waitFor()
      found.push(...(await findBarriers(page)).map((barrier) => `${name}: ${barrier}`))
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    expect(found).toEqual([])
    expect(complaints).toEqual([])
  })

  test('everything can be done from the keyboard: skip, move, open and close a dialog, and be where one was', async () => {
    await using opened = await open()
    const { page } = opened
    await signIn(page, stage.login)
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')

    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN')

    await page.getByRole('link', { name: 'API keys' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect(await focused()).toBe('API keys')
    // Keys can be created once it is known whose.
    await page.getByRole('table').waitFor()
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Create a key')
    expect(await outline(page)).not.toBe('none')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.getByLabel('Name').waitFor()
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.textContent === 'Create a key')
  })

  test('the colours are those of the system until others are chosen, and that is kept', async () => {
    await using opened = await open({ scheme: 'dark' }, '/clock')
    const { page } = opened
    const scheme = () => page.evaluate(() => document.documentElement.dataset['mantineColorScheme'])
    await signIn(page, stage.login)
    expect(await scheme()).toBe('dark')
    await page.getByLabel('Colours').selectOption('Light')
    expect(await scheme()).toBe('light')
    await page.reload()
    await page.getByRole('heading', { name: 'Clock and stories' }).waitFor()
    expect(await scheme()).toBe('light')
  })
})

function outline(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle)
}
