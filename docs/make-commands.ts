// Writes the reference in docs/commands.md from the program's own help: node docs/make-commands.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { loadProgram } from '../src/cli/program.ts'

const file = join(import.meta.dirname, 'commands.md')
const marker = '<!-- What follows is made by: node docs/make-commands.ts -->\n'

/** The page as it should be: the hand-written part, then the reference. */
export async function commandsPage(): Promise<string> {
  const [written = ''] = readFileSync(file, 'utf8').split(marker)
  const parts = commandsBelow(await loadProgram()).flatMap((command) => {
    return withAllBelow(command, []).map((text) => ({ group: command.helpGroup(), text }))
  })
  const groups = [...new Set(parts.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const texts = parts.filter((part) => part.group === group).map(({ text }) => text)
    return `\n## ${group.replace(/:$/, '')}\n${texts.join('')}`
  })
  return `${written}${marker}${sections.join('')}`
}

/** Without the command `help`, which commander adds. */
function commandsBelow(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((below) => command.commands.includes(below))
}

/** The section of a command, followed by the sections of all commands below it. */
function withAllBelow(command: Command, parents: readonly string[]): readonly string[] {
  const path = [...parents, command.name()]
  return [section(command, path), ...commandsBelow(command).flatMap((below) => withAllBelow(below, path))]
}

function section(command: Command, path: readonly string[]): string {
  const help = command.createHelp()
  const examples = examplesOf(command)
  const rows = help
    .visibleOptions(command)
    .filter((option) => !isUsual(option))
    .map((option) => `| \`${option.flags}\` | ${cell(help.optionDescription(option))} |\n`)
  const isGroup = command.commands.length > 0 && command.options.length === 0
  return [
    `\n### ${path.join(' ')}\n\n${sentence(command.description())}\n`,
    isGroup ? '' : `\n\`onchain-inbox ${[...path, command.usage()].join(' ')}\`\n`,
    examples.length === 0 ? '' : `\n\`\`\`sh\n${examples.join('\n')}\n\`\`\`\n`,
    rows.length === 0 ? '' : `\n| Option | |\n|---|---|\n${rows.join('')}`,
  ].join('')
}

/** Whether the hand-written part describes the option once for all commands. */
function isUsual({ long, description }: Option): boolean {
  return long === '--help' || long === '--table' || description.startsWith('print one JSON document')
}

/** The examples in the help of a command, as lines for a shell. Text between them becomes comments. */
export function examplesOf(command: Command): readonly string[] {
  let text = ''
  const before = command.configureOutput()
  command.configureOutput({ ...before, writeOut: (written) => (text += written) }).outputHelp()
  command.configureOutput(before)
  const [, ...parts] = text
    .slice(text.indexOf(command.helpInformation()) + command.helpInformation().length)
    .split(/^Examples?\b.*\n/m)
  const lines = parts.join('').split(/\n\n|\n$/)[0] ?? ''
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => (/^ +\$ /.test(line) ? line.replace(/^ +\$ /, '') : line))
    .map((line) => (/^ {2}\S/.test(line) ? `# ${line.trim()}` : line.replace(/^ {4,}/, '  ')))
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${cell(text.slice(1))}.`
}

/** Escapes what Markdown would read as HTML or as the end of a cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

if (import.meta.main) writeFileSync(file, await commandsPage())
