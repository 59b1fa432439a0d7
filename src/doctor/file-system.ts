import { fail, ok, warn, type Finding } from './finding.ts'

const check = 'file system'

/** As in Linux's statfs(2). */
const local: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x2fc12fc1: 'zfs',
  0xf2f52010: 'f2fs',
  0xca451a4e: 'bcachefs',
}

const remote: Readonly<Record<number, string>> = {
  0x6969: 'nfs',
  0xff534d42: 'cifs',
  0xfe534d42: 'smb',
  0x517b: 'smb',
  0x01021997: '9p',
  0x00c36400: 'ceph',
  0x5346414f: 'afs',
  0x786f4256: 'vboxsf',
}

const inMemory: Readonly<Record<number, string>> = { 0x01021994: 'tmpfs', 0x858458f6: 'ramfs' }
const fuse = 0x65735546
const overlay = 0x794c7630

/**
 * What a kind of file system means to a database on it. `type` is the number that statfs gives; other systems than Linux have
 * other numbers, of which nothing is known here.
 */
export function judgeFileSystem(type: number, folder: string, platform: string = process.platform): Finding {
  if (platform !== 'linux') return ok(check, `${folder}: its kind is not known on ${platform}; it must be a local disk`)
  const number = type >>> 0
  const network = remote[number]
  if (network !== undefined) {
    return fail(
      check,
      `${folder} is on ${network}, where neither locks nor fsync can be relied on: an acknowledged event could be lost`,
      'put the database on a local disk: INBOX_DATABASE_URL=sqlite:/path/on/a/local/disk/inbox.db',
    )
  }
  const memory = inMemory[number]
  if (memory !== undefined) {
    return warn(
      check,
      `${folder} is on ${memory}, in memory: a restart of the machine loses it`,
      'put the database on a disk',
    )
  }
  if (number === fuse) {
    return warn(
      check,
      `${folder} is on a FUSE file system: whether its locks and its fsync can be relied on is up to the program behind it`,
      'put the database on a local disk',
    )
  }
  if (number === overlay) {
    return warn(
      check,
      `${folder} is on overlay, which is the inside of a container: it goes with it`,
      'mount a volume there',
    )
  }
  const known = local[number]
  return ok(check, known === undefined ? `${folder}: of a kind that is not known here` : `${folder} is on ${known}`)
}
