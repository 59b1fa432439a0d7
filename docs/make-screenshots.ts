// Makes docs/images/console-*.png from a console of the demo: npm run build, then node docs/make-screenshots.ts [seconds]
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, Page } from 'playwright-core'
import { demoCredentials } from '../src/base/demo-credentials.ts'
import { launchBrowser } from '../test/support/browser.ts'
import { toPalettePng } from './palette-png.ts'

interface Shot {
  readonly name: string
  readonly path: string | ((page: Page) => Promise<string>)
  /** Selector of an element that must be visible first. */
  readonly waitFor: string
}

/** As the demo prints it. */
interface Listening {
  readonly adminUrl: string
  readonly controlUrl: string
}

const root = join(import.meta.dirname, '..')
const images = join(root, 'docs/images')
/** How long the demo runs before the first screenshot. */
const seconds = Number(process.argv[2] ?? 150)
const burstMs = 700

const row = '.ui-table tbody tr[data-index]'
const shots: readonly Shot[] = [
  { name: 'console-overview', path: '/', waitFor: 'main canvas' },
  { name: 'console-events', path: findEvent, waitFor: '.ui-sidepanel dl' },
  { name: 'console-dead-letters', path: '/dead-letters', waitFor: row },
  { name: 'console-handlers', path: '/handlers', waitFor: row },
]

await main()

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'inbox-screenshots-'))
  const demo = spawn(process.execPath, [join(root, 'src/cli.ts'), 'demo', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const listening = await untilListening(demo)
    await makeEvents(listening)
    const browser = await launchBrowser(['--hide-scrollbars'])
    try {
      await mkdir(images, { recursive: true })
      for (const shot of shots) await take(browser, listening.adminUrl, shot)
    } finally {
      await browser.close()
    }
  } finally {
    const ended = demo.exitCode === null ? once(demo, 'exit') : null
    demo.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
}

/** The rest of what the demo prints is read as well, so that it never waits for a reader. */
function untilListening(demo: ChildProcess): Promise<Listening> {
  return new Promise((resolve, reject) => {
    demo.once('exit', (code) => reject(new Error(`expected the demo to listen, it ended with ${code}`)))
    if (demo.stdout === null) return reject(new Error('expected to read what the demo prints'))
    createInterface({ input: demo.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as { readonly msg: string } & Listening
      if (entry.msg === 'listening') resolve(entry)
    })
  })
}

/** Lets the world run, with a few events more of each kind than arise by themselves. */
async function makeEvents({ controlUrl }: Listening): Promise<void> {
  const types = [
    'wallet.large_trade',
    'token.price_alert',
    'wallet.large_trade',
    'wallet.new_position',
    'pump.graduation',
  ]
  const bursts = Math.ceil((seconds * 1000) / burstMs)
  for (let burst = 0; burst < bursts; burst++) {
    const response = await fetch(`${controlUrl}/trigger`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${demoCredentials.controlToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ type: types[burst % types.length], count: 1 + (burst % 4) }),
    })
    // The world refuses a trigger now and then, such as a price alert soon after the last one.
    if (response.status >= 500) throw new Error(`the emulator answered ${await response.text()}`)
    await new Promise((resolve) => setTimeout(resolve, burstMs))
  }
}

async function take(browser: Browser, adminUrl: string, shot: Shot): Promise<void> {
  const { name, path, waitFor } = shot
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
    locale: 'en-US',
  })
  const page = await context.newPage()
  await page.goto(adminUrl)
  await page.getByLabel('Token', { exact: true }).fill(demoCredentials.adminToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  const place = typeof path === 'string' ? path : await path(page)
  await page.goto(`${new URL(adminUrl).origin}/#${place}`)
  await page.locator(waitFor).first().waitFor()
  // Charts and lists are drawn once their answers are there.
  await page.waitForTimeout(1_500)
  const png = toPalettePng(await page.screenshot({ type: 'png' }))
  await writeFile(join(images, `${name}.png`), png)
  process.stdout.write(`docs/images/${name}.png: ${Math.round(png.length / 1024)} KiB\n`)
  await context.close()
}

/** The newest large trade: it has amounts, addresses and runs to show. */
async function findEvent(page: Page): Promise<string> {
  const found = await page.evaluate(async () => {
    const response = await fetch('./api/v1/events?type=wallet.large_trade&limit=1')
    return (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  })
  const [event] = found.data
  if (event === undefined) throw new Error('expected a large trade among the events: let it run for longer')
  return `/events?open=${encodeURIComponent(event.id)}`
}
