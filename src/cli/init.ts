import type { Command } from 'commander'
import { basename, relative, dirname, join } from 'node:path'
import { fromCwd, host } from './host.ts'
import { newSecret, packageName, projectFiles, type ProjectFile } from './init/project.ts'
import { version } from '../base/version.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { existsSync } from 'node:fs'
import { chown, readdir, writeFile } from 'node:fs/promises'
import { InboxError, messageOf } from '../base/errors.ts'
import { makeFolder } from '../base/files.ts'

interface InitOptions extends OutputOptions {
  readonly dryRun?: boolean
  readonly package?: string
}

interface Made {
  readonly folder: string
  /** Their paths in the folder. */
  readonly files: readonly string[]
  readonly written: boolean
}

/** Who a container runs as that was made by root. */
const containerUser = 1_000

/** `onchain-inbox init`: writes a project with one handler and its test, which runs as it is. */
export function addInitCommand(program: Command): void {
  const init = program
    .command('init')
    .description('write a ready project: settings, a handler, its test, a Dockerfile and a compose file, and a secret')
    .argument('[folder]', 'an empty folder, or one that is to be made', '.')
    .option('--dry-run', 'only list what would be written')
    .option(
      '--package <spec>',
      'the version of this package that it depends on, or anything else that npm takes',
      version,
    )
    .addHelpText('after', '\nExample:\n  $ onchain-inbox init my-inbox')
  withOutputOptions(init).action(async (folder: string, options: InitOptions) => {
    printResult(await make(fromCwd(folder), options), options, render)
  })
}

async function make(folder: string, options: InitOptions): Promise<Made> {
  const ownUser = process.getuid?.() ?? containerUser
  const user = ownUser === 0 ? containerUser : ownUser
  const files = projectFiles({
    name: packageName(basename(folder)),
    dependency: options.package ?? version,
    user,
    secret: newSecret(),
  })
  await refuseUsedFolder(folder)
  const isWritten = options.dryRun !== true
  if (isWritten) await writeProject(folder, files, { secretOwner: ownUser === 0 ? user : null })
  return { folder, files: files.map(({ path }) => path), written: isWritten }
}

function render({ folder, files, written }: Made): string {
  const list = files.map((file) => `  ${file}`).join('\n')
  if (!written) return `would write to ${folder}:\n${list}`
  const place = relative(host().cwd(), folder)
  const steps = [...(place === '' ? [] : [`cd ${place}`]), 'npm install', 'npm test', 'npm start']
  return `wrote to ${folder}:\n${list}\n\nNext:\n${steps.map((step) => `  ${step}`).join('\n')}\n\nREADME.md says the rest.`
}

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
