#!/usr/bin/env node
import { addBackupCommands } from './cli/backup.ts'
import { addCheckCommand } from './cli/check.ts'
import { addDeadCommand } from './cli/dead.ts'
import { addDemoCommand } from './cli/demo.ts'
import { addDoctorCommand } from './cli/doctor.ts'
import { addEmulatorCommand } from './cli/emulator.ts'
import { addEventsCommand } from './cli/events.ts'
import { addHandlersCommand } from './cli/handlers.ts'
import { addQuarantineCommand } from './cli/quarantine.ts'
import { addPruneCommand } from './cli/prune.ts'
import { addReplayCommand, addReplaysCommand } from './cli/replay.ts'
import { createProgram, runProgram } from './cli/program.ts'
import { addServeCommand } from './cli/serve.ts'
import { addVerifyCommand } from './cli/verify.ts'
import { checkHandlers } from './dispatch/check-handlers.ts'
import { version } from './version.ts'

const program = createProgram()
  .description('Receives signed on-chain events, stores them before it acknowledges them, and runs handlers on each.')
  .version(version)

addServeCommand(program)
addDemoCommand(program)
addEmulatorCommand(program)
addCheckCommand(program, { checkHandlers })
addVerifyCommand(program)
addEventsCommand(program)
addReplayCommand(program)
addReplaysCommand(program)
addDeadCommand(program)
addQuarantineCommand(program)
addHandlersCommand(program)
addPruneCommand(program)
addBackupCommands(program)
addDoctorCommand(program)

await runProgram(program)
