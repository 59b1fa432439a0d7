import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')

/** The instructions of each stage of the Dockerfile. */
const stages = readFileSync(join(root, 'Dockerfile'), 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split(/^FROM .*\n/m)
  .slice(1)
  .map((stage) => [...stage.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name = '', text = '']) => [name, text] as const))

/** A folder instead of an image. Its paths are paths of the host. */
interface Image {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly user: number
  readonly volume: string
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
}

/**
 * Executes all stages but the first without a container engine: the first one builds `dist`, which tests share. `RUN` runs on this
 * machine with this process's Node. The paths /app and /data refer to the folder of the stage.
 */
function buildImage(dir: string, dist: string): Image {
  const folders: Record<string, string> = { build: join(dir, 'build'), packages: join(dir, 'packages') }
  cpSync(dist, join(dir, 'build/app/dist'), { recursive: true })
  const final = join(dir, 'final')
  for (const [index, folder] of [join(dir, 'packages'), final].entries()) {
    const app = join(folder, 'app')
    mkdirSync(app, { recursive: true })
    for (const [name, text] of stages[index + 1] ?? []) {
      if (name === 'RUN') {
        const command = text.replaceAll(/(?<![\w./])\/(app|data)\b/g, `${folder}/$1`)
        execFileSync('sh', ['-ec', command], { cwd: app, env: buildEnvironment, stdio: ['ignore', 'ignore', 'pipe'] })
      }
      if (name !== 'COPY') continue
      const [, from, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(text) ?? []
      const [target = '', ...sources] = paths.split(' ').toReversed()
      for (const source of sources) {
        const to = join(app, target, from === undefined ? source : '')
        cpSync(join(from === undefined ? root : (folders[from] ?? ''), source), to, {
          recursive: true,
          verbatimSymlinks: true,
        })
      }
    }
  }
  const textOf = (name: string) => stages.at(-1)?.find(([known]) => known === name)?.[1] ?? ''
  const inImage = (text: string) => text.replaceAll(/(?<![\w./])\/(app|data)\b/g, `${final}/$1`)
  return {
    root: final,
    env: Object.fromEntries(
      [...inImage(textOf('ENV')).matchAll(/(\w+)=(\S*)/g)].map(([, name, value]) => [name, value]),
    ),
    user: Number(textOf('USER').split(':')[0]),
    volume: inImage(textOf('VOLUME')),
    command: JSON.parse(textOf('CMD')) as string[],
    healthcheck: JSON.parse(/\[.*/.exec(textOf('HEALTHCHECK'))?.[0] ?? '') as string[],
  }
}

/** npm's cache has all packages. */
const buildEnvironment = {
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  HOME: process.env['HOME'],
  npm_config_prefer_offline: 'true',
}

const canContain =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', '--propagation', 'private', 'setpriv', '--version']).status === 0

// Runs in a separate mount namespace: everything is read-only except the volume, as user 1000 without capabilities.
const contained = `
  mount --bind "$IMAGE_ROOT" "$IMAGE_ROOT"
  mount --bind "$IMAGE_VOLUME" "$IMAGE_VOLUME"
  mount -o remount,bind,ro "$IMAGE_ROOT"
  mount -o remount,bind,ro /
  exec setpriv --reuid="$IMAGE_USER" --regid="$IMAGE_USER" --clear-groups --no-new-privs --bounding-set=-all "$@"`

const secret = 'a-secret-of-the-container-test'
const body = Buffer.from(JSON.stringify(eventSamples['wallet.large_trade']))

describe.skipIf(!canContain)('the container image (needs root and unshare)', { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'inbox-image-'))
  let image: Image
  const workdir = join(dir, 'final/app')

  beforeAll(async () => {
    chmodSync(dir, 0o755)
    image = buildImage(dir, await shared('dist'))
    // The node of the base image, where user 1000 can run it.
    mkdirSync(join(image.root, 'usr/local/bin'), { recursive: true })
    copyFileSync(process.execPath, join(image.root, 'usr/local/bin/node'))
  }, 300_000)
  afterAll(() => rmSync(dir, { recursive: true, force: true }), 300_000)

  function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      ...image.env,
      PATH: `${join(image.root, 'usr/local/bin')}:${image.env['PATH']}`,
      IMAGE_ROOT: image.root,
      IMAGE_VOLUME: image.volume,
      IMAGE_USER: String(image.user),
      ...extra,
    }
  }

  function argumentsFor(command: readonly string[]): readonly string[] {
    return ['--mount', '--propagation', 'private', 'sh', '-ec', contained, 'sh', ...command]
  }

  /** Runs a command in the image to its end; gives its exit code. */
  function runInImage(command: readonly string[], extra: Readonly<Record<string, string>> = {}): number | null {
    return spawnSync('unshare', argumentsFor(command), { cwd: workdir, env: environment(extra) }).status
  }

  /** Starts the image's command; resolves when it listens. */
  async function startImage(settings: Readonly<Record<string, string>> = {}) {
    const env = environment({ INBOX_SECRETS: secret, INBOX_PORT: '0', INBOX_ADMIN_PORT: '0', ...settings })
    const child = spawn('unshare', argumentsFor(image.command), {
      cwd: workdir,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const output = new ProcessOutput()
    output.attach(child)
    const exited = once(child, 'exit').then(([code]: unknown[]) => code)
    const end = (signal: NodeJS.Signals) => {
      child.kill(signal)
      return exited
    }
    await using stack = new AsyncDisposableStack()
    stack.defer(async () => void (await end('SIGKILL')))
    const { url, adminUrl } = await output.waitFor(({ msg }) => msg === 'listening', 'the image to listen', 60_000)
    const webhook = new URL(String(url).replace('0.0.0.0', '127.0.0.1'))
    const owned = stack.move()
    const dispose = () => owned.disposeAsync()
    const stop = () => end('SIGTERM')
    return { pid: child.pid ?? 0, output, webhook, adminUrl: String(adminUrl), stop, [Symbol.asyncDispose]: dispose }
  }

  async function deliver(webhook: URL): Promise<unknown> {
    const headers = { 'X-Service-Signature': sign(body, secret) }
    const response = await fetch(webhook, { method: 'POST', body, headers })
    return { code: response.status, ...((await response.json()) as object) }
  }

  test('serves as user 1000 on a read-only root, handles an event, keeps it across a restart, and its health check fails in between', async () => {
    const { id } = eventSamples['wallet.large_trade']
    const handlers = join(dir, 'handlers')
    cpSync(join(root, 'handlers'), handlers, { recursive: true })
    await using first = await startImage({ INBOX_HANDLERS: handlers })
    expect(readFileSync(`/proc/${first.pid}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
    const health = await fetch(new URL('/healthz', first.webhook))
    expect([health.status, await health.json()]).toEqual([200, { status: 'alive' }])
    expect(await deliver(first.webhook)).toEqual({ code: 200, status: 'accepted', id })
    await until(() => /wallet\.large_trade .*ethereum/.test(first.output.text), 'the handled event')
    const port = { INBOX_ADMIN_PORT: new URL(first.adminUrl).port }
    expect(runInImage(image.healthcheck, port)).toBe(0)
    expect(await first.stop()).toBe(0)
    expect(runInImage(image.healthcheck, port)).toBe(1)

    // The image brings no handlers.
    await using second = await startImage()
    expect(await deliver(second.webhook)).toEqual({ code: 200, status: 'duplicate', id })
    expect(await second.stop()).toBe(0)
  })

  test('has onchain-inbox on its PATH, and only its volume can be written', () => {
    expect(runInImage(['onchain-inbox', '--version'])).toBe(0)
    expect(runInImage(['touch', join(image.volume, 'note')])).toBe(0)
    expect(runInImage(['touch', join(workdir, 'note')])).not.toBe(0)
    expect(runInImage(['touch', join(dirname(dir), 'note')])).not.toBe(0)
  })

  test('holds the program and its packages, without build tools', () => {
    expect(readdirSync(workdir).toSorted()).toEqual(['LICENSE', 'dist', 'handlers', 'node_modules', 'package.json'])
    const packages = readdirSync(join(workdir, 'node_modules'))
    expect(packages).toContain('better-sqlite3')
    expect(packages).not.toContain('typescript')
    expect(execFileSync('find', [workdir, '-perm', '/002', '-type', 'f']).toString()).toBe('')
  })
})
