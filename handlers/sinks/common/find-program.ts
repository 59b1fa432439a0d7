import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'

export interface ProgramPlace {
  /** As the first word of a command: with a slash a path, otherwise a name to be looked up. */
  readonly program: string
  /** Absolute: what relative paths start at. */
  readonly cwd: string
  /** Folders with colons between. */
  readonly path: string
}

/** Whether there is a file that this user may run, where `spawn` looks for it. */
export async function isProgram({ program, cwd, path }: ProgramPlace): Promise<boolean> {
  const places = program.includes('/')
    ? [resolve(cwd, program)]
    : path.split(delimiter).map((dir) => resolve(cwd, dir, program))
  const found = await Promise.all(places.map(isExecutable))
  return found.includes(true)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}
