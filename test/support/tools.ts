import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** True if a program is on the PATH. To skip: `test.skipIf(!has('cc'))('… (needs cc)')`. */
export function has(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** True if strace is installed and works. Some containers forbid it. */
export function canTrace(): boolean {
  return has('strace') && spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0
}

/** True if this process can mount a tmpfs. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !has('mount')) return false
  const folder = mkdtempSync(join(tmpdir(), 'inbox-mount-'))
  try {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    return mounted.status === 0 && spawnSync('umount', [folder], { stdio: 'ignore' }).status === 0
  } finally {
    rmdirSync(folder)
  }
}
