import type { Command } from 'commander'
import { version } from '../version.ts'
import { createProgram, runProgram } from './program.ts'

/** Adds what a file has to add. A file is loaded only when its command is wanted: all of them together take a second. */
type Load = () => Promise<(program: Command) => void>

const load: Readonly<Record<string, Load>> = {
  serve: async () => (await import('./serve.ts')).addServeCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
  emulator: async () => (await import('./emulator.ts')).addEmulatorCommand,
  trigger: async () => (await import('./trigger.ts')).addTriggerCommand,
  conformance: async () => (await import('./conformance.ts')).addConformanceCommand,
  check: async () => {
    const [{ addCheckCommand }, { checkHandlers }] = await Promise.all([
      import('./check.ts'),
      import('../dispatch/check-handlers.ts'),
    ])
    return (program) => addCheckCommand(program, { checkHandlers })
  },
  verify: async () => (await import('./verify.ts')).addVerifyCommand,
  events: async () => (await import('./events.ts')).addEventsCommand,
  replay: async () => (await import('./replay.ts')).addReplayCommand,
  replays: async () => (await import('./replay.ts')).addReplaysCommand,
  dead: async () => (await import('./dead.ts')).addDeadCommand,
  quarantine: async () => (await import('./quarantine.ts')).addQuarantineCommand,
  handlers: async () => (await import('./handlers.ts')).addHandlersCommand,
  prune: async () => (await import('./prune.ts')).addPruneCommand,
  backup: async () => (await import('./backup.ts')).addBackupCommand,
  restore: async () => (await import('./backup.ts')).addRestoreCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
}

const program = createProgram()
  .description('Receives signed on-chain events, stores them before it acknowledges them, and runs handlers on each.')
  .version(version)

const name = process.argv[2] ?? ''
const wanted = Object.hasOwn(load, name) ? load[name] : undefined
// For help, and to say which of them was meant, all are there.
for (const one of wanted === undefined ? Object.values(load) : [wanted]) (await one())(program)

await runProgram(program)
