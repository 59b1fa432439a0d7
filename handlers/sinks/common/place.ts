import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** These show what the system does: nobody can add a file to them, and making a folder there may never come back. */
const systemFolders = ['/proc', '/sys']

/**
 * Whether a file can be made at this absolute path, its folder too where it is missing; nothing is written. Throws an Error, with
 * `option` in front, that says what is in the way. A pipe or a terminal that is there is left to the first write.
 */
export async function checkPlace(path: string, option: string): Promise<void> {
  const there = await statOf(path)
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return
  if (there?.isDirectory()) throw new Error(`${option}: ${path} is a folder; expected the path of a file`)
  if (there?.isFile()) await requireWritable(path, option, constants.W_OK)
  let folder = dirname(path)
  let found = await statOf(folder)
  while (found === undefined && folder !== dirname(folder)) {
    folder = dirname(folder)
    found = await statOf(folder)
  }
  if (found?.isDirectory() === false) throw new Error(`${option}: ${folder} is no folder; choose another path`)
  const real = await realpath(folder)
  if (systemFolders.some((system) => `${real}/`.startsWith(`${system}/`))) {
    throw new Error(
      `${option}: ${path} is in a folder of the system that holds no files of others; choose another path`,
    )
  }
  await requireWritable(folder, option, constants.W_OK | constants.X_OK)
}

async function requireWritable(path: string, option: string, mode: number): Promise<void> {
  try {
    await access(path, mode)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new Error(
      `${option}: ${path} cannot be written to (${reason}): let this user write there, or choose another path`,
      {
        cause: error,
      },
    )
  }
}

/** Undefined for a path that does not exist, also because a part of it is no folder. */
export async function statOf(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
