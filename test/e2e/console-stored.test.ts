import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { goTo, hasBrowser, launchBrowser, openPage, sidewaysScroll } from '../support/browser.ts'
import { nasty } from '../support/console-samples/nasty.ts'
import { walkMs } from '../support/sample-pages.ts'
import { shared } from '../support/shared.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const script = '<script>globalThis.isHacked = true</script><img src=x onerror="globalThis.isHacked = true">'
const link = 'javascript:globalThis.isHacked=true'
const megabyte = 'x'.repeat(1_000_000)
const bidi = `${nasty.bidi}\u200f\u2067`

/** Deliveries whose text is hostile in every field, and a body that is no event. */
const bodies: readonly Buffer[] = [
  eventBytes({
    id: `evt_${script}`,
    type: `number.${script}`,
    data: { title: script, url: link, wallet_address: script, network: script, tx_hash: link, [script]: script },
  }),
  eventBytes({
    id: 'evt_link',
    data: {
      wallet_address: link,
      token_address: link,
      token_symbol: link,
      network: 'ethereum',
      trade_type: link,
      amount_usd: 1,
      tx_hash: link,
    },
  }),
  eventBytes({ id: `evt_${bidi}`, data: { wallet_address: bidi, token_symbol: bidi, network: bidi, [bidi]: bidi } }),
  eventBytes({ id: 'evt_long', data: { wallet_address: 'x', token_symbol: megabyte, [megabyte]: 1 } }),
  Buffer.from(`${script}${bidi}`),
]

/** Fails for good with the text of the event as its error. */
const handler = `import { TerminalError } from 'onchain-inbox'
export default {
  name: 'hostile',
  type: '*',
  run({ data }) {
    throw new TerminalError(Object.entries(data).flat().join(' '))
  },
}
`

const lists = ['/', '/events', '/dead-letters', '/handlers?open=hostile', '/deliveries/quarantine', '/deliveries/drift']

describe.skipIf(!hasBrowser)('stored hostile events in a real inbox (needs Chromium: set CHROMIUM_PATH)', () => {
  let browser: Browser
  let sidecar: Sidecar

  beforeAll(async () => {
    const dist = await shared('dist')
    sidecar = await Sidecar.start({
      // The build has the pages.
      command: [process.execPath, join(dist, 'src/cli.js'), 'serve'],
      env: { INBOX_BODY_LIMIT: '4mb' },
      handlers: { 'hostile.ts': handler },
    })
    browser = await launchBrowser()
    for (const body of bodies) await deliver(sidecar, body)
    await until(async () => {
      const { dead_letters: dead } = (await (await sidecar.admin('overview')).json()) as { dead_letters: number }
      return dead >= bodies.length - 1
    }, 'the dead letters')
  }, 120_000)
  afterAll(async () => {
    await browser.close()
    await sidecar[Symbol.asyncDispose]()
  })

  test.each([1280, 390])(
    'run no script, break no layout and violate no content policy at a width of %i px',
    { timeout: walkMs },
    async (width) => {
      await using opened = await openPage(browser, { url: sidecar.adminUrl, width, expected: ['401'] })
      const { page } = opened
      await page.getByLabel('Token', { exact: true }).fill(testToken)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      const { data } = (await (await sidecar.admin('events?limit=100')).json()) as {
        data: { id: string; type: string }[]
      }
      const stored = data.filter(({ type }) => !type.startsWith('inbox.'))
      const details = stored.flatMap(({ id }) => [
        `/events/${encodeURIComponent(id)}`,
        `/events?open=${encodeURIComponent(id)}`,
      ])
      expect(stored).toHaveLength(bodies.length - 1)
      for (const place of [...lists, ...details]) {
        await goTo(page, place)
        await page.locator('h1').waitFor()
        await expect.poll(() => page.locator('.ui-skeleton').count()).toBe(0)
        await page.locator('details').evaluateAll((folds) => folds.forEach((fold) => fold.setAttribute('open', '')))
        await expect.poll(() => page.locator('.ui-skeleton').count()).toBe(0)
        expect([place, await sidewaysScroll(page)]).toEqual([place, 0])
        const shown = await page.locator('main').innerText()
        expect([place, /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(shown)]).toEqual([place, false])
        const hrefs = await page.locator('a').evaluateAll((links) => links.map((one) => one.getAttribute('href') ?? ''))
        expect([place, hrefs.filter((href) => !/^(#\/|https:\/\/[a-z.]+\/|\.\/api)/.test(href))]).toEqual([place, []])
        expect([place, await page.locator('main :is(img, script, iframe, object)').count()]).toEqual([place, 0])
      }
      expect(await page.evaluate(() => 'isHacked' in globalThis)).toBe(false)
      expect(opened.complaints).toEqual([])
    },
  )
})
