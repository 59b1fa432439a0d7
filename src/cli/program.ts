import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { InboxError } from '../base/errors.ts'
import { version } from '../base/version.ts'
import { host, withHost, type Host } from './host.ts'
import { printError } from './output.ts'

/** Loads a command's file on demand: all files together take a second. */
type Load = () => Promise<(program: Command) => void>

const loadRest = (name: string) => async () => {
  const { addRestCommands } = await import('./rest-commands.ts')
  return (program: Command) => addRestCommands(program, name)
}

/** All commands, in the order of help. */
const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Start:': {
    init: async () => (await import('./init.ts')).addInitCommand,
    demo: async () => (await import('./demo.ts')).addDemoCommand,
    check: async () => (await import('./check.ts')).addCheckCommand,
    serve: async () => (await import('./serve.ts')).addServeCommand,
    doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  },
  'Events and handlers:': {
    events: async () => (await import('./events.ts')).addEventsCommand,
    dead: async () => (await import('./dead.ts')).addDeadCommand,
    quarantine: async () => (await import('./quarantine.ts')).addQuarantineCommand,
    handlers: async () => (await import('./handlers.ts')).addHandlersCommand,
    replay: async () => (await import('./replay.ts')).addReplayCommand,
    replays: async () => (await import('./replay.ts')).addReplaysCommand,
    reconcile: async () => (await import('./reconcile.ts')).addReconcileCommand,
  },
  'Database:': {
    migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
    backup: async () => (await import('./backup.ts')).addBackupCommand,
    restore: async () => (await import('./backup.ts')).addRestoreCommand,
    move: async () => (await import('./move.ts')).addMoveCommand,
    prune: async () => (await import('./prune.ts')).addPruneCommand,
  },
  'Service:': Object.fromEntries(
    ['webhooks', 'alerts', 'tokens', 'wallets', 'networks'].map((name) => [name, loadRest(name)]),
  ),
  'Development and tests:': {
    emulator: async () => (await import('./emulator.ts')).addEmulatorCommand,
    trigger: async () => (await import('./trigger.ts')).addTriggerCommand,
    verify: async () => (await import('./verify.ts')).addVerifyCommand,
    conformance: async () => (await import('./conformance/command.ts')).addConformanceCommand,
  },
  'Other:': {
    completion: async () => (await import('./completion.ts')).addCompletionCommand,
  },
}

/** Commands that need all others to be loaded. */
const needAll: readonly string[] = ['completion']
/** `init` writes files that others may read, and `conformance` starts the user's own commands. */
const keepUmask: readonly string[] = ['init', 'conformance']
const versionFlags: readonly string[] = ['-V', '--version']

/** Builds the program with only the named command; with none for `--version`; with all for help, suggestions and completion. */
export async function loadProgram(name = ''): Promise<Command> {
  const program = new Command('onchain-inbox')
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput(commandOutput)
    .description('Receive, store and handle signed on-chain events')
    .version(version, versionFlags.join(', '), 'print the version')
    .helpOption('-h, --help', 'show this help')
  if (versionFlags.includes(name)) return program
  const isSingle = !needAll.includes(name) && Object.values(groups).some((group) => Object.hasOwn(group, name))
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading)
    for (const [known, load] of Object.entries(group)) if (!isSingle || known === name) (await load())(program)
  }
  for (const command of [program, ...program.commands.filter(({ commands }) => commands.length > 0)])
    command.helpCommand('help [command]', 'Show the help of a command')
  return program
}

const commandOutput: OutputConfiguration = {
  writeOut: (text) => void host().stdout.write(text),
  writeErr: (text) => void host().stderr.write(text),
  // `printError` reports invalid usage.
  outputError: () => {},
  getOutHelpWidth: () => host().stdout.columns,
  getErrHelpWidth: () => host().stderr.columns,
}

/** Runs one command, and reports its error. */
export async function runCommand(args: readonly string[], commandHost: Host = process): Promise<void> {
  await withHost(commandHost, async () => {
    // Without a listener a failed write would end the process, even a sidecar whose log has lost its reader.
    for (const output of [commandHost.stdout, commandHost.stderr]) output.on('error', () => {})
    // New files may hold events or keys: only their owner may read them.
    if (!keepUmask.includes(args[0] ?? '')) process.umask(0o077)
    try {
      const program = await loadProgram(args[0])
      await program.parseAsync(args, { from: 'user' })
    } catch (error) {
      const isPrinted = error instanceof CommanderError && !isMistake(error)
      const thrown = error instanceof CommanderError ? toUsageError(error) : error
      commandHost.exitCode = isPrinted ? error.exitCode : printError(thrown, { json: args.includes('--json') })
    }
  })
}

/** False for help and version, which commander also throws after printing. */
function isMistake({ code }: CommanderError): boolean {
  return code !== 'commander.help' && code !== 'commander.helpDisplayed' && code !== 'commander.version'
}

/** An invalid URL is not shown: it may hold a password. */
function toUsageError({ message }: CommanderError): InboxError {
  const shown = message
    .replace(/^error: /, '')
    .replace(/(<url>' argument) '.*' (is invalid)/s, '$1 $2')
    .replace(/\n\(Did you mean (.*)\?\)$/, ', did you mean $1?')
  return new InboxError('usage', `${shown} (see --help)`)
}
