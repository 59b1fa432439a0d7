import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SettingValues } from '../../config/settings.ts'
import { describeBytes, type DatabaseSetting } from '../../config/values.ts'
import { messageOf } from '../../base/errors.ts'
import { commandLine } from '../host.ts'
import { check, type Finding } from './machine.ts'
import { describeDatabase } from '../../base/database-url.ts'
import { inspectSchema } from '../../inbox/postgres/migrate.ts'
import { isInUse, inspectDatabase, newestSchema } from '../../inbox/sqlite/inspect.ts'

/**
 * Checks the disk of the database: write access, file system, free space, and time of a durable write. `file`: absolute
 * path of the database, which may not exist.
 */
export async function examineDisk(values: SettingValues, file: string): Promise<Finding[]> {
  const folder = nearestFolder(dirname(file))
  const findings = [await examineFolder(folder, file)]
  try {
    const { type, bavail, bsize } = await statfs(folder)
    const space = {
      freeBytes: bavail * bsize,
      usedBytes: sizeOf(file),
      reserveBytes: values.INBOX_DISK_RESERVE,
      retention: { days: values.INBOX_RETENTION_DAYS, maxBytes: values.INBOX_RETENTION_BYTES },
    }
    findings.push(judgeFileSystem(type, folder), judgeSpace(space))
  } catch (error) {
    findings.push(check('disk space').warn(`unknown (${messageOf(error)})`, 'check that the disk is mounted'))
  }
  if (findings.every(({ result }) => result !== 'fail')) findings.push(examineSync(folder, values.INBOX_ACK_TIMEOUT_MS))
  return findings
}

/** The folder, or the nearest one above it that exists. */
function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

async function examineFolder(folder: string, file: string): Promise<Finding> {
  const { ok, warn, fail } = check('folder')
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    if (!existsSync(file)) return ok(`${folder} can be written`)
    await access(file, constants.R_OK | constants.W_OK)
    const { mode } = await stat(file)
    if ((mode & 0o077) === 0) return ok(`${folder} can be written, and ${file} is private`)
    return warn(`other users can read ${file}, which holds every event`, `chmod 600 ${file}*`)
  } catch (error) {
    const advice = 'give this user write access, or change INBOX_DATABASE_URL; run doctor as the user of the sidecar'
    return fail(messageOf(error), advice)
  }
}

function examineSync(folder: string, ackTimeoutMs: number): Finding {
  try {
    return judgeSync(measureSync(folder), ackTimeoutMs)
  } catch (error) {
    const found = `can't write to ${folder} (${messageOf(error)})`
    return check('disk speed').fail(found, 'repair the disk, or use another one')
  }
}

interface Space {
  readonly freeBytes: number
  /** Size of the database. */
  readonly usedBytes: number
  readonly reserveBytes: number
  readonly retention: { readonly days: number; readonly maxBytes: number | undefined }
}

/** Checks that the disk has room for the retention settings. */
export function judgeSpace({ freeBytes, usedBytes, reserveBytes, retention }: Space): Finding {
  const { ok, warn, fail } = check('disk space')
  const free = `${roughBytes(freeBytes)} free, ${describeBytes(reserveBytes)} reserved (INBOX_DISK_RESERVE)`
  if (freeBytes < reserveBytes) {
    const prune = commandLine('prune --older-than 7')
    return fail(free, `free space, for example with ${prune}; until then deliveries are answered 503`)
  }
  const room = usedBytes + freeBytes - reserveBytes
  const { days, maxBytes } = retention
  if (maxBytes !== undefined && maxBytes > room) {
    const found = `${free}; the database may grow to ${describeBytes(maxBytes)}, but there is room for only ${roughBytes(room)}`
    return warn(found, `set INBOX_RETENTION_BYTES below ${roughBytes(room)}, or use a larger disk`)
  }
  if (freeBytes < 2 * reserveBytes) return warn(free, 'free space before it runs out: then deliveries are answered 503')
  const retentionNote = maxBytes === undefined && days === 0 ? '; bodies are never deleted, so check it regularly' : ''
  return ok(`${free}; the database takes ${roughBytes(usedBytes)}${retentionNote}`)
}

/** A size in the largest fitting unit: `1.5gb`. */
function roughBytes(bytes: number): string {
  const units = ['bytes', 'kb', 'mb', 'gb', 'tb']
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** step
  const unit = units[step] ?? ''
  return step === 0 ? `${bytes} ${unit}` : `${size < 10 ? size.toFixed(1) : Math.floor(size)}${unit}`
}

function sizeOf(file: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** Risks of file systems, with advice. */
const unsafe = {
  network: [
    'a network file system with unreliable locks and fsync: an acknowledged event could be lost',
    'put the database on a local disk: INBOX_DATABASE_URL=sqlite:/path/on/a/local/disk/inbox.db',
  ],
  memory: ['in memory: lost when the machine restarts', 'put the database on a disk'],
  fuse: ['a FUSE file system: its locks and fsync depend on the program behind it', 'put the database on a local disk'],
  overlay: ['inside a container: lost with the container', 'mount a volume there'],
} as const

/** Names by the types of Linux's statfs(2). */
const fileSystems: Readonly<Record<number, readonly [name: string, risk?: keyof typeof unsafe]>> = {
  0xef53: ['ext4'],
  0x58465342: ['xfs'],
  0x9123683e: ['btrfs'],
  0x2fc12fc1: ['zfs'],
  0xf2f52010: ['f2fs'],
  0xca451a4e: ['bcachefs'],
  0x6969: ['nfs', 'network'],
  0xff534d42: ['cifs', 'network'],
  0xfe534d42: ['smb', 'network'],
  0x517b: ['smb', 'network'],
  0x01021997: ['9p', 'network'],
  0x00c36400: ['ceph', 'network'],
  0x5346414f: ['afs', 'network'],
  0x786f4256: ['vboxsf', 'network'],
  0x01021994: ['tmpfs', 'memory'],
  0x858458f6: ['ramfs', 'memory'],
  0x65735546: ['fuse', 'fuse'],
  0x794c7630: ['overlay', 'overlay'],
}

/** Judges a file system by its statfs type on Linux. */
export function judgeFileSystem(type: number, folder: string, platform: string = process.platform): Finding {
  const { ok, warn, fail } = check('file system')
  if (platform !== 'linux') return ok(`${folder}: unknown on ${platform}; must be a local disk`)
  const [name, risk] = fileSystems[type >>> 0] ?? []
  if (name === undefined) return ok(`${folder} is on an unknown file system`)
  if (risk === undefined) return ok(`${folder} is on ${name}`)
  const [problem, advice] = unsafe[risk]
  return (risk === 'network' ? fail : warn)(`${folder} is on ${name}, ${problem}`, advice)
}

const writes = 20
/** Page size of the database. */
const writeBytes = 4_096
/** No real disk is this fast; memory, or a layer that ignores fsync, is. */
const implausibleMs = 0.005
const slowMs = 50

/** Measures 20 durable writes of one page, one after another, in a temporary file. */
export function measureSync(folder: string) {
  const path = join(folder, `.onchain-inbox-${randomBytes(6).toString('hex')}`)
  const file = openSync(path, 'wx', 0o600)
  try {
    const bytes = randomBytes(writeBytes)
    const times = Array.from({ length: writes }, () => {
      const startedAt = performance.now()
      writeSync(file, bytes)
      fsyncSync(file)
      return performance.now() - startedAt
    }).toSorted((a, b) => a - b)
    return { writes, medianMs: times[writes / 2] ?? 0, worstMs: times.at(-1) ?? 0 }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

type SyncSpeed = Readonly<ReturnType<typeof measureSync>>

/** Judges the disk speed: an acknowledgement waits for one or two durable writes. */
export function judgeSync({ medianMs, worstMs, writes: count }: SyncSpeed, ackTimeoutMs: number): Finding {
  const { ok, warn, fail } = check('disk speed')
  const found = `a durable write takes ${roughMs(medianMs)}, at worst ${roughMs(worstMs)} (${count} measured)`
  const limit = `INBOX_ACK_TIMEOUT_MS (${ackTimeoutMs} ms)`
  const advice = 'use a local SSD, or find what else writes to this disk (iostat -x 1)'
  if (worstMs >= ackTimeoutMs) {
    return fail(`${found}: longer than ${limit}, so some deliveries will be answered 503`, advice)
  }
  const expected = `expect acknowledgements within about ${roughMs(2 * medianMs)}, sometimes ${roughMs(2 * worstMs)}`
  if (medianMs > slowMs || worstMs > ackTimeoutMs / 4) return warn(`${found}: ${expected}`, advice)
  if (medianMs < implausibleMs) {
    return warn(`${found}: too fast for a disk`, 'check that fsync is on, and that this is a disk')
  }
  return ok(`${found}: ${expected}`)
}

/** Text of a duration: whole milliseconds from 10 ms on, else two significant digits. */
function roughMs(ms: number): string {
  return `${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`
}

export interface ExaminedDatabase {
  readonly finding: Finding
  /** True if a process serves the database; null if unknown. */
  readonly isServed: boolean | null
  /** True if it can be read without changing it. */
  readonly isReadable: boolean
}

/** Files up to this size are checked, which takes about a second. */
const checkedBytes = 256 * 1024 ** 2

/** Checks the schema without changing the database; of a file also its holder, and its structure if it is small. */
export async function examineDatabase(database: DatabaseSetting): Promise<ExaminedDatabase> {
  const { ok, warn, fail } = check('database')
  const none = { isServed: null, isReadable: false }
  if (database.kind === 'postgres') return { ...none, finding: await examinePostgres(database.url) }
  if (database.kind !== 'sqlite') {
    const advice = 'set INBOX_DATABASE_URL=sqlite:/path/inbox.db, unless this is a trial'
    return { ...none, finding: warn('in memory: all events are lost when the process ends', advice) }
  }
  const { file } = database
  if (!existsSync(file)) return { ...none, isServed: false, finding: ok(`none at ${file} yet: \`serve\` creates it`) }
  try {
    const { size } = statSync(file)
    const isChecked = size <= checkedBytes
    const structure = inspectDatabase(file, { isChecked })
    const isServed = isInUse(file)
    const isReadable = structure.damage === null && structure.schema === newestSchema
    return { isServed, isReadable, finding: judge(structure, { file, size, isChecked, isServed }) }
  } catch (error) {
    return { ...none, finding: fail(messageOf(error), 'change INBOX_DATABASE_URL') }
  }
}

async function examinePostgres(url: string): Promise<Finding> {
  const { ok, warn, fail } = check('database')
  try {
    const { server, schema, isOlder } = await inspectSchema(url)
    const found = `${describeDatabase(url)} is PostgreSQL ${server}`
    if (schema === null) return ok(`${found}, empty: \`serve\` creates the schema`)
    if (!isOlder) return ok(`${found}, schema ${schema}`)
    const advice = `${commandLine('migrate')}, once for all replicas; or INBOX_MIGRATE=auto`
    return warn(`${found}, schema ${schema}: this version needs a newer one`, advice)
  } catch (error) {
    return fail(messageOf(error), 'fix INBOX_DATABASE_URL or the database')
  }
}

interface Circumstances {
  readonly file: string
  readonly size: number
  readonly isChecked: boolean
  readonly isServed: boolean
}

function judge({ schema, damage }: ReturnType<typeof inspectDatabase>, circumstances: Circumstances): Finding {
  const { ok, warn, fail } = check('database')
  const { file, size, isChecked, isServed } = circumstances
  if (damage !== null)
    return fail(`${file} is damaged, or not an inbox database: ${damage}`, commandLine('restore FILE'))
  if (schema !== null && schema > newestSchema) {
    const advice = 'run the newer version, or restore the backup that it made in the same folder'
    return fail(`${file} was written by a newer version (schema ${schema})`, advice)
  }
  if (schema !== newestSchema) {
    const found = `${file} has schema ${schema ?? '(none)'}, this version has ${newestSchema}`
    return isServed
      ? warn(`${found}: an older version holds it`, 'upgrade the sidecar, or run doctor of its version')
      : warn(found, `nothing: \`serve\` copies and upgrades it; or now: ${commandLine('migrate')}`)
  }
  const structure = isChecked ? 'structure intact' : 'too large to check here; `backup` checks its copy'
  const holder = isServed ? 'held by a process' : 'held by no process'
  return ok(`${file} has schema ${schema} and ${roughBytes(size)}; ${structure}; ${holder}`)
}
