import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { launchBrowserServer } from './support/browser.ts'
import { startPostgres } from './support/postgres.ts'
import { createTempDir } from './support/temp-dir.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server with one path per thing that test files share. */
    readonly shared: string
  }
}

const root = join(import.meta.dirname, '..')

/** Things that are slow to start: started once per run, when the first test file asks for them. Each is given to tests as a text. */
const starts = {
  /** The URL of a database. */
  async postgres(stack: AsyncDisposableStack): Promise<string> {
    return stack.use(await startPostgres()).createDatabase('shared')
  },
  /** The WebSocket endpoint of a Chromium. */
  async chromium(stack: AsyncDisposableStack): Promise<string> {
    const server = await launchBrowserServer()
    stack.defer(() => server.close())
    return server.wsEndpoint()
  },
  /** The folder of the built page. */
  console: (stack: AsyncDisposableStack) => buildPage('console', stack),
  dashboard: (stack: AsyncDisposableStack) => buildPage('dashboard', stack),
}

export type SharedThing = keyof typeof starts

export default async function setUp({ provide }: TestProject): Promise<() => Promise<void>> {
  const stack = new AsyncDisposableStack()
  const started = new Map<string, Promise<string>>()
  const gate = createServer(({ url = '' }, response) => {
    const name = url.slice(1) as SharedThing
    const text = started.get(name) ?? starts[name](stack)
    started.set(name, text)
    text.then(
      (value) => response.end(value),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  provide('shared', `http://127.0.0.1:${(gate.address() as AddressInfo).port}`)
  return async () => {
    gate.close()
    await Promise.allSettled(started.values())
    await stack.disposeAsync()
  }
}

/** Builds a page as `npm run build` does. */
async function buildPage(page: string, stack: AsyncDisposableStack): Promise<string> {
  const folder = stack.use(await createTempDir()).path
  const config = ['--config', `src/web/${page}/vite.config.ts`, '--outDir', folder, '--emptyOutDir']
  await promisify(execFile)(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...config], {
    cwd: root,
    // Vitest sets NODE_ENV=test, which builds React for development.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  return folder
}
