import type { Command } from 'commander'
import { basename, relative } from 'node:path'
import { fromCwd, host } from './host.ts'
import { newSecret, packageName, projectFiles } from './init/project.ts'
import { refuseUsedFolder, writeProject } from './init/write.ts'
import { version } from '../base/version.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'

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
