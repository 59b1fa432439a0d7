// Makes the reference in docs/commands.md from what the program says of itself: node docs/make-commands.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  describeCommand,
  examplesOf,
  flatten,
  type DescribedCommand,
  type DescribedOption,
} from '../src/cli/command-tree.ts'
import { loadProgram } from '../src/cli/commands.ts'

const file = join(import.meta.dirname, 'commands.md')
const marker = '<!-- What follows is made by: node docs/make-commands.ts -->\n'

/** The page as it should be: what people wrote, and below it what the program says. */
export async function commandsPage(): Promise<string> {
  const [written = ''] = readFileSync(file, 'utf8').split(marker)
  const program = await loadProgram()
  const parts = describeCommand(program).commands.flatMap((command) => {
    const group = program.commands.find((one) => one.name() === command.path[0])?.helpGroup() ?? ''
    return flatten(command).map((one) => ({ group, text: section(one) }))
  })
  const groups = [...new Set(parts.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const texts = parts.filter((part) => part.group === group).map(({ text }) => text)
    return `\n## ${group.replace(/:$/, '')}\n${texts.join('')}`
  })
  return `${written}${marker}${sections.join('')}`

  function section({ path, description, usage, options }: DescribedCommand): string {
    const examples = examplesOf(path.reduce((command, name) => findBelow(command, name), program))
    const rows = options
      .filter((option) => !isUsual(option))
      .map(({ written: names, description: text }) => `| \`${names}\` | ${cell(text)} |\n`)
    return [
      `\n### ${path.join(' ')}\n\n${sentence(description)}\n`,
      usage === '' ? '' : `\n\`onchain-inbox ${[...path, usage].join(' ')}\`\n`,
      examples.length === 0 ? '' : `\n\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`,
      rows.length === 0 ? '' : `\n| Option | |\n|---|---|\n${rows.join('')}`,
    ].join('')
  }
}

/** What the page says once for all. */
function isUsual({ flags, description }: DescribedOption): boolean {
  return flags.some((flag) => ['--help', '--table'].includes(flag)) || description.startsWith('print one JSON document')
}

type Program = Awaited<ReturnType<typeof loadProgram>>

function findBelow(command: Program, name: string): Program {
  const found = command.commands.find((one) => one.name() === name)
  if (found === undefined) throw new Error(`there is no command ${name} below ${command.name()}`)
  return found
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${cell(text.slice(1))}.`
}

/** Nothing of it is to be read as HTML, or as the end of a cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

if (import.meta.main) writeFileSync(file, await commandsPage())
