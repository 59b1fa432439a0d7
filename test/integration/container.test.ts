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
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { dockerContext } from '../support/docker-context.ts'
import { shared } from '../support/shared.ts'

/** What a Dockerfile makes, in a folder instead of an image. Paths inside it are those of the host. */
interface Image {
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly user: number
  readonly volume: string
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
}

interface Stage {
  readonly root: string
  workdir: string
  readonly env: Record<string, string>
  user: number
  volume: string
  command: readonly string[]
  healthcheck: readonly string[]
}

/** Commands of `RUN`, and what to do in their place with the working directory. */
type Done = Readonly<Record<string, (workdir: string) => void>>

const imagePaths = /(?<![\w./])\/(app|data)\b/g

/**
 * Does what a Dockerfile says, step by step, without a container engine: each stage gets a folder of `dir` as its root, `RUN`
 * runs on this machine with this process's Node, and the paths /app and /data mean those of the stage's folder. Understands
 * the instructions that our Dockerfile has, and throws at any other. `done` does what certain commands would do in less time.
 */
function buildImage(context: string, { dir, done }: { readonly dir: string; readonly done: Done }): Image {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const [instruction, text] of readSteps(join(context, 'Dockerfile'))) {
    if (instruction === 'FROM') {
      const name = / AS (\w+)$/.exec(text)?.[1] ?? 'final'
      stage = newStage(join(dir, name))
      stages.set(name, stage)
    } else if (stage) apply(stage, { instruction, text, context, stages, done })
  }
  if (!stage) throw new Error('the Dockerfile has no FROM')
  return stage
}

function readSteps(file: string): (readonly [instruction: string, text: string])[] {
  const lines = readFileSync(file, 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, instruction = '', text = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
      return [instruction, text] as const
    })
}

function newStage(root: string): Stage {
  mkdirSync(root, { recursive: true, mode: 0o755 })
  return { root, workdir: root, env: {}, user: 0, volume: '', command: [], healthcheck: [] }
}

interface Step {
  readonly instruction: string
  readonly text: string
  readonly context: string
  readonly stages: ReadonlyMap<string, Stage>
  readonly done: Done
}

function apply(stage: Stage, step: Step): void {
  const text = step.text.replaceAll(imagePaths, `${stage.root}/$1`)
  switch (step.instruction) {
    case 'WORKDIR':
      stage.workdir = text
      mkdirSync(text, { recursive: true })
      return
    case 'ENV':
      for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S*)/g)) stage.env[name] = value
      return
    case 'COPY':
      copy(stage, step)
      return
    case 'RUN':
      if (step.done[step.text] !== undefined) return step.done[step.text]?.(stage.workdir)
      execFileSync('sh', ['-ec', text], {
        cwd: stage.workdir,
        env: buildEnvironment(),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      return
    case 'USER':
      stage.user = Number(text.split(':')[0])
      return
    case 'VOLUME':
      stage.volume = text
      return
    case 'CMD':
      stage.command = JSON.parse(text) as string[]
      return
    case 'HEALTHCHECK':
      stage.healthcheck = JSON.parse(text.slice(text.indexOf('['))) as string[]
      return
    case 'EXPOSE':
      return
    default:
      throw new Error(`the instruction ${step.instruction} is not understood`)
  }
}

function copy(stage: Stage, { text, context, stages }: Step): void {
  const parts = text.split(' ')
  const from = /^--from=(\w+)$/.exec(parts[0] ?? '')?.[1]
  const target = resolve(stage.workdir, parts.at(-1) ?? '')
  for (const source of parts.slice(from === undefined ? 0 : 1, -1)) {
    if (from === undefined) {
      for (const name of source === '.' ? dockerContext(context) : [source])
        copyInto(join(context, name), target, name !== source)
    } else copyInto(join(stages.get(from)?.root ?? '', source), target, false)
  }
}

/** A folder's content goes into the target, a file too; as one of several names of `.` a folder keeps its name. */
function copyInto(source: string, target: string, keepsName: boolean): void {
  const to = keepsName || statSync(source).isFile() ? join(target, basename(source)) : target
  mkdirSync(dirname(to), { recursive: true })
  cpSync(source, to, { recursive: true, verbatimSymlinks: true })
}

/** That of this process, without what belongs to the tests. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(?:NODE_ENV|NODE_OPTIONS|NODE_COMPILE_CACHE|VITEST.*|INBOX_.*)$/.test(name),
  )
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  // Everything was installed a moment ago: what is in npm's cache need not be asked for again.
  return { ...Object.fromEntries(entries), PATH: path, npm_config_prefer_offline: 'true' }
}

const canContain =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', '--propagation', 'private', 'setpriv', '--version']).status === 0

// In a mount namespace of its own: everything read-only but the volume, as user 1000 without any capability.
const contained = `
  mount --bind "$IMAGE_ROOT" "$IMAGE_ROOT"
  mount --bind "$IMAGE_VOLUME" "$IMAGE_VOLUME"
  mount -o remount,bind,ro "$IMAGE_ROOT"
  mount -o remount,bind,ro /
  exec setpriv --reuid="$IMAGE_USER" --regid="$IMAGE_USER" --clear-groups --no-new-privs --bounding-set=-all "$@"`

const secret = 'a-secret-of-the-container-test'
const body = Buffer.from(JSON.stringify(eventSamples['wallet.large_trade']))

describe.skipIf(!canContain)('the container image, its steps done by script (needs root and unshare)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'inbox-image-'))
  let image: Image

  beforeAll(async () => {
    chmodSync(dir, 0o755)
    const dist = await shared('dist')
    image = buildImage(join(import.meta.dirname, '../..'), {
      dir,
      done: {
        'npm ci --ignore-scripts --no-audit --no-fund': () => {},
        'node .ci/build.mjs': (workdir) => cpSync(dist, join(workdir, 'dist'), { recursive: true }),
      },
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
    const exited = once(child, 'exit').then(([code]: unknown[]) => code)
    const lines: string[] = []
    const waiting = new Map<string, (line: string) => void>()
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      for (const [text, resolve] of waiting) if (line.includes(text)) resolve(line)
    })
    /** The first line that contains the text. */
    const line = (text: string) =>
      Promise.race([
        new Promise<string>((resolve) => {
          const seen = lines.find((known) => known.includes(text))
          if (seen === undefined) waiting.set(text, resolve)
          else resolve(seen)
        }),
        exited.then((code) => Promise.reject(new Error(`it ended with ${String(code)} before "${text}"`))),
      ])
    const stop = async () => {
      child.kill('SIGTERM')
      return exited
    }
    const dispose = async () => {
      child.kill('SIGKILL')
      await exited
    }
    const listening = await line('"msg":"listening"').catch(async (error: unknown) => {
      await dispose()
      throw error
    })
    const { url, adminUrl } = JSON.parse(listening) as { url: string; adminUrl: string }
    const webhook = new URL(url.replace('0.0.0.0', '127.0.0.1'))
    return { pid: child.pid ?? 0, webhook, adminUrl, line, stop, [Symbol.asyncDispose]: dispose }
  }

  async function deliver(webhook: URL): Promise<unknown> {
    const headers = { 'X-Service-Signature': sign(body, secret) }
    const response = await fetch(webhook, { method: 'POST', body, headers })
    return { code: response.status, ...((await response.json()) as object) }
  }

  test('serves as user 1000 on a read-only root, handles an event, and knows it again after a stop', async () => {
    const { id } = eventSamples['wallet.large_trade']
    const handlers = join(dir, 'handlers')
    cpSync(join(import.meta.dirname, '../../handlers'), handlers, { recursive: true })
    await using first = await startImage({ INBOX_HANDLERS: handlers })
    expect(readFileSync(`/proc/${first.pid}/status`, 'utf8')).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m)
    const health = await fetch(new URL('/healthz', first.webhook))
    expect([health.status, await health.json()]).toEqual([200, { status: 'alive' }])
    expect(await deliver(first.webhook)).toEqual({ code: 200, status: 'accepted', id })
    expect(await first.line('wallet.large_trade ')).toContain('ethereum')
    expect(await first.stop()).toBe(0)

    // Without handlers of the user's it has none.
    await using second = await startImage()
    expect(await deliver(second.webhook)).toEqual({ code: 200, status: 'duplicate', id })
    expect(await second.stop()).toBe(0)
  })

  test('its health check passes while it is alive, and fails when nothing answers', async () => {
    await using running = await startImage()
    const port = new URL(running.adminUrl).port
    expect(runInImage(image.healthcheck, { INBOX_ADMIN_PORT: port })).toBe(0)
    await running.stop()
    expect(runInImage(image.healthcheck, { INBOX_ADMIN_PORT: port })).toBe(1)
  })

  test('has onchain-inbox on its PATH', () => {
    expect(runInImage(['onchain-inbox', '--version'])).toBe(0)
  })

  test('nothing but the volume can be written', () => {
    expect(runInImage(['touch', join(image.volume, 'note')])).toBe(0)
    expect(runInImage(['touch', join(image.workdir, 'note')])).not.toBe(0)
    expect(runInImage(['touch', join(dirname(dir), 'note')])).not.toBe(0)
  })

  test('it holds what runs and nothing of what builds', () => {
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
