import { resolve } from 'node:path'
import type { ConfigSources } from '../config/sources.ts'
import type { LabelledSubscribe } from '../config/subscribe.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { examineClock } from './clock.ts'
import { examineDatabase, type ExaminedDatabase } from './database.ts'
import { examineDisk } from './disk.ts'
import type { Finding } from './finding.ts'
import { examineHandlers } from './handlers.ts'
import { examineVersions, judgeLimits, openFilesLimit } from './machine.ts'
import { examinePort } from './ports.ts'
import { examineSecrets, examineTokens } from './secrets.ts'
import { examineSettings, type ExaminedSettings } from './settings.ts'

/** What was found on this machine, and how the database stands. */
export interface Examination {
  readonly findings: readonly Finding[]
  readonly database: ExaminedDatabase
  /** What `serve` would load; null: that cannot be told. */
  readonly handlers: readonly HandlerInfo[] | null
  /** What the receiver is to be registered for; null where it is not to be, or the settings cannot be used. */
  readonly subscribe: LabelledSubscribe | null
}

/**
 * Looks at everything on this machine that `serve` depends on: beside a running sidecar, without one, and with settings that cannot
 * be used. It changes nothing, but for a small file in the folder of the database that it removes again.
 */
export async function examineMachine(sources: ConfigSources, now: () => number): Promise<Examination> {
  const settings = await examineSettings(sources)
  const { values, credentials, folder, handlers } = settings
  const database = await examineDatabase(settings.database)
  const loaded = handlers === null ? null : await examineHandlers(handlers)
  const findings = [
    ...settings.findings,
    examineVersions(),
    ...(await examineClock(values.INBOX_API_URL, now)),
    ...(folder === null ? [] : await disk(settings, folder)),
    database.finding,
    ...examineSecrets(credentials, values, (path) => resolve(sources.cwd, path)),
    examineTokens(credentials),
    ...(loaded === null ? [] : [loaded.finding]),
    ...(await ports(settings, database.isHeld)),
    judgeLimits(openFilesLimit(), values.INBOX_MAX_CONNECTIONS),
  ]
  // With settings that cannot be used, sinks are missing here.
  return {
    findings,
    database,
    handlers: settings.config === null ? null : (loaded?.handlers ?? null),
    subscribe: settings.config?.subscribe ?? null,
  }
}

function disk({ values, database }: ExaminedSettings, folder: string): Promise<Finding[]> {
  return examineDisk({
    folder,
    file: database.kind === 'sqlite' ? database.file : '',
    reserveBytes: values.INBOX_DISK_RESERVE,
    retention: { days: values.INBOX_RETENTION_DAYS, maxBytes: values.INBOX_RETENTION_BYTES },
    ackTimeoutMs: values.INBOX_ACK_TIMEOUT_MS,
  })
}

async function ports({ values, credentials }: ExaminedSettings, isInboxHeld: boolean | null): Promise<Finding[]> {
  const webhook = { host: values.INBOX_HOST, port: values.INBOX_PORT, isTls: credentials.tls !== undefined }
  const admin = { host: values.INBOX_ADMIN_HOST, port: values.INBOX_ADMIN_PORT, isTls: false }
  return [
    await examinePort({ ...webhook, name: 'INBOX_PORT', isInboxHeld }),
    await examinePort({ ...admin, name: 'INBOX_ADMIN_PORT', isInboxHeld }),
  ]
}
