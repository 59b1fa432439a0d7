import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startApp } from '../../src/app/app.ts'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { SettingName } from '../../src/config/settings.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { createTempDir } from './temp-dir.ts'

export const testSecret = 'the-secret-of-the-tests'
const adminToken = 'the-admin-token-of-the-tests'

export interface TestAppOptions {
  /** Overrides of the defaults: one secret, a token, free ports, `memory:`, a silent log. */
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>
  /** Source text of handler files by name. */
  readonly handlers?: Readonly<Record<string, string>>
  /** Working folder; default: a temporary one. */
  readonly dir?: string
  readonly log?: Logger
  readonly clock?: Clock
}

export type TestApp = Awaited<ReturnType<typeof startTestApp>>

/** A database file, which outlives the app if `dir` is given. */
export const sqliteUrl = 'sqlite:./inbox.db'

/** Starts the whole app as `serve` does. `await using app = await startTestApp()` stops it and removes its folder. */
export async function startTestApp(options: TestAppOptions = {}) {
  const { settings = {}, handlers = {}, log = silentLogger, clock = systemClock } = options
  await using opened = new AsyncDisposableStack()
  const dir = options.dir ?? opened.use(await createTempDir()).path

  const handlersDir = join(dir, 'handlers')
  await mkdir(handlersDir, { recursive: true })
  for (const [name, source] of Object.entries(handlers)) await writeFile(join(handlersDir, name), source)

  const config = await loadConfig({ env: { ...defaultsFor(settings), ...settings }, cwd: dir })
  const app = await startApp({ config, log, clock, prettyLog: false, onFailure: () => {} })
  opened.defer(() => app.stop())

  const owned = opened.move()
  return {
    ...app,
    config,
    dir,
    /** Port of the webhook endpoint. */
    port: Number(new URL(app.url).port),
    adminPort: Number(new URL(app.adminUrl).port),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function defaultsFor(settings: NonNullable<TestAppOptions['settings']>): Partial<Record<SettingName, string>> {
  return {
    ...(settings.INBOX_SECRETS_FILE === undefined && { INBOX_SECRETS: `main:${testSecret}` }),
    ...(settings.INBOX_ADMIN_TOKEN_FILE === undefined && { INBOX_ADMIN_TOKEN: adminToken }),
    INBOX_PORT: '0',
    INBOX_ADMIN_PORT: '0',
    INBOX_DATABASE_URL: 'memory:',
    INBOX_HANDLERS: './handlers',
    INBOX_LOG_LEVEL: 'silent',
  }
}
