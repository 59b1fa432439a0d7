import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
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
    /** URL of a server with one path per shared resource. A GET starts the resource and returns its URL or folder. */
    readonly shared: string
  }
}

export type SharedThing = 'postgres' | 'chromium' | 'dist' | 'console' | 'dashboard'

const root = join(import.meta.dirname, '..')

/** Resources that are slow to start. Each starts once per test run, on first use, and is identified by its URL or folder. */
class SharedThings implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack()
  readonly #started = new Map<SharedThing, Promise<string>>()

  get(name: SharedThing): Promise<string> {
    const text = this.#started.get(name) ?? this.#start(name)
    this.#started.set(name, text)
    return text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#started.values())
    await this.#stack.disposeAsync()
  }

  async #start(name: SharedThing): Promise<string> {
    switch (name) {
      case 'postgres': // The URL of a database.
        // One hash iteration, because every test opens connections and test passwords need no protection.
        return this.#stack.use(await startPostgres({ settings: { scram_iterations: '1' } })).createDatabase('shared')
      case 'chromium': {
        const server = await launchBrowserServer()
        this.#stack.defer(() => server.close())
        return server.wsEndpoint()
      }
      case 'dist': // The folder of a build from the files in the Docker build context.
        return build(this.#stack.use(await createTempDir()).path)
      case 'console':
      case 'dashboard': // The folder of the built page.
        return join(await this.get('dist'), 'src/web', name)
    }
  }
}

export default async function setUp({ provide }: TestProject): Promise<() => Promise<void>> {
  const things = new SharedThings()
  const gate = createServer(({ url = '' }, response) => {
    things.get(url.slice(1) as SharedThing).then(
      (value) => response.end(value),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  provide('shared', `http://127.0.0.1:${(gate.address() as AddressInfo).port}`)
  return async () => {
    gate.close()
    await things[Symbol.asyncDispose]()
  }
}

async function build(folder: string): Promise<string> {
  for (const name of dockerContext()) await cp(join(root, name), join(folder, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await promisify(execFile)(process.execPath, ['.ci/build.mjs'], { cwd: folder })
  return join(folder, 'dist')
}

/** Names that .dockerignore includes. Ours excludes everything and includes single names. */
function dockerContext(): string[] {
  const [first, ...others] = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
  if (first !== '*' || others.some((line) => !/^![\w.-]+$/.test(line))) {
    throw new Error('.dockerignore: expected * and then names after !')
  }
  return others.map((line) => line.slice(1))
}
