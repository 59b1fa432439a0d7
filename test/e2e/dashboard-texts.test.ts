import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, launchBrowser, openPage } from '../support/browser.ts'
import { nasty, sampleAnswers, sampleDelivery, sampleEvent } from '../support/dashboard-samples.ts'
import { failed, ok, startFakeApi } from '../support/fake-dashboard-api.ts'
import { shared } from '../support/shared.ts'

const token = '/tokens/ethereum/0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const wallet = '/wallets/ethereum/0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

/** What a true emulator does not bring forth: names that no world gives, and answers that break off. */
describe.skipIf(!hasBrowser)('the dashboard with answers made up for it (needs Chromium: set CHROMIUM_PATH)', () => {
  let folder: string
  let browser: Browser

  beforeAll(async () => {
    folder = await shared('dashboard')
    browser = await launchBrowser()
  }, 60_000)
  afterAll(async () => {
    await browser.close()
  })

  test.each([
    ['/', 'the live feed'],
    ['/events', 'the log of events'],
    ['/tokens', 'the list of tokens'],
    [token, 'a token'],
    [wallet, 'the positions and trades of a wallet'],
    ['/alerts', 'the label of an alert'],
    ['/settings/api-keys', 'the name of a key'],
    ['/faults', 'what faults are about'],
    ['/deliveries/dlv_1', 'a body'],
  ])('markup from elsewhere is shown as text: %s', async (path) => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: `${api.url}/#${path}` })
    const { page, complaints } = opened
    await page.getByText('<img src=x').first().waitFor()
    expect(await page.locator('main :is(img, script)').count()).toBe(0)
    expect(await page.evaluate(() => 'isHacked' in globalThis)).toBe(false)
    expect(complaints).toEqual([])
  })

  test('what an endpoint answers is text, and what turns the direction of text is shown as its code', async () => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: `${api.url}/#/deliveries/dlv_1` })
    const { page, complaints } = opened
    await page.getByText('Headers and answer').first().click()
    const excerpt = page.getByRole('region', { name: 'Beginning of the answer' }).first()
    expect(await excerpt.textContent()).toBe(nasty.excerpt.replace('\u202e', '\\u{202e}'))
    expect(await page.locator('main').textContent()).not.toContain('\u202e')
    expect(await page.locator('main').textContent()).toContain('"\\u202eLOOC"')
    await page.getByLabel('On lines of their own').uncheck()
    const body = page.getByRole('region', { name: 'Body' })
    expect(await body.textContent()).toBe(sampleDelivery.body)
    await page.getByLabel('On lines of their own').check()
    expect(await body.textContent()).toContain('1.10000000000000000001')
    expect(complaints).toEqual([])
  })

  test('an event from the stream with a nasty name is shown as text', async () => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: api.url })
    const { page, complaints } = opened
    await page.getByText('live', { exact: true }).waitFor()
    const rows = page.getByRole('region', { name: 'Live events, newest first' }).getByRole('listitem')
    await rows.first().waitFor()
    const before = await rows.count()
    api.publish('event', sampleEvent(99))
    await rows.nth(before).waitFor()
    // Beyond 200 the oldest ones go.
    for (let seq = 100; seq < 400; seq++) api.publish('event', sampleEvent(seq))
    await page.locator('time[datetime="2026-01-31T14:06:39.000Z"]').waitFor()
    expect(await rows.count()).toBe(200)
    expect(complaints).toEqual([])
  })

  test('a secret that was shown is in no later page', async () => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: `${api.url}/#/alerts` })
    const { page, complaints } = opened
    api.answer('POST /alert-secret', ok({ alertSecret: 'asec_shown_once' }, 201))
    await page.getByRole('button', { name: 'Draw a new secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Draw' }).click()
    expect(await page.getByLabel('The alert secret').inputValue()).toBe('asec_shown_once')
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const isKept = await page.evaluate(() => {
      const fields = [...document.querySelectorAll('input')].map(({ value }) => value)
      return [document.body.innerHTML, ...fields, JSON.stringify(localStorage)].some((text) => text.includes('asec_'))
    })
    expect(isKept).toBe(false)
    expect(api.asked.map(({ call }) => call)).toEqual(['POST /alert-secret'])
    expect(complaints).toEqual([])
  })

  test('a deletion asks first, and where it fails the dialog says why', async () => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: `${api.url}/#/webhooks`, expected: ['409'] })
    const { page, complaints } = opened
    const [{ webhookId }] = sampleAnswers['/webhooks'] as [{ webhookId: string }]
    api.answer(`DELETE /webhooks/${webhookId}`, failed(409, 'conflict', nasty.name))
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(api.asked).toEqual([])
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('alert').getByText('<img src=x').waitFor()
    expect(complaints).toEqual([])
  })

  test('a list that cannot be loaded says why, and is there after another try', async () => {
    await using api = await startFakeApi(folder)
    api.answer('GET /webhooks', failed(500, 'internal', 'the disk is full'))
    await using opened = await openPage(browser, { url: `${api.url}/#/webhooks`, expected: ['500'] })
    const { page, complaints } = opened
    await page.getByRole('alert').getByText('the disk is full').waitFor()
    api.answer('GET /webhooks', ok([]))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No webhooks yet').waitFor()
    expect(complaints).toEqual([])
  })

  test('after a break of the stream a list is asked for anew, and a session that is over leads to the sign-in', async () => {
    await using api = await startFakeApi(folder)
    await using opened = await openPage(browser, { url: api.url })
    const { page, complaints } = opened
    const rows = page.getByRole('region', { name: 'Live events, newest first' }).getByRole('listitem')
    await page.getByText('live', { exact: true }).waitFor()
    await rows.first().waitFor()
    const before = await rows.count()
    api.answer('GET /events', ok([sampleEvent(99), ...(sampleAnswers['/events'] as object[])]))
    api.breakStreams()
    await rows.nth(before).waitFor()
    api.answer('GET /session', ok({ signedIn: false, user: null, demo: null }))
    api.breakStreams()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('the published login of the demo is filled in; A65 otherwise nothing is', async () => {
    await using api = await startFakeApi(folder)
    const demo = { user: 'demo', password: 'demo-password-do-not-use' }
    api.answer('GET /session', ok({ signedIn: false, user: null, demo }))
    await using first = await openPage(browser, { url: api.url })
    await first.page.getByText('This is the demo').waitFor()
    expect(await first.page.getByLabel('User').inputValue()).toBe(demo.user)
    expect(await first.page.getByLabel('Password', { exact: true }).inputValue()).toBe(demo.password)
    api.answer('GET /session', ok({ signedIn: false, user: null, demo: null }))
    await using second = await openPage(browser, { url: api.url })
    await second.page.getByLabel('User').waitFor()
    expect(await second.page.getByLabel('User').inputValue()).toBe('')
    expect(await second.page.getByText('This is the demo').count()).toBe(0)
  })
})
