import { describe, expect, test } from 'vitest'
import { findBarriers, hasBrowser } from '../support/browser.ts'
import { asViewer, expectForEverybody, setUpConsolePages } from '../support/console-pages.ts'
import { overview } from '../support/console-samples/a.ts'
import { failed, ok } from '../support/fake-console-api.ts'

const signedOut = failed(401, 'unauthorized', 'expected a token or a session')
const asOperator = ok({ role: 'operator', expires_at: '2026-02-01T00:00:00.000Z' })

describe.skipIf(!hasBrowser)('the frame of the console (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpConsolePages()

  test('the sign-in says where the token is, why one was refused, and leads to the page that was asked for', async () => {
    const page = await on.visit('/audit', { 'GET /session': signedOut })
    await page
      .getByText('INBOX_ADMIN_TOKEN, or the file <database>.admin-token beside the database; npm start prints that')
      .waitFor()
    expect(await page.title()).toBe('Sign in – Inbox')
    await expectForEverybody(page)

    await page.getByLabel('Token', { exact: true }).fill('  ')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('there are only blanks').waitFor()
    await page.getByLabel('Token', { exact: true }).fill('x'.repeat(1_025))
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('at most 1,024 characters, and this has 1,025').waitFor()
    expect(on.api.asked).toEqual([])

    on.api.answer('POST /session', failed(401, 'unauthorized', 'this is no token of this inbox'))
    await page.getByLabel('Token', { exact: true }).fill(' wrong ')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('this is no token of this inbox').waitFor()
    on.api.answer('POST /session', failed(429, 'rate_limited', 'too many tries: try again in 30 s'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('too many tries: try again in 30 s').waitFor()
    on.forget()

    on.api.answer('POST /session', { status: 201, body: { role: 'viewer', expires_at: null } })
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor()
    await page.getByText('viewer', { exact: true }).waitFor()
    expect(on.api.asked.map(({ body }) => body)).toEqual(Array.from({ length: 3 }, () => ({ token: 'wrong' })))
    // No script keeps the token.
    expect(
      await page.evaluate(() => JSON.stringify([localStorage, sessionStorage].map((store) => Object.entries(store)))),
    ).not.toContain('wrong')
  })

  test('who signs out is at the sign-in, and the session is ended', async () => {
    const page = await on.visit('/audit')
    await page.getByText('operator', { exact: true }).waitFor()
    on.api.answer('DELETE /session', ok({ signed_out: true }))
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(await page.getByText('Your session has ended').count()).toBe(0)
    expect(on.api.asked).toEqual([{ call: 'DELETE /session', body: null }])
  })

  test('a session that is over leads to the sign-in and from there back, whether an answer or the stream says so', async () => {
    const page = await on.visit('/events?status=dead')
    await page.getByText('live', { exact: true }).waitFor()
    on.api.answer('GET /audit', signedOut)
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByText('Your session has ended').waitFor()
    on.forget()

    on.api.answer('POST /session', { ...asOperator, status: 201 })
    on.api.answer('GET /audit', ok({ data: [], next_cursor: null }))
    await page.getByLabel('Token', { exact: true }).fill('token')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    on.api.answer('GET /session', signedOut)
    on.api.breakStreams()
    await page.getByText('Your session has ended').waitFor()
    on.forget()
  })

  test('an inbox that does not answer is said to, and asked again on request', async () => {
    const page = await on.visit('/audit', { 'GET /session': failed(503, 'unavailable', 'the store is starting') })
    await page.getByRole('alert').getByText('the store is starting').waitFor()
    on.forget()
    on.api.answer('GET /session', asOperator)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor()
  })

  test('the navigation leads to every page, names it in the title, and counts what needs a look as the stream tells', async () => {
    const page = await on.visit('/')
    await page.getByRole('link', { name: 'Dead letters 4' }).waitFor()
    await page.getByRole('link', { name: 'Quarantine 2' }).waitFor()
    expect(await page.getByRole('link', { name: 'Conflicts', exact: true }).count()).toBe(1)
    await page.getByText('live', { exact: true }).waitFor()
    on.api.publish('overview', { ...overview, dead_letters: 1_234_567, conflicts: 1, paused: true })
    await page.getByRole('link', { name: 'Dead letters 1.23M' }).waitFor()
    await page.getByRole('link', { name: 'Conflicts 1' }).waitFor()
    await page.getByText('all handlers paused').waitFor()

    const places = await page.getByRole('navigation').getByRole('link').all()
    const names = [
      'Overview',
      'Health',
      'Events',
      'Replays',
      'Dead letters',
      'Quarantine',
      'Rejects',
      'Conflicts',
      'Drift',
    ]
    const expected = [...names, 'Handlers', 'Audit', 'Settings']
    expect(places).toHaveLength(expected.length)
    for (const [index, name] of expected.entries()) {
      await places[index]?.click()
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
      await page.waitForFunction((wanted) => document.title === `${wanted} – Inbox`, name)
      expect(await places[index]?.getAttribute('aria-current')).toBe('page')
    }
    await page.goto(`${on.api.url}/#/nowhere`)
    await page.getByText('There is no page here').waitFor()
    on.forget()
  })

  test('a connection that is lost is shown until it is back', async () => {
    const page = await on.visit('/audit')
    await page.getByText('live', { exact: true }).waitFor()
    on.api.answer('GET /stream', failed(503, 'unavailable', 'not now'))
    on.api.breakStreams()
    await page.getByText('reconnecting', { exact: true }).waitFor()
    on.api.answer('GET /stream', null)
    await page.getByText('live', { exact: true }).waitFor()
    on.forget()
  })

  test('a page that was opened during an outage has its answers once the stream is there', async () => {
    const gone = failed(503, 'unavailable', 'the store is starting')
    const mend = () => {
      on.forget()
      on.api.answer('GET /audit', ok({ data: [], next_cursor: null }))
      on.api.answer('GET /stream', null)
    }
    const page = await on.visit('/audit', { 'GET /stream': gone, 'GET /audit': gone })
    await page.getByRole('alert').getByText('the store is starting').waitFor()
    mend()
    await page.getByText('Nobody has done anything yet').waitFor()

    // Also one that another page led to, whose stream was there before.
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText('live', { exact: true }).waitFor()
    on.api.answer('GET /stream', gone)
    on.api.answer('GET /audit', gone)
    on.api.breakStreams()
    await page.getByText('reconnecting', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('alert').getByText('the store is starting').waitFor()
    mend()
    await page.getByText('Nobody has done anything yet').waitFor()
    on.forget()
  })

  test('a phone has the navigation behind a button, and it closes when a page is chosen', async () => {
    const page = await on.visit('/audit')
    await page.setViewportSize({ width: 360, height: 780 })
    await page.getByRole('button', { name: 'Navigation' }).click()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('link', { name: 'Dead letters 4' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await drawer.getByRole('link', { name: 'Settings' }).click()
    await drawer.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  })

  test('keys lead to pages and to the search, and are listed by one of them', async () => {
    const page = await on.visit('/audit')
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor()
    const keys = [
      ['o', 'Overview'],
      ['e', 'Events'],
      ['d', 'Dead letters'],
      ['q', 'Quarantine'],
      ['l', 'Handlers'],
      ['c', 'Conflicts'],
    ] as const
    for (const [key, name] of keys) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    }

    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await dialog.getByText('Go to Dead letters').waitFor()
    expect(await findBarriers(page)).toEqual([])
    // A dialog has the keys for itself.
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(page.url()).toContain('#/conflicts')

    // This page has no search of its own.
    await page.keyboard.press('/')
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    const search = page.getByLabel('Words in the body')
    await page.waitForFunction(() => document.activeElement?.getAttribute('type') === 'search')
    await page.keyboard.type('g o ? . j')
    expect(await search.inputValue()).toBe('g o ? . j')
    expect(page.url()).toContain('#/events')
    await search.fill('')
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => document.activeElement === document.body)

    // With others held down a key is for the browser.
    await page.keyboard.press('Control+g')
    await page.keyboard.press('o')
    await page.keyboard.press('Alt+.')
    await page.keyboard.press('x')
    expect(page.url()).toContain('#/events')
    expect(await page.getByText('paused', { exact: true }).count()).toBe(0)
    await page.keyboard.press('.')
    await page.getByText('paused', { exact: true }).waitFor()
  })

  test('who was given a viewer’s token is told so, and light or dark can be chosen and is kept', async () => {
    const page = await on.visit('/audit', asViewer)
    await page.getByText('viewer', { exact: true }).waitFor()
    const scheme = () => page.evaluate(() => document.documentElement.getAttribute('data-mantine-color-scheme'))
    expect(await scheme()).toBe('light')
    await page.getByLabel('Colours').selectOption('Dark')
    await page.waitForFunction(() => document.documentElement.getAttribute('data-mantine-color-scheme') === 'dark')
    await page.reload()
    await page.getByText('viewer', { exact: true }).waitFor()
    expect(await scheme()).toBe('dark')
    await page.getByLabel('Colours').selectOption('As the system')
  })
})
