import { describe, expect, test } from 'vitest'
import { exampleIds } from '../../schema/rest/examples.ts'
import { findBarriers, findBarriersInBoth, hasBrowser, sidewaysScroll } from '../support/browser.ts'
import { nasty, sampleAnswers, sampleEvent } from '../support/dashboard-samples.ts'
import { failed, ok, startFakeApi } from '../support/fake-dashboard-api.ts'
import { setUpSamplePages, walkMs } from '../support/sample-pages.ts'

/** Every page with external text that it shows once loaded, in a panel where there is one, and a button that opens a dialog. */
const places: readonly (readonly [place: string, text: string, dialog?: string])[] = [
  ['/', 'EVIL'],
  ['/events?open=12', '<img src=x'],
  ['/deliveries?open=dlv_1', '<img src=x'],
  ['/deliveries', 'undelivered', 'Replay undelivered'],
  ['/webhooks', '<img src=x', 'Add webhook'],
  ['/alerts', '<img src=x', 'Add alert'],
  ['/faults', '<img src=x'],
  ['/triggers', 'bag-holder'],
  ['/account', '<img src=x', 'Create key'],
  ['/nowhere', 'There is no page here'],
]

const signedOut = (demo: object | null) => ({ 'GET /session': ok({ signedIn: false, user: null, demo }) })

/** Answers that a true emulator doesn't give. */
describe.skipIf(!hasBrowser)('the dashboard with sample answers (needs Chromium: set CHROMIUM_PATH)', () => {
  const pages = setUpSamplePages('dashboard', startFakeApi)

  test.each([1280, 390])(
    'pages and dialogs show markup as text, have no barrier in light and dark at a width of %i px, and are not cut',
    { timeout: walkMs },
    async (width) => {
      const page = await pages.visit('/', { 'POST /deliveries/replay': ok({ matched: 2, replayed: 0 }) })
      await page.setViewportSize({ width, height: 860 })
      for (const [place, text, dialog] of places) {
        await pages.go(place)
        await page.getByText(text).locator('visible=true').first().waitFor()
        for (const summary of await page.getByText('Headers and answer').all()) await summary.click()
        expect(await page.locator('main').textContent()).not.toContain('\u202e')
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
    },
  )

  test('a delivery shows the answer and the exact bytes of its body', async () => {
    const page = await pages.visit('/deliveries?open=dlv_1')
    await page.getByText('Headers and answer').first().click()
    const excerpt = page.getByRole('region', { name: 'Response body 1' }).first()
    expect(await excerpt.textContent()).toBe(nasty.excerpt.replace('\u202e', '\\u{202e}'))
    expect(await page.getByRole('region', { name: 'Body', exact: true }).textContent()).toContain(
      '1.10000000000000000001',
    )
  })

  test('a new secret is shown once', async () => {
    const page = await pages.visit('/alerts', {
      'POST /alert-secret': ok({ alertSecret: 'whsec_shown_once' }, 201),
    })
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('whsec_shown_once').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const kept = await page.evaluate(() => document.body.innerHTML + JSON.stringify(localStorage))
    expect(kept).not.toContain('whsec_')
    expect(pages.api.asked.map(({ call }) => call)).toEqual(['POST /alert-secret'])
  })

  test('a deletion asks first, and shows the error if it fails', async () => {
    const page = await pages.visit('/webhooks', {
      [`DELETE /webhooks/${exampleIds.webhook}`]: failed(409, 'conflict', nasty.name),
    })
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(pages.api.asked).toEqual([])
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('alert').getByText('<img src=x').waitFor()
    pages.allowFailures()
  })

  test('a list that fails to load shows the error, and loads with Retry', async () => {
    // Without a stream: when one opens, everything is read again.
    const page = await pages.visit('/webhooks', {
      'GET /webhooks': failed(500, 'internal', 'the disk is full'),
      'GET /stream': failed(503, 'overloaded', 'too many streams'),
    })
    await page.getByRole('alert').getByText('the disk is full').first().waitFor()
    pages.api.answer('GET /webhooks', ok([]))
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('No webhooks yet').waitFor()
    pages.allowFailures()
  })

  test('after a break of the stream everything is read again; an ended session returns to the sign-in', async () => {
    const page = await pages.visit('/')
    const table = page.getByRole('table', { name: 'Newest events' })
    await page.getByText('Live', { exact: true }).waitFor()
    await table.getByRole('row').nth(12).waitFor()
    pages.api.answer('GET /events', ok([sampleEvent(99), ...(sampleAnswers['/events'] as object[])]))
    pages.api.breakStreams()
    await table.getByRole('row').nth(13).waitFor()
    pages.api.answer('GET /session', ok({ signedIn: false, user: null, demo: null }))
    pages.api.breakStreams()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test.each([
    ['the login of the demo filled in', { user: 'demo', password: 'demo-password-do-not-use' }, 1],
    ['A65 nothing filled in for a private login', null, 0],
  ])('the sign-in has %s, and no barrier', async (_name, demo, notes) => {
    const page = await pages.visit('/', signedOut(demo))
    await page.getByLabel('User').waitFor()
    expect(await page.getByLabel('User').inputValue()).toBe(demo?.user ?? '')
    expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe(demo?.password ?? '')
    expect(await page.getByText('This is the demo').count()).toBe(notes)
    expect(await findBarriers(page)).toEqual([])
  })
})
