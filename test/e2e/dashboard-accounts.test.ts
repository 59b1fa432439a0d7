import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { hasBrowser } from '../support/browser.ts'
import { apiOf, signIn, dialogOf, setUpVisits } from '../support/dashboard-visits.ts'
import { until } from '../support/until.ts'

describe.skipIf(!hasBrowser)('accounts in the dashboard of a true emulator (needs Chromium: set CHROMIUM_PATH)', () => {
  const on = setUpVisits()
  const get = (path: string) => apiOf(on.stage).get(path)
  const cell = (page: Page, name: string | RegExp) => page.getByRole('table').getByText(name)

  test('A65 signs in with the right password alone, says why not, and signs out', async () => {
    const page = await on.open()
    await page.getByLabel('User').fill(on.stage.login.user)
    await page.getByLabel('Password', { exact: true }).fill('wrong-password-0001')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('user or password is wrong').waitFor()
    await signIn(page, on.stage.login)
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('A65 a session that has ended elsewhere leads back to the sign-in at the next request', async () => {
    const page = await on.visit('/webhooks')
    await cell(page, on.stage.endpoint.url).waitFor()
    await page.evaluate(() => fetch('./_emulator/session', { method: 'DELETE' }))
    await page.getByRole('link', { name: 'Alerts' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('R67, R68 a key is made by name and scope, and its value is shown once', async () => {
    const page = await on.visit('/settings/api-keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await dialogOf(page).getByLabel('Name').fill('trading desk')
    for (const scope of ['write:alerts', 'read:tokens', 'write:webhooks'])
      await dialogOf(page).getByLabel(scope).uncheck()
    await dialogOf(page).getByRole('button', { name: 'Create the key' }).click()
    const value = await dialogOf(page).getByLabel('The key').inputValue()
    await dialogOf(page).getByText('not shown again').waitFor()

    const ask = (path: string) => fetch(`${on.stage.url}/v1${path}`, { headers: { Authorization: `Bearer ${value}` } })
    expect((await ask('/networks')).status).toBe(200)
    expect((await ask('/tokens/search?q=a')).status).toBe(403)

    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('row', { name: /trading desk.*read:wallets.*active/ }).waitFor()
    expect(await page.content()).not.toContain(value)
    expect(JSON.stringify(await get('/accounts'))).not.toContain(value)

    await page.getByRole('button', { name: 'Revoke trading desk' }).click()
    await dialogOf(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: /trading desk.*revoked/ }).waitFor()
    expect((await ask('/networks')).status).toBe(401)
  })

  test('R76 the secret of a new webhook is shown once, and signs what is posted; R91 it can be changed, and deleted', async () => {
    const page = await on.visit('/webhooks')
    const url = `${on.stage.endpoint.url}?second`
    await page.getByRole('button', { name: 'Add a webhook' }).click()
    await dialogOf(page).getByLabel('URL').fill(url)
    await dialogOf(page).getByLabel('All events').uncheck()
    await dialogOf(page).getByLabel('contract.ownership_changed').check()
    await dialogOf(page).getByRole('button', { name: 'Add the webhook' }).click()
    const secret = await dialogOf(page).getByLabel('The webhook secret').inputValue()
    await dialogOf(page).getByRole('button', { name: 'I have copied it' }).click()
    await page.reload()
    await cell(page, url).waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(JSON.stringify(await get('/webhooks'))).not.toContain(secret)

    on.stage.emulator.trigger('contract.ownership_changed')
    const isSigned = ({ body, signature }: { body: string; signature: string }) =>
      signature === sign(Buffer.from(body), secret)
    await until(() => on.stage.endpoint.received.some(isSigned), 'a post signed with the secret that was shown')

    await page.getByRole('button', { name: `Change ${url}` }).click()
    await dialogOf(page).getByLabel('All events').check()
    await dialogOf(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row').filter({ hasText: url }).getByText('All').waitFor()
    await page.getByRole('button', { name: `Delete ${url}` }).click()
    await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
    await cell(page, url).waitFor({ state: 'detached' })
    expect(await get('/webhooks')).toHaveLength(1)
  })

  test('R57 an alert is added, listed and deleted; a refusal is shown where it happened', async () => {
    const page = await on.visit('/alerts')
    const [token] = on.stage.emulator.world.views.tokens()
    const { network, address } = on.stage.emulator.world.views.token(token!)
    await page.getByRole('button', { name: 'Add an alert' }).click()
    await dialogOf(page).getByLabel('Network').selectOption(network)
    await dialogOf(page).getByLabel('Address').fill('no address')
    await dialogOf(page).getByLabel('Threshold').fill('123456')
    await dialogOf(page).getByLabel('URL it is posted to').fill(on.stage.endpoint.url)
    await dialogOf(page).getByLabel('Label').fill('far above')
    const allowed = on.opened.complaints.length
    await dialogOf(page).getByRole('button', { name: 'Add the alert' }).click()
    await dialogOf(page).getByRole('alert').getByText('address').waitFor()
    // What the browser itself says of a 400, and nothing else.
    expect(on.opened.complaints.slice(allowed)).toEqual([expect.stringContaining('400')])
    on.opened.forget()
    await dialogOf(page).getByLabel('Address').fill(address)
    await dialogOf(page).getByRole('button', { name: 'Add the alert' }).click()
    await page.getByRole('row', { name: /far above price_above.*123,456/ }).waitFor()
    await page.getByRole('button', { name: 'Delete the alert far above' }).click()
    await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
    await cell(page, 'far above').waitFor({ state: 'detached' })
  })

  test('A34 a wallet is tracked and no longer tracked, and its PnL is shown; thresholds are set', async () => {
    const { views } = on.stage.emulator.world
    const tracked = () => new Set(views.trackedWallets().map(({ address }) => address))
    const wallet = views.wallets().find(({ address, tradeCount }) => tradeCount > 0 && !tracked().has(address))!
    const page = await on.visit(`/wallets/${wallet.network}/${wallet.address}`)
    await page.getByRole('row', { name: /^30d/ }).waitFor()
    await page.getByRole('button', { name: 'Track this wallet' }).click()
    await page.getByRole('button', { name: 'Stop tracking' }).waitFor()
    expect(tracked()).toContain(wallet.address)

    await page.getByRole('link', { name: 'Tracking' }).click()
    await page.getByLabel('Large trade in USD').fill('25000')
    await page.getByLabel('Milestones in USD').fill('1000, 2000')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect(await get('/thresholds')).toMatchObject({ largeTradeUsd: 25_000, milestonesUsd: [1000, 2000] })
    const row = page.getByRole('row').filter({ has: page.locator(`[title="${wallet.address}"]`) })
    await row.getByRole('button', { name: /^Stop tracking/ }).click()
    await dialogOf(page).getByRole('button', { name: 'Stop' }).click()
    await row.waitFor({ state: 'detached' })
    expect(tracked()).not.toContain(wallet.address)
  })
})
