import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { describeBytes, type DatabaseSetting } from '../../config/values.ts'
import { messageOf } from '../../base/errors.ts'
import { fail, ok, warn, type Finding } from './machine.ts'
import { describeDatabase } from '../../base/database-url.ts'
import { lookAtSchema } from '../../inbox/postgres/migrate.ts'
import { isInUse, lookAtDatabase, newestSchema } from '../../inbox/sqlite/look.ts'

export interface DiskSettings {
  /** The folder of the database, or the nearest one above that is there: absolute. */
  readonly folder: string
  /** The database file, which need not be there: absolute. */
  readonly file: string
  readonly reserveBytes: number
  readonly retention: { readonly days: number; readonly maxBytes: number | undefined }
  readonly ackTimeoutMs: number
}

/** The disk of the database: what kind it is, whether it can be written, how much is free, how soon it makes a write durable. */
export async function examineDisk(settings: DiskSettings): Promise<Finding[]> {
  const { folder, file, ackTimeoutMs } = settings
  const findings = [await examineFolder(folder, file)]
  try {
    const { type, bavail, bsize } = await statfs(folder)
    findings.push(
      judgeFileSystem(type, folder),
      judgeSpace({ ...settings, freeBytes: bavail * bsize, usedBytes: sizeOf(file) }),
    )
  } catch (error) {
    findings.push(warn('disk space', `it cannot be told (${messageOf(error)})`, 'check that the disk is mounted'))
  }
  if (findings.every(({ result }) => result !== 'fail')) findings.push(examineSync(folder, ackTimeoutMs))
  return findings
}

async function examineFolder(folder: string, file: string): Promise<Finding> {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    if (!existsSync(file)) return ok('folder', `${folder} can be written`)
    await access(file, constants.R_OK | constants.W_OK)
    const { mode } = await stat(file)
    if ((mode & 0o077) === 0) return ok('folder', `${folder} can be written, and ${file} is for its own user only`)
    return warn('folder', `${file} can be read by other users: it holds every event`, `chmod 600 ${file}*`)
  } catch (error) {
    return fail(
      'folder',
      messageOf(error),
      'let this user write there, or name another place in INBOX_DATABASE_URL; run doctor as the user of the sidecar',
    )
  }
}

function examineSync(folder: string, ackTimeoutMs: number): Finding {
  try {
    return judgeSync(measureSync(folder), ackTimeoutMs)
  } catch (error) {
    return fail(
      'disk speed',
      `nothing can be written in ${folder} (${messageOf(error)})`,
      'mend the disk, or use another',
    )
  }
}

interface Space extends Pick<DiskSettings, 'reserveBytes' | 'retention'> {
  readonly freeBytes: number
  /** Of the database. */
  readonly usedBytes: number
}

/** Whether there is room for what is to be kept. */
export function judgeSpace({ freeBytes, usedBytes, reserveBytes, retention }: Space): Finding {
  const free = `${roughBytes(freeBytes)} are free, ${describeBytes(reserveBytes)} are to stay so (INBOX_DISK_RESERVE)`
  if (freeBytes < reserveBytes) {
    const advice =
      'make room, or give old bodies up: onchain-inbox prune --older-than 7; until then deliveries are answered 503'
    return fail('disk space', free, advice)
  }
  const roomBytes = usedBytes + freeBytes - reserveBytes
  const { days, maxBytes } = retention
  if (maxBytes !== undefined && maxBytes > roomBytes) {
    return warn(
      'disk space',
      `${free}; the database may grow to ${describeBytes(maxBytes)}, and there is room for ${roughBytes(roomBytes)}`,
      `set INBOX_RETENTION_BYTES below ${roughBytes(roomBytes)}, or use a larger disk`,
    )
  }
  if (freeBytes < 2 * reserveBytes) {
    return warn('disk space', free, 'make room before it is used up: then deliveries are answered 503')
  }
  const kept = maxBytes === undefined && days === 0 ? '; bodies are kept for ever, so look at it now and then' : ''
  return ok('disk space', `${free}; the database takes ${roughBytes(usedBytes)}${kept}`)
}

/** A size in the largest unit of which there is one at least: `1.5gb`. */
export function roughBytes(bytes: number): string {
  const units = ['bytes', 'kb', 'mb', 'gb', 'tb']
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** step
  const unit = units[step] ?? ''
  return step === 0 ? `${bytes} ${unit}` : `${size < 10 ? size.toFixed(1) : Math.floor(size)}${unit}`
}

function sizeOf(file: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** What a database on such a file system risks, and what to do. */
const unsafe = {
  network: [
    fail,
    'where neither locks nor fsync can be relied on: an acknowledged event could be lost',
    'put the database on a local disk: INBOX_DATABASE_URL=sqlite:/path/on/a/local/disk/inbox.db',
  ],
  memory: [warn, 'in memory: a restart of the machine loses it', 'put the database on a disk'],
  fuse: [
    warn,
    'a FUSE file system: whether its locks and its fsync can be relied on is up to the program behind it',
    'put the database on a local disk',
  ],
  overlay: [warn, 'which is the inside of a container: it goes with it', 'mount a volume there'],
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

/** Judges the file system of a folder by its statfs type. Other systems than Linux have other types, which are unknown here. */
export function judgeFileSystem(type: number, folder: string, platform: string = process.platform): Finding {
  const check = 'file system'
  if (platform !== 'linux') return ok(check, `${folder}: its kind is not known on ${platform}; it must be a local disk`)
  const [name, risk] = fileSystems[type >>> 0] ?? []
  if (name === undefined) return ok(check, `${folder}: of a kind that is not known here`)
  if (risk === undefined) return ok(check, `${folder} is on ${name}`)
  const [judge, problem, advice] = unsafe[risk]
  return judge(check, `${folder} is on ${name}, ${problem}`, advice)
}

export interface SyncSpeed {
  readonly writes: number
  readonly medianMs: number
  readonly worstMs: number
}

const writes = 20
/** A page of the database. */
const writeBytes = 4_096
/** No disk is as quick; a memory, or a layer that only says so, is. */
const incredibleMs = 0.005
const slowMs = 50

/** How long this disk takes to make a small write durable: 20 of them, one after the other, in a file that is removed again. */
export function measureSync(folder: string): SyncSpeed {
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

/** What that means for the time to an acknowledgement, which waits for one such write, or for two. */
export function judgeSync({ medianMs, worstMs, writes: count }: SyncSpeed, ackTimeoutMs: number): Finding {
  const found = `a durable write takes ${roughMs(medianMs)}, at worst ${roughMs(worstMs)} (${count} measured)`
  if (worstMs >= ackTimeoutMs) {
    return fail(
      'disk speed',
      `${found}: as long as a delivery may take (INBOX_ACK_TIMEOUT_MS=${ackTimeoutMs}), so some will be answered 503`,
      'use another disk, or find out what else writes to this one (iostat -x 1)',
    )
  }
  const expected = `expect acknowledgements after about ${roughMs(2 * medianMs)}, and ${roughMs(2 * worstMs)} at times`
  if (medianMs > slowMs || worstMs > ackTimeoutMs / 4) {
    return warn(
      'disk speed',
      `${found}: ${expected}`,
      'use a local SSD, or find out what else writes to this disk (iostat -x 1)',
    )
  }
  if (medianMs < incredibleMs) {
    return warn(
      'disk speed',
      `${found}: no disk is as quick`,
      'make sure that fsync is not turned off here, and that this is a disk',
    )
  }
  return ok('disk speed', `${found}: ${expected}`)
}

/** With two digits that count, or in whole milliseconds. */
function roughMs(ms: number): string {
  return `${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`
}

export interface ExaminedDatabase {
  readonly finding: Finding
  /** Whether a process works on it; null: that cannot be told. */
  readonly isHeld: boolean | null
  /** Whether it can be looked into without a change to it. */
  readonly isReadable: boolean
}

/** What is read through in a second or so. */
const checkedBytes = 256 * 1024 ** 2

/** The database, without a change to it: its schema; of a file also its structure if it is small, and who works on it. */
export async function examineDatabase(database: DatabaseSetting): Promise<ExaminedDatabase> {
  const none = { isHeld: null, isReadable: false }
  if (database.kind === 'postgres') return { ...none, finding: await examinePostgres(database.url) }
  if (database.kind !== 'sqlite') {
    const advice = 'set INBOX_DATABASE_URL=sqlite:/path/inbox.db, unless this is a trial'
    return { ...none, finding: warn('database', 'in memory: the end of the process loses all events', advice) }
  }
  const { file } = database
  if (!existsSync(file)) {
    return { ...none, isHeld: false, finding: ok('database', `there is none at ${file} yet: \`serve\` makes it`) }
  }
  try {
    const { size } = statSync(file)
    const isChecked = size <= checkedBytes
    const look = lookAtDatabase(file, { isChecked })
    const isHeld = isInUse(file)
    const isReadable = look.damage === null && look.schema === newestSchema
    return { isHeld, isReadable, finding: judge(look, { file, size, isChecked, isHeld }) }
  } catch (error) {
    return { ...none, finding: fail('database', messageOf(error), 'name another one in INBOX_DATABASE_URL') }
  }
}

async function examinePostgres(url: string): Promise<Finding> {
  const name = describeDatabase(url)
  try {
    const { server, schema, isOlder } = await lookAtSchema(url)
    const found = `${name} is PostgreSQL ${server}`
    if (schema === null) return ok('database', `${found}, and empty: \`serve\` gives it its schema`)
    if (!isOlder) return ok('database', `${found} and has the schema ${schema}`)
    return warn(
      'database',
      `${found} and has the schema ${schema}: this version needs a newer one`,
      'onchain-inbox migrate, once for all replicas; or INBOX_MIGRATE=auto',
    )
  } catch (error) {
    return fail('database', messageOf(error), 'mend INBOX_DATABASE_URL, or the database')
  }
}

interface Circumstances {
  readonly file: string
  readonly size: number
  readonly isChecked: boolean
  readonly isHeld: boolean
}

function judge({ schema, damage }: ReturnType<typeof lookAtDatabase>, circumstances: Circumstances): Finding {
  const { file, size, isChecked, isHeld } = circumstances
  if (damage !== null) {
    return fail(
      'database',
      `${file} is damaged, or no database of this program: ${damage}`,
      'onchain-inbox restore FILE',
    )
  }
  if (schema !== null && schema > newestSchema) {
    const advice = 'run the newer version, or restore the backup that it made beside the file'
    return fail('database', `${file} was written by a newer version: it has the schema ${schema}`, advice)
  }
  if (schema !== newestSchema) {
    const found = `${file} has the schema ${schema ?? '(none)'}, this version has ${newestSchema}`
    return isHeld
      ? warn(
          'database',
          `${found}: an older version works on it`,
          'give doctor the version of the sidecar, or upgrade that',
        )
      : warn(
          'database',
          found,
          'nothing: `serve` upgrades it, after a copy beside it; or do it now: onchain-inbox migrate',
        )
  }
  const structure = isChecked
    ? 'its structure is well'
    : 'too large to be checked here: onchain-inbox backup checks its copy'
  const holder = isHeld ? 'a process works on it' : 'no process works on it'
  return ok('database', `${file} has the schema ${schema} and ${roughBytes(size)}; ${structure}; ${holder}`)
}
