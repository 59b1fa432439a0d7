import type { Command } from 'commander'

/** A command as help, pages and completion show it. */
export interface DescribedCommand {
  /** The words it is called by, without the name of the program: none for the program itself. */
  readonly path: readonly string[]
  readonly description: string
  /** Its arguments, and whether it has options: `[options] <file>`. Empty where it does nothing without a sub-command. */
  readonly usage: string
  readonly commands: readonly DescribedCommand[]
  readonly options: readonly DescribedOption[]
  readonly takesArguments: boolean
  /** What its first argument may be, if that is one of a few. */
  readonly choices: readonly string[]
}

export interface DescribedOption {
  /** As help shows it: `-n, --count <number>`. */
  readonly written: string
  /** As they are written: `-n`, `--count`. */
  readonly flags: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  /** What the value may be, if that is one of a few. */
  readonly choices: readonly string[]
}

/** Known values by the name of an option or argument that takes other ones as well. */
export type KnownValues = Readonly<Record<string, readonly string[]>>

/** Describes a command with all that are below it. */
export function describeCommand(
  command: Command,
  known: KnownValues = {},
  path: readonly string[] = [],
): DescribedCommand {
  const valuesOf = (name: string, choices: readonly string[] | undefined) => choices ?? known[name] ?? []
  const [argument] = command.registeredArguments
  const help = command.createHelp()
  return {
    path,
    description: command.description(),
    usage: path.length > 0 && isGroup(command) ? '' : command.usage(),
    commands: help
      .visibleCommands(command)
      .filter((below) => command.commands.includes(below))
      .map((below) => describeCommand(below, known, [...path, below.name()])),
    options: help.visibleOptions(command).map((option) => ({
      written: option.flags,
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: help.optionDescription(option),
      takesValue: option.required || option.optional,
      choices: valuesOf(option.name(), option.argChoices),
    })),
    takesArguments: argument !== undefined,
    choices: argument === undefined ? [] : valuesOf(argument.name(), argument.argChoices),
  }
}

/** Commands whose options are only that of help. */
function isGroup({ commands, options }: Command): boolean {
  return commands.length > 0 && options.length === 0
}

/** The examples in the help of a command, as lines for a shell; what is said of them are comments. */
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

/** The command and all below it, in the order of help. */
export function flatten(command: DescribedCommand): readonly DescribedCommand[] {
  return [command, ...command.commands.flatMap(flatten)]
}
