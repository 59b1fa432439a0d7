import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { dockerContext } from '../support/docker-context.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'

/** A folder instead of an image. Its paths are paths of the host. */
interface Image {
  readonly root: string
  workdir: string
  readonly env: Record<string, string>
  user: number
  volume: string
  command: readonly string[]
  healthcheck: readonly string[]
}

/** Commands of `RUN` with a faster replacement, called with the working directory. */
type Replacements = Readonly<Record<string, (workdir: string) => void>>

const imagePaths = /(?<![\w./])\/(app|data)\b/g

/**
 * Executes a Dockerfile without a container engine. The root of each stage is a folder in `dir`, and `RUN` runs on this machine with this
 * process's Node. The paths /app and /data refer to that folder. Throws for instructions that our Dockerfile doesn't have.
 */
function buildImage(context: string, dir: string, replacements: Replacements): Image {
  const roots = new Map<string, string>()
  let image: Image = { root: dir, workdir: dir, env: {}, user: 0, volume: '', command: [], healthcheck: [] }
  const apply: Readonly<Record<string, (text: string, written: string) => void>> = {
    FROM(_, written) {
      const name = / AS (\w+)$/.exec(written)?.[1] ?? 'final'
      const root = join(dir, name)
      mkdirSync(root, { recursive: true, mode: 0o755 })
      roots.set(name, root)
      image = { root, workdir: root, env: {}, user: 0, volume: '', command: [], healthcheck: [] }
    },
    WORKDIR(text) {
      image.workdir = text
      mkdirSync(text, { recursive: true })
    },
    ENV(text) {
      for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S*)/g)) image.env[name] = value
    },
    COPY(text, written) {
      const from = /^--from=(\w+)/.exec(written)?.[1]
      const sources = written.split(' ').slice(from === undefined ? 0 : 1, -1)
      const target = resolve(image.workdir, text.split(' ').at(-1) ?? '')
      for (const source of sources) {
        if (from !== undefined) copyInto(join(roots.get(from) ?? '', source), target, false)
        else if (source !== '.') copyInto(join(context, source), target, false)
        else for (const name of dockerContext(context)) copyInto(join(context, name), target, true)
      }
    },
    RUN(text, written) {
      const replacement = replacements[written]
      if (replacement !== undefined) return replacement(image.workdir)
      execFileSync('sh', ['-ec', text], {
        cwd: image.workdir,
        env: buildEnvironment(),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    },
    USER: (text) => void (image.user = Number(text.split(':')[0])),
    VOLUME: (text) => void (image.volume = text),
    CMD: (text) => void (image.command = JSON.parse(text) as string[]),
    HEALTHCHECK: (text) => void (image.healthcheck = JSON.parse(text.slice(text.indexOf('['))) as string[]),
    EXPOSE() {},
  }
  const lines = readFileSync(join(context, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
  for (const [, instruction = '', text = ''] of lines.matchAll(/^([A-Z]+) (.*)$/gm)) {
    const step = apply[instruction]
    if (step === undefined) throw new Error(`the instruction ${instruction} is not supported`)
    step(text.replaceAll(imagePaths, `${image.root}/$1`), text)
  }
  return image
}

/** Copies the content of a folder, or a file, into the target. One of several names of `.` keeps its name. */
function copyInto(source: string, target: string, keepsName: boolean): void {
  const to = keepsName || statSync(source).isFile() ? join(target, basename(source)) : target
  mkdirSync(dirname(to), { recursive: true })
  cpSync(source, to, { recursive: true, verbatimSymlinks: true })
}

/** This process's environment without the variables of the tests. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(?:NODE_ENV|NODE_OPTIONS|NODE_COMPILE_CACHE|VITEST.*|INBOX_.*)$/.test(name),
  )
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  // npm's cache has all packages.
  return { ...Object.fromEntries(entries), PATH: path, npm_config_prefer_offline: 'true' }
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

  beforeAll(async () => {
    chmodSync(dir, 0o755)
    const dist = await shared('dist')
    image = buildImage(join(import.meta.dirname, '../..'), dir, {
      'npm ci --ignore-scripts --no-audit --no-fund': () => {},
      'node .ci/build.mjs': (workdir) => cpSync(dist, join(workdir, 'dist'), { recursive: true }),
    })
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
    return spawnSync('unshare', argumentsFor(command), { cwd: image.workdir, env: environment(extra) }).status
  }

  /** Starts the image's command; resolves when it listens. */
  async function startImage(settings: Readonly<Record<string, string>> = {}) {
    const env = environment({ INBOX_SECRETS: secret, INBOX_PORT: '0', INBOX_ADMIN_PORT: '0', ...settings })
    const child = spawn('unshare', argumentsFor(image.command), {
      cwd: image.workdir,
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

  test('serves as user 1000 on a read-only root, handles an event, and keeps it across a restart', async () => {
    const { id } = eventSamples['wallet.large_trade']
    const handlers = join(dir, 'handlers')
    cpSync(join(import.meta.dirname, '../../handlers'), handlers, { recursive: true })
    await using first = await startImage({ INBOX_HANDLERS: handlers })
    expect(readFileSync(`/proc/${first.pid}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
    const health = await fetch(new URL('/healthz', first.webhook))
    expect([health.status, await health.json()]).toEqual([200, { status: 'alive' }])
    expect(await deliver(first.webhook)).toEqual({ code: 200, status: 'accepted', id })
    await until(() => /wallet\.large_trade .*ethereum/.test(first.output.text), 'the handled event')
    expect(await first.stop()).toBe(0)

    // The image brings no handlers.
    await using second = await startImage()
    expect(await deliver(second.webhook)).toEqual({ code: 200, status: 'duplicate', id })
    expect(await second.stop()).toBe(0)
  })

  test('its health check passes while it runs, and fails afterwards', async () => {
    await using running = await startImage()
    const port = new URL(running.adminUrl).port
    expect(runInImage(image.healthcheck, { INBOX_ADMIN_PORT: port })).toBe(0)
    await running.stop()
    expect(runInImage(image.healthcheck, { INBOX_ADMIN_PORT: port })).toBe(1)
  })

  test('has onchain-inbox on its PATH, and only its volume can be written', () => {
    expect(runInImage(['onchain-inbox', '--version'])).toBe(0)
    expect(runInImage(['touch', join(image.volume, 'note')])).toBe(0)
    expect(runInImage(['touch', join(image.workdir, 'note')])).not.toBe(0)
    expect(runInImage(['touch', join(dirname(dir), 'note')])).not.toBe(0)
  })

  test('holds the program and its packages, without build tools', () => {
    expect(readdirSync(image.workdir).toSorted()).toEqual([
      'LICENSE',
      'dist',
      'handlers',
      'node_modules',
      'package.json',
    ])
    const packages = readdirSync(join(image.workdir, 'node_modules'))
    expect(packages).toContain('better-sqlite3')
    expect(packages).not.toContain('typescript')
    expect(execFileSync('find', [image.workdir, '-perm', '/002', '-type', 'f']).toString()).toBe('')
  })
})
