import { existsSync } from 'node:fs'
import { chown, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/files.ts'
import type { ProjectFile } from './project.ts'

/** What may be in a folder that counts as empty. */
const passedOver: ReadonlySet<string> = new Set(['.git', '.DS_Store'])
const mostListed = 10

/**
 * Makes sure that nothing is in the folder, which need not be there, but for a repository without files.
 *
 * @throws InboxError `usage` that lists what is there
 */
export async function refuseUsedFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const names = (await list(folder)).filter((name) => !passedOver.has(name)).toSorted()
  if (names.length === 0) return
  const more = names.length > mostListed ? `, and ${names.length - mostListed} more` : ''
  throw new InboxError(
    'usage',
    `${folder} is not empty, and nothing is overwritten: there are ${names.slice(0, mostListed).join(', ')}${more}; ` +
      'name a new folder: onchain-inbox init my-inbox',
  )
}

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    throw new InboxError('usage', `${folder} cannot be used (${messageOf(error)}); name a new folder`, { cause: error })
  }
}

export interface WriteOptions {
  /** Who the files with secrets are to belong to, if somebody else than who writes them. */
  readonly secretOwner: number | null
}

/** Writes the files of a project into an empty folder, and makes that; none that is there is overwritten. */
export async function writeProject(
  folder: string,
  files: readonly ProjectFile[],
  { secretOwner }: WriteOptions,
): Promise<void> {
  try {
    for (const { path, content, isSecret } of files) {
      const file = join(folder, path)
      makeFolder(dirname(file))
      await writeFile(file, content, { flag: 'wx', ...(isSecret && { mode: 0o600 }) })
      if (isSecret && secretOwner !== null) await chown(file, secretOwner, secretOwner)
    }
  } catch (error) {
    throw new InboxError('usage', `the project cannot be written to ${folder} (${messageOf(error)})`, { cause: error })
  }
}
