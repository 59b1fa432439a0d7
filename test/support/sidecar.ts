import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { HandlerListJson } from '../../src/admin/handlers.ts'
import { testSecret } from './app.ts'
import { compileCache } from './compile-cache.ts'
import { ProcessOutput, type LogLine } from './process-output.ts'

export const testToken = 'admin-token-of-the-process-tests'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

/** `node src/cli.ts serve --json`. A test may put something before it: `['strace', '-f', ...serveCommand]`. */
export const serveCommand: readonly string[] = [process.execPath, cli, 'serve', '--json']

/** Environment for a first start: no compile cache. */
export const cold = { NODE_COMPILE_CACHE: undefined }

export interface SidecarOptions {
  /** Command to start. Default: `serve`. It must log a JSON line with `msg: 'listening'` and its `url`. */
  readonly command?: readonly string[]
  /** Environment variables in addition to the default ones; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The handlers folder: file name and source. */
  readonly handlers?: Readonly<Record<string, string>>
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** One process from its start to its end. */
export interface Life {
  readonly pid: number
  /** Milliseconds from the start to the log line `listening`; undefined if there was none. */
  readyMs: number | undefined
  /** Undefined while the process runs. */
  exit: Exit | undefined
}

const readyDeadlineMs = 30_000
/** Default timeout for a log line. */
const logDeadlineMs = 10_000

/**
 * A sidecar in a separate process and folder. A test can kill it and start it again on the same files. Disposing kills the
 * process and removes the folder.
 */
export class Sidecar implements AsyncDisposable {
  readonly dir: string
  readonly databaseFile: string
  /** File for handlers to write to; its path is in the environment variable EFFECTS. */
  readonly effectsFile: string
  readonly output = new ProcessOutput()
  readonly #options: SidecarOptions
  readonly #lives: Life[] = []
  #child: ChildProcess | undefined
  #exited: Promise<Exit> = Promise.resolve({ code: 0, signal: null })
  #startedAt = 0
  #listening: LogLine | undefined

  private constructor(dir: string, options: SidecarOptions) {
    this.dir = dir
    this.databaseFile = join(dir, 'inbox.db')
    this.effectsFile = join(dir, 'effects')
    this.#options = options
  }

  /** Creates the folder with its handlers, without starting the process. */
  static async create(options: SidecarOptions = {}): Promise<Sidecar> {
    const dir = await mkdtemp(join(tmpdir(), 'inbox-process-'))
    const handlers = join(dir, 'handlers')
    await mkdir(handlers)
    for (const [name, source] of Object.entries(options.handlers ?? {})) await writeFile(join(handlers, name), source)
    return new Sidecar(dir, options)
  }

  static async start(options: SidecarOptions = {}): Promise<Sidecar> {
    const sidecar = await Sidecar.create(options)
    try {
      await sidecar.start()
      return sidecar
    } catch (error) {
      await sidecar[Symbol.asyncDispose]()
      throw error
    }
  }

  /** URL for deliveries. Each start uses another port. */
  get url(): string {
    return String(this.#ready().url)
  }

  get adminUrl(): string {
    return String(this.#ready().adminUrl)
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** All processes so far, the current one last. */
  get lives(): readonly Life[] {
    return this.#lives
  }

  /** Starts the process and waits until it listens. `env` is added for this life only. */
  async start(env: SidecarOptions['env'] = {}): Promise<void> {
    this.launch(env)
    await this.ready()
  }

  /** Starts the process without waiting. */
  launch(env: SidecarOptions['env'] = {}): void {
    const [program = '', ...args] = this.#options.command ?? serveCommand
    this.#listening = undefined
    this.#startedAt = performance.now()
    // A separate process group, so that `kill` also ends the children of a wrapper such as strace.
    const child = spawn(program, args, { cwd: this.dir, env: this.#environment(env), detached: true })
    const life: Life = { pid: child.pid ?? 0, readyMs: undefined, exit: undefined }
    const killGroup = () => killAll(child)
    process.once('exit', killGroup)
    this.#child = child
    this.#lives.push(life)
    this.output.attach(child)
    this.#exited = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        process.off('exit', killGroup)
        life.exit = { code, signal }
        resolve(life.exit)
      })
    })
    this.#exited.catch(() => {})
  }

  /** Waits until the process listens. Throws an error with its output if it ends first. */
  async ready(): Promise<void> {
    const life = this.#lives.at(-1)
    this.#listening = await this.log('listening', readyDeadlineMs)
    if (life !== undefined) life.readyMs = performance.now() - this.#startedAt
  }

  /** Starts the process and waits until it ends by itself. */
  async run(env: SidecarOptions['env'] = {}): Promise<Exit> {
    this.launch(env)
    return this.exited()
  }

  /** Waits for the first log line of the current process with this message. */
  log(message: string, deadlineMs = logDeadlineMs): Promise<LogLine> {
    return this.output.waitFor((line) => line.msg === message, `a log line "${message}"`, deadlineMs)
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name)
  }

  /** Resolves when the process has ended and its output has been read. */
  exited(): Promise<Exit> {
    return this.#exited
  }

  /** Closes the pipes of its output, like a crashed log collector. */
  stopReading(): void {
    this.#child?.stdout?.destroy()
    this.#child?.stderr?.destroy()
  }

  /** Sends SIGTERM and waits until the process ends. */
  async stop(): Promise<Exit> {
    this.signal('SIGTERM')
    return this.exited()
  }

  /** Kills the process and its children with SIGKILL. */
  async kill(): Promise<void> {
    if (this.#child) killAll(this.#child)
    await this.#exited
  }

  /** Sends a request to the admin API. `path`: such as `events?limit=10`. */
  admin(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.adminUrl}/api/v1/${path}`, {
      ...init,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${testToken}` },
    })
  }

  /** Resolves when there are no open runs. Throws if their number has not fallen for `stalledMs`. */
  async drained(stalledMs = 60_000): Promise<void> {
    let before = Infinity
    let deadline = 0
    for (let open = await this.#openRuns(); open > 0; open = await this.#openRuns()) {
      const now = performance.now()
      if (open < before) deadline = now + stalledMs
      if (now > deadline) throw new Error(`${open} runs are open, and not fewer after ${stalledMs} ms`)
      before = open
      await delay(50)
    }
  }

  async #openRuns(): Promise<number> {
    const response = await this.admin('handlers')
    if (!response.ok)
      throw new Error(`the admin API answered ${response.status}: ${await response.text()}\n${this.output.text}`)
    const { data } = (await response.json()) as HandlerListJson
    return data.reduce((sum, { waiting, ready, suspect, running }) => sum + waiting + ready + suspect + running, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill().catch(() => {})
    await rm(this.dir, { recursive: true, force: true })
  }

  #ready(): LogLine {
    if (this.#listening === undefined) throw new Error('the process was not started, or is not ready')
    return this.#listening
  }

  #environment(env: SidecarOptions['env']): NodeJS.ProcessEnv {
    return {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:INBOX_|VITEST|NODE_)/.test(name))),
      NODE_COMPILE_CACHE: compileCache,
      INBOX_SECRETS: testSecret,
      INBOX_ADMIN_TOKEN: testToken,
      INBOX_PORT: '0',
      INBOX_ADMIN_PORT: '0',
      INBOX_DATABASE_URL: `sqlite:${this.databaseFile}`,
      INBOX_HANDLERS: join(this.dir, 'handlers'),
      EFFECTS: this.effectsFile,
      ...this.#options.env,
      ...env,
    }
  }
}

function killAll(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The process has ended in the meantime.
  }
}
