import { once } from 'node:events'
import { existsSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { adminTokenFile } from '../admin/token-file.ts'
import { systemClock } from '../base/clock.ts'
import { rawEvent } from '../admin/events.ts'
import type { AdminContext } from '../admin/route.ts'
import { callOperation, type AdminCalls, operations, type AnswerOf } from '../admin/routes.ts'
import type { DatabaseSetting } from '../config/values.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { InboxError } from '../base/errors.ts'
import { createSqliteInbox } from '../inbox/sqlite/inbox.ts'
import { readAsEvent } from '../receiver/readers.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { resolveSources, type SourceSettings } from '../sources/settings.ts'
import { segment } from './arguments.ts'
import { fromCwd } from './host.ts'
import { createServerCalls, type ServerKind } from './server-call.ts'
import { readSettings, type ConfigOption } from './settings.ts'
import { parseExactJson } from '../base/exact-json.ts'

export interface InboxCallsOptions extends ConfigOption {
  /** If set, only this sidecar is used: no file is opened. */
  readonly adminUrl?: string
  /** Handlers that a sidecar would load, for a file that is opened here. */
  readonly handlers?: readonly HandlerInfo[]
}

/** The admin API of a running sidecar, or the same calls on the database file. */
export interface InboxCalls extends AdminCalls {
  /** True when a running sidecar owns the database and executes its runs. */
  readonly isLive: boolean
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * Opens the inbox of the settings: through the admin API of a running sidecar, otherwise from the database file, if no process
 * serves it. Never creates a file.
 *
 * @throws InboxError `admin_unreachable` if a process holds the file and its admin API doesn't answer
 */
export async function openInboxCalls(options: InboxCallsOptions): Promise<InboxCalls> {
  const { url, token, database, sources } = await readNeeded(options)
  const connect = (secret: string) => ({
    ...createAdminClient(url, secret),
    isLive: true,
    close: async () => {},
  })

  if (options.adminUrl !== undefined) return connect(token ?? (await readTokenFile(database)))
  if (token !== undefined && (await isSidecarAt(url))) return connect(token)

  const opened = database.kind === 'sqlite' ? await openFile(database.file, url, { ...options, sources }) : 'in use'
  if (opened !== 'in use') return opened
  if (!(await isSidecarAt(url))) throw unreachable(url, database)
  // Send the token file's content only while a process holds the database: else another program may own the port.
  return connect(await readTokenFile(database))
}

const neededSettings = [
  'INBOX_ADMIN_HOST',
  'INBOX_ADMIN_PORT',
  'INBOX_ADMIN_TOKEN',
  'INBOX_DATABASE_URL',
  'INBOX_SOURCES',
] as const

/** Reads only the settings needed here: no webhook secret is required. */
async function readNeeded(options: InboxCallsOptions) {
  const values = await readSettings(neededSettings, options)
  const { INBOX_ADMIN_TOKEN: token, INBOX_DATABASE_URL: database, INBOX_SOURCES: sources = {} } = values
  return {
    url: options.adminUrl ?? urlOf(values.INBOX_ADMIN_HOST, values.INBOX_ADMIN_PORT),
    token,
    database: database.kind === 'sqlite' ? { kind: database.kind, file: fromCwd(database.file) } : database,
    sources: resolveSources(sources, []).sources,
  }
}

/** URL of a port on this machine that listens at `address`. */
export function urlOf(address: string, port: number, protocol: 'http' | 'https' = 'http'): string {
  const name = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `${protocol}://${name.includes(':') ? `[${name}]` : name}:${port}`
}

async function openFile(
  file: string,
  url: string,
  { handlers, sources }: Pick<InboxCallsOptions, 'handlers'> & { readonly sources: readonly SourceSettings[] },
): Promise<InboxCalls | 'in use'> {
  if (!existsSync(file)) {
    throw new InboxError(
      'not_found',
      `no database at ${file} and no sidecar at ${url}: set INBOX_DATABASE_URL, or --admin-url`,
    )
  }
  try {
    const inbox = await createSqliteInbox({ file })
    const context: AdminContext = {
      inbox,
      readEvent: (body) => readAsEvent(body, sources),
      now: () => systemClock.now(),
      ...(handlers && { handlers: () => handlers }),
    }
    return {
      call: (id, request) => callOperation(context, id, request),
      rawEvent: (id) => rawEvent(context, id),
      isLive: false,
      close: () => inbox.close(),
    }
  } catch (error) {
    if (error instanceof InboxError && error.code === 'database_in_use') return 'in use'
    throw error
  }
}

async function readTokenFile(database: DatabaseSetting): Promise<string> {
  const file = database.kind === 'sqlite' ? adminTokenFile(database.file) : undefined
  if (file !== undefined && existsSync(file)) return readSecretFile(file)
  throw new InboxError(
    'unauthorized',
    `the admin API needs a token${file === undefined ? '' : `, and ${file} doesn't exist`}: set INBOX_ADMIN_TOKEN or ` +
      'INBOX_ADMIN_TOKEN_FILE to the token of the sidecar',
  )
}

function unreachable(url: string, database: DatabaseSetting): InboxError {
  const advice = 'set its URL with --admin-url, or try again when it runs'
  if (database.kind !== 'sqlite') {
    const where = database.kind === 'memory' ? 'memory' : 'PostgreSQL'
    const message = `no sidecar answers at ${url}, and only a sidecar can read events in ${where}: ${advice}`
    return new InboxError('admin_unreachable', message)
  }
  return new InboxError(
    'admin_unreachable',
    `a process holds ${database.file}, and no admin API answers at ${url}. If the process is a sidecar, ${advice}. If it is your ` +
      'own app with an embedded inbox (`createInbox`), stop the app first: it has no admin API',
  )
}

/** A client of a sidecar's admin API. */
function createAdminClient(url: string, token: string): AdminCalls {
  const { send } = createServerCalls(adminApi, parseAdminUrl(url), token)
  return {
    async call(operation, { id, query = {}, body = {} } = {}) {
      const { method, path } = operations[operation]
      const target = `api/v1${path.replace(':id', () => segment(id ?? ''))}`
      const request = method === 'get' ? { query } : { method: method.toUpperCase(), query, body: body as object }
      const { bytes } = await send(target, request)
      // The sidecar is the same program, so its answers aren't validated.
      return parseExactJson(bytes.toString()) as AnswerOf<typeof operation>
    },
    rawEvent: async (id) => (await send(`api/v1/events/${segment(id)}/raw`)).bytes,
  }
}

const aliveTimeoutMs = 10_000

/** True if a sidecar answers at this origin. Accepts any certificate, because nothing secret is sent. */
export async function isSidecarAt(origin: string): Promise<boolean> {
  const { get } = origin.startsWith('https:') ? https : http
  const options = { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(aliveTimeoutMs) }
  try {
    const request = get(`${origin}/healthz`, options)
    // `once` and `text` throw errors too, but an error without any listener would end the process.
    request.on('error', () => {})
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return (await text(response)) === '{"status":"alive"}'
  } catch {
    return false
  }
}

const adminApi: ServerKind = {
  code: 'admin_unreachable',
  name: 'an admin API',
  advice: 'start `onchain-inbox serve`, or set its URL with --admin-url',
  tokenAdvice: 'set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE to the token of the sidecar',
}

function parseAdminUrl(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === ''
  if (isUsable) return url
  throw new InboxError(
    'usage',
    '--admin-url must be a URL such as http://127.0.0.1:8081, without user name and password',
  )
}
