import type { Command } from 'commander'
import { basename, relative, dirname, join } from 'node:path'
import { commandLine, fromCwd, host } from './host.ts'
import { newSecret, packageName, projectFiles, type ProjectFile } from './init/project.ts'
import { version } from '../base/version.ts'
import { printResult, withExamples, withOutputOptions, type OutputOptions } from './output.ts'
import { existsSync, statSync } from 'node:fs'
import { lchown, open, readdir } from 'node:fs/promises'
import { InboxError, messageOf } from '../base/errors.ts'
import { makeFolder } from '../base/files.ts'

interface InitOptions extends OutputOptions {
  readonly package?: string
}

/** User id of the container if root created the project. */
const containerUser = 1_000

/** `onchain-inbox init`: writes a runnable project with a handler and its test. */
export function addInitCommand(program: Command): void {
  const init = program
    .command('init')
    .description('Write a project: settings, handler, test, container files, secret')
    .argument('[folder]', 'an empty or new folder', '.')
    .option('--package <spec>', 'the version of onchain-inbox to depend on, or any other npm spec', version)
  withExamples(withOutputOptions(init), ['init my-inbox']).action(async (folder: string, options: InitOptions) => {
    printResult(await createProject(fromCwd(folder), options), options, render)
  })
}

async function createProject(folder: string, options: InitOptions) {
  const owner = process.getuid?.() === 0 ? ownerOf(folder) : null
  // The container doesn't run as root.
  const user = (owner?.uid ?? process.getuid?.()) || containerUser
  const files = projectFiles({
    name: packageName(basename(folder)),
    dependency: options.package ?? version,
    user,
    secret: newSecret(),
  })
  await writeProject(folder, files, { owner, user })
  /** `files`: relative to the folder. */
  return { folder, files: files.map(({ path }) => path) }
}

function render({ folder, files }: Awaited<ReturnType<typeof createProject>>): string {
  const list = files.map((file) => `  ${file}`).join('\n')
  const place = relative(host().cwd(), folder)
  const steps = [...(place === '' ? [] : [`cd ${place}`]), 'npm install', 'npm test', 'npm start']
  return `wrote to ${folder}:\n${list}\n\nNext:\n${steps.map((step) => `  ${step}`).join('\n')}\n\nMore is in README.md.`
}

/** Names ignored in an empty folder. */
const ignoredNames: ReadonlySet<string> = new Set(['.git', '.DS_Store'])

/** @throws InboxError `usage` that lists the files, unless the folder is missing, empty, or an empty repository */
async function refuseUsedFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const names = (await readdir(folder)).filter((name) => !ignoredNames.has(name)).toSorted()
  if (names.length === 0) return
  throw new InboxError(
    'usage',
    `${folder} is not empty (${names.slice(0, 10).join(', ')}), and init overwrites nothing: ` +
      `name a new folder: ${commandLine('init my-inbox')}`,
  )
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Owner of the folder, or of the nearest folder above it that exists. */
function ownerOf(folder: string): Owner {
  return existsSync(folder) ? statSync(folder) : ownerOf(dirname(folder))
}

/**
 * Creates the folder and writes the project. Never overwrites a file. `owner`: of all files and folders, if this process
 * is root; null: this user. `user`: id of the container's user, which reads the secrets.
 */
async function writeProject(
  folder: string,
  files: readonly ProjectFile[],
  { owner, user }: { readonly owner: Owner | null; readonly user: number },
): Promise<void> {
  try {
    await refuseUsedFolder(folder)
    const folders = new Set([folder])
    for (const { path, content, isSecret } of files) {
      const file = join(folder, path)
      makeFolder(dirname(file))
      folders.add(dirname(file))
      await using handle = await open(file, 'wx', isSecret ? 0o600 : 0o666)
      await handle.writeFile(content)
      if (owner === null) continue
      // By the handle: the owner of the folder could replace the file by a link to one of root's.
      if (isSecret && owner.uid === 0) await handle.chown(user, user)
      else await handle.chown(owner.uid, owner.gid)
    }
    if (owner !== null) for (const path of folders) await lchown(path, owner.uid, owner.gid)
  } catch (error) {
    if (error instanceof InboxError) throw error
    throw new InboxError('usage', `can't write the project to ${folder} (${messageOf(error)})`, { cause: error })
  }
}
