import { describe, expect, test } from 'vitest'
import { settingsOfRow } from '../../src/config/described.ts'
import { hasBrowser } from '../support/browser.ts'
import {
  axeMs,
  expectAsText,
  expectForEverybody,
  hostileTexts,
  setUpConsolePages,
  withTexts,
} from '../support/console-pages.ts'
import { audit, replicas, secrets, settings } from '../support/console-samples/b.ts'
import { failed, ok } from '../support/fake-console-api.ts'
import { nasty } from '../support/console-samples/nasty.ts'

const answers = {
  'GET /settings': ok(settings),
  'GET /secrets': ok({ data: secrets }),
  'GET /replicas': ok(replicas),
  'GET /audit': ok(audit),
}

test('the settings that are shown here are called as an inbox calls them', () => {
  expect(settings.settings.filter(({ name }) => settingsOfRow(name).length === 0)).toEqual([])
})

describe.skipIf(!hasBrowser)('settings and audit in the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const console = setUpConsolePages()

  test('settings are told with where they were set; which are shown is in the address', async () => {
    const page = await console.visit('/settings', answers)
    const rows = page.getByRole('region', { name: 'Settings' }).locator('tbody tr')
    await rows.nth(3).waitFor()
    expect(await rows.allTextContents()).toEqual([
      'webhook addresshttp://127.0.0.1:8080/webhooksdefault',
      'webhook secretsset (labels: primary, next) from /run/secrets/webhookfile',
      'admin tokensetenvironment',
      'handlers/srv/inbox/handlersconfig file',
    ])
    await page.getByLabel('Show').selectOption('set')
    await rows.nth(3).waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(3)
    await page.getByLabel('Name').fill('Handlers')
    await page.waitForURL(/#\/settings\?q=Handlers&show=set$/)
    await page.reload()
    await rows.first().waitFor()
    expect(await rows.allTextContents()).toEqual(['handlers/srv/inbox/handlersconfig file'])
    await page.getByLabel('Name').fill('nothing')
    await page.getByText('No such settings').waitFor()
  })

  test('secrets are told by their labels with their last use, and processes by their hosts', async () => {
    const page = await console.visit('/settings', answers)
    const rows = page.getByRole('region', { name: 'Secrets' }).locator('tbody tr')
    await rows.nth(2).waitFor()
    expect(await rows.allTextContents()).toEqual([
      'primaryin use2026-01-27 10:00:002026-01-31 13:59:591,234,000',
      'nextnever used––0',
      'oldergone2025-12-25 02:00:002026-01-27 10:00:00567',
    ])
    await page.getByRole('row', { name: /inbox-0/ }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    console.api.answer('GET /secrets', ok({ data: secrets.slice(0, 1) }))
    console.api.publish('changed', { what: ['health'] })
    await rows.nth(1).waitFor({ state: 'detached' })
  })

  test('each part of the settings that cannot be loaded says why in its place', async () => {
    const page = await console.visit('/settings', {
      'GET /settings': failed(503, 'store_unavailable', 'no settings today'),
      'GET /secrets': failed(503, 'store_unavailable', 'no secrets today'),
      'GET /replicas': ok({ data: [] }),
    })
    await page.getByText('no settings today').waitFor()
    await page.getByText('no secrets today').waitFor()
    await page.getByText('No replicas').waitFor()
    console.forget()
  })

  test('acts are told in words, by whom, and lead to what they were about', async () => {
    const page = await console.visit('/audit', answers)
    const rows = page.getByRole('region', { name: 'Acts' }).locator('tbody tr')
    await rows.nth(5).waitFor()
    const texts = await rows.allTextContents()
    expect(texts[0]).toBe('2026-01-31 14:00:00operator (session) 127.0.0.1Paused ledger')
    expect(texts[1]).toContain('the inbox, or a command on its fileResumed all handlers')
    expect(texts[2]).toContain('Dropped dead lettersreason: the book is closedruns: 1, 2, 3')
    expect(texts[2]).toContain('20 … 40 in all')
    expect(texts[4]).toContain('Started the replay 3filter: {"type":"wallet.*"}')
    expect(texts[5]).toContain('something.newof: a later version')
    const hrefs = await rows.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    expect(hrefs).toEqual(['#/handlers?q=ledger', '#/dead-letters', '#/events/evt_1', '#/replays'])
  })

  test('older acts come when they are asked for, and new ones by themselves', async () => {
    const older = { ...audit.data[0]!, id: 900, action: 'index.rebuild', detail: {} }
    const newer = { ...audit.data[0]!, id: 999, action: 'session.begin', detail: { role: 'viewer' } }
    const pages = (first: typeof audit.data) => (query: URLSearchParams) =>
      query.get('cursor') === 'c 1' ? ok({ data: [older], next_cursor: null }) : ok({ data: first, next_cursor: 'c 1' })
    const page = await console.visit('/audit', { 'GET /audit': pages(audit.data) })
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.getByRole('row', { name: /Rebuilt the index/ }).waitFor()
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0)
    await page.getByText('live', { exact: true }).waitFor()
    console.api.answer('GET /audit', pages([newer, ...audit.data]))
    console.api.publish('changed', { what: ['audit'] })
    await page.getByRole('row', { name: /Signed in/ }).waitFor()
    await page.getByRole('row', { name: /Rebuilt the index/ }).waitFor()
  })

  test('where nobody has done anything it says so; why it cannot be loaded is said', async () => {
    const page = await console.visit('/audit', { 'GET /audit': failed(503, 'store_unavailable', 'the disk is gone') })
    await page.getByRole('alert').getByText('the disk is gone').waitFor()
    console.forget()
    console.api.answer('GET /audit', ok({ data: [], next_cursor: null }))
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Nobody has done anything yet').waitFor()
  })

  test('a long value is shown by its begin, and in full when somebody wants it', async () => {
    const value = `${nasty.long}the end`
    const page = await console.visit('/settings', {
      ...answers,
      'GET /settings': ok({ ...settings, settings: [{ ...settings.settings[0]!, value }] }),
    })
    const more = page.getByRole('button', { name: 'Show all 100,007 characters' })
    await more.click()
    expect(await page.getByRole('region', { name: 'All of the text' }).textContent()).toBe(value)
    await page.getByRole('button', { name: 'Show less' }).click()
    await more.waitFor()
  })

  test.each(['/settings', '/audit'])(
    'it is well for everybody: axe in light and dark, and a phone: %s',
    async (path) => {
      const page = await console.visit(path, answers)
      await page.getByRole('table').last().waitFor()
      await expectForEverybody(page)
    },
    axeMs,
  )

  test.each(hostileTexts)('text from elsewhere is shown as text: %s', async (_name, text) => {
    const nastyAnswers = {
      'GET /settings': ok(withTexts(settings, text)),
      'GET /secrets': ok(withTexts({ data: secrets }, text)),
      'GET /replicas': ok(withTexts(replicas, text)),
      'GET /audit': ok({
        data: [
          ...withTexts(audit.data, text),
          { id: 99, at: audit.data[0]!.at, action: 'handler.pause', detail: { handler: text, [text]: text }, by: text },
        ],
        next_cursor: null,
      }),
    }
    const page = await console.visit('/settings', nastyAnswers)
    await page.getByRole('table').nth(2).waitFor()
    // Four names and values, three labels, version and id.
    await expectAsText(page, text, 8 + 3 + 2)
    await page.goto(`${console.api.url}/#/audit`)
    await page.getByRole('table').waitFor()
    // Six actions, five names, handler, name and value of a member, and who did it.
    await expectAsText(page, text, 6 + 5 + 3 + 1)
  })
})
