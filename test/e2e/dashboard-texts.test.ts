import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleIds } from '../../schema/rest/examples.ts'
import { findBarriers, hasBrowser, launchBrowser, openPage, sidewaysScroll } from '../support/browser.ts'
import { nasty, sampleAnswers, sampleEvent } from '../support/dashboard-samples.ts'
import type { FakeApiServer } from '../support/fake-api-server.ts'
import { failed, ok, startFakeApi } from '../support/fake-dashboard-api.ts'
import { shared } from '../support/shared.ts'

/** For a test that runs axe twice, also on a busy machine. */
const axeMs = 60_000

/** Every page with external text, in a panel where there is one. */
const pages = [
  ['/', 'EVIL'],
  ['/events?open=12', '<img src=x'],
  ['/deliveries?open=dlv_1', '<img src=x'],
  ['/webhooks', '<img src=x'],
  ['/alerts', '<img src=x'],
  ['/faults', '<img src=x'],
  ['/triggers', 'bag-holder'],
  ['/account', '<img src=x'],
  ['/nowhere', 'There is no page here'],
] as const

/** Answers that a true emulator doesn't give. */
describe.skipIf(!hasBrowser)('the dashboard with sample answers (needs Chromium: set CHROMIUM_PATH)', () => {
  let folder: string
  let browser: Browser

  beforeAll(async () => {
    folder = await shared('dashboard')
    browser = await launchBrowser()
  }, 120_000)
  afterAll(() => browser.close())

  /** Opens a page with its own API, and checks afterwards that it reported no error and refused nothing. */
  async function visit(
    path: string,
    use: (page: Page, api: FakeApiServer) => Promise<void>,
    answers: Parameters<FakeApiServer['answer']>[] = [],
    expected: readonly string[] = [],
  ): Promise<void> {
    await using api = await startFakeApi(folder)
    for (const answer of answers) api.answer(...answer)
    await using opened = await openPage(browser, { url: `${api.url}/#${path}`, expected })
    await use(opened.page, api)
    expect(await opened.page.locator('main :is(img, script)').count()).toBe(0)
    expect(await opened.page.evaluate(() => 'isHacked' in globalThis)).toBe(false)
    expect(opened.complaints).toEqual([])
  }

  test.each(pages)(
    '%s shows markup as text, passes axe in light and dark, and fits 390 px',
    { timeout: axeMs },
    (path, text) =>
      visit(path, async (page) => {
        await page.getByText(text).locator('visible=true').first().waitFor()
        for (const summary of await page.getByText('Headers and answer').all()) await summary.click()
        expect(await page.locator('main').textContent()).not.toContain('\u202e')
        await expectForEverybody(page)
      }),
  )

  test.each([
    ['/webhooks', 'Add webhook'],
    ['/alerts', 'Add alert'],
    ['/deliveries', 'Replay undelivered'],
    ['/account', 'Create key'],
  ])('%s: the dialog “%s” passes axe, and returns the focus when closed', { timeout: axeMs }, (path, name) =>
    visit(
      path,
      async (page) => {
        await page.getByRole('button', { name }).focus()
        await page.keyboard.press('Enter')
        await page
          .getByRole('dialog')
          .getByRole('button', { name })
          .or(page.getByText('2 deliveries'))
          .first()
          .waitFor()
        await expectForEverybody(page)
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await page.waitForFunction((label) => document.activeElement?.textContent === label, name)
      },
      [['POST /deliveries/replay', ok({ matched: 2, replayed: 0 })]],
    ),
  )

  test('a delivery shows the answer and the exact bytes of its body', () =>
    visit('/deliveries?open=dlv_1', async (page) => {
      await page.getByText('Headers and answer').first().click()
      const excerpt = page.getByRole('region', { name: 'Response body 1' }).first()
      expect(await excerpt.textContent()).toBe(nasty.excerpt.replace('\u202e', '\\u{202e}'))
      expect(await page.getByRole('region', { name: 'Body', exact: true }).textContent()).toContain(
        '1.10000000000000000001',
      )
    }))

  test('a new secret is shown once', () =>
    visit(
      '/alerts',
      async (page, api) => {
        await page.getByRole('button', { name: 'Replace secret' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Replace secret' }).click()
        await page.getByText('whsec_shown_once').waitFor()
        await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        const kept = await page.evaluate(() => document.body.innerHTML + JSON.stringify(localStorage))
        expect(kept).not.toContain('whsec_')
        expect(api.asked.map(({ call }) => call)).toEqual(['POST /alert-secret'])
      },
      [['POST /alert-secret', ok({ alertSecret: 'whsec_shown_once' }, 201)]],
    ))

  test('a deletion asks first, and shows the error if it fails', () =>
    visit(
      '/webhooks',
      async (page, api) => {
        await page.getByRole('button', { name: /^Delete/ }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        expect(api.asked).toEqual([])
        await page.getByRole('button', { name: /^Delete/ }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
        await page.getByRole('dialog').getByRole('alert').getByText('<img src=x').waitFor()
      },
      [[`DELETE /webhooks/${exampleIds.webhook}`, failed(409, 'conflict', nasty.name)]],
      ['409'],
    ))

  test('a list that fails to load shows the error, and loads with Retry', () =>
    visit(
      '/webhooks',
      async (page, api) => {
        await page.getByRole('alert').getByText('the disk is full').waitFor()
        api.answer('GET /webhooks', ok([]))
        await page.getByRole('button', { name: 'Retry' }).click()
        await page.getByText('No webhooks yet').waitFor()
      },
      [['GET /webhooks', failed(500, 'internal', 'the disk is full')]],
      ['500'],
    ))

  test('after a break of the stream everything is read again; an ended session returns to the sign-in', () =>
    visit('/', async (page, api) => {
      const table = page.getByRole('table', { name: 'Newest events' })
      await page.getByText('Live', { exact: true }).waitFor()
      await table.getByRole('row').nth(12).waitFor()
      api.answer('GET /events', ok([sampleEvent(99), ...(sampleAnswers['/events'] as object[])]))
      api.breakStreams()
      await table.getByRole('row').nth(13).waitFor()
      api.answer('GET /session', ok({ signedIn: false, user: null, demo: null }))
      api.breakStreams()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    }))

  const demo = { user: 'demo', password: 'demo-password-do-not-use' }

  test.each([
    ['the login of the demo filled in', demo, 1],
    ['A65 nothing filled in for a private login', null, 0],
  ])('the sign-in has %s', { timeout: axeMs }, (_what, published, notes) =>
    visit(
      '/',
      async (page) => {
        expect(await page.getByLabel('User').inputValue()).toBe(published?.user ?? '')
        expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe(published?.password ?? '')
        expect(await page.getByText('This is the demo').count()).toBe(notes)
        await expectForEverybody(page)
      },
      [['GET /session', ok({ signedIn: false, user: null, demo: published })]],
    ),
  )
})

/** Passes axe in light on a wide screen, and in dark at 390 px, where nothing is cut. */
async function expectForEverybody(page: Page): Promise<void> {
  expect(await findBarriers(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await sidewaysScroll(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
}
