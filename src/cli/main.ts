import { addBackupCommands } from './backup.ts'
import { addCheckCommand } from './check.ts'
import { addDeadCommand } from './dead.ts'
import { addDemoCommand } from './demo.ts'
import { addDoctorCommand } from './doctor.ts'
import { addEmulatorCommand } from './emulator.ts'
import { addEventsCommand } from './events.ts'
import { addHandlersCommand } from './handlers.ts'
import { addQuarantineCommand } from './quarantine.ts'
import { addPruneCommand } from './prune.ts'
import { addReplayCommand, addReplaysCommand } from './replay.ts'
import { createProgram, runProgram } from './program.ts'
import { addServeCommand } from './serve.ts'
import { addVerifyCommand } from './verify.ts'
import { checkHandlers } from '../dispatch/check-handlers.ts'
import { version } from '../version.ts'

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
