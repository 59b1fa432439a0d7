import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Of a file, or of a folder: a new file is only durable once its entry is. */
export function fsyncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
