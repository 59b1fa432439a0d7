import type { Command } from 'commander'
import { version } from '../base/version.ts'
import { createProgram } from './program.ts'

/** Adds what a file has to add. A file is loaded only when its command is wanted: all of them together take a second. */
type Load = () => Promise<(program: Command) => void>

const loadRest = (name: string) => async () => {
  const { addRestCommands } = await import('./rest-commands.ts')
  return (program: Command) => addRestCommands(program, name)
}

/** All commands, in the groups and the order of help. */
const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Start:': {
    init: async () => (await import('./init.ts')).addInitCommand,
    demo: async () => (await import('./demo.ts')).addDemoCommand,
    check: async () => {
      const [{ addCheckCommand }, { checkHandlers }] = await Promise.all([
        import('./check.ts'),
        import('../dispatch/check-handlers.ts'),
      ])
      return (program) => addCheckCommand(program, { checkHandlers })
    },
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
  },
  'Database:': {
    migrate: async () => (await import('./migrate.ts')).addMigrateCommand,
    backup: async () => (await import('./backup.ts')).addBackupCommand,
    restore: async () => (await import('./backup.ts')).addRestoreCommand,
    move: async () => (await import('./move.ts')).addMoveCommand,
    prune: async () => (await import('./prune.ts')).addPruneCommand,
  },
  'Service:': {
    subscribe: async () => (await import('./subscribe.ts')).addSubscribeCommand,
    ...Object.fromEntries(
      ['webhooks', 'alerts', 'tokens', 'wallets', 'networks'].map((name) => [name, loadRest(name)]),
    ),
  },
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

/** Those that are about all others. */
const aboutAll: readonly string[] = ['completion']
/** What is answered without any of them. */
const versionFlags: readonly string[] = ['-V', '--version']

/**
 * The program with the one command of this name, or with none for its version, or with all: for help, to say which of them was
 * meant by a name that is none, and for a command that is about all others.
 */
export async function loadProgram(name = ''): Promise<Command> {
  const program = createProgram()
    .description('Receives signed on-chain events, stores them before it acknowledges them, and runs handlers on each.')
    .version(version, versionFlags.join(', '))
  if (versionFlags.includes(name)) return program
  const isOne = !aboutAll.includes(name) && Object.values(groups).some((group) => Object.hasOwn(group, name))
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading)
    for (const [known, load] of Object.entries(group)) if (!isOne || known === name) (await load())(program)
  }
  return program.helpCommand(true)
}
