#!/usr/bin/env -S node --max-semi-space-size=8
import { Command } from 'commander'
import { addCheckCommand } from './cli/check.ts'
import { addDeadCommand } from './cli/dead.ts'
import { addDemoCommand } from './cli/demo.ts'
import { addEmulatorCommand } from './cli/emulator.ts'
import { addEventsCommand } from './cli/events.ts'
import { addServeCommand } from './cli/serve.ts'
import { addVerifyCommand } from './cli/verify.ts'
import { checkHandlers } from './dispatch/check-handlers.ts'
import { version } from './version.ts'

const program = new Command('onchain-inbox')
  .description('Receives signed on-chain events, stores them before it acknowledges them, and runs handlers on each.')
  .version(version)
  .showHelpAfterError('(--help shows what is possible)')

addServeCommand(program)
addDemoCommand(program)
addEmulatorCommand(program)
addCheckCommand(program, { checkHandlers })
addVerifyCommand(program)
addEventsCommand(program)
addDeadCommand(program)

await program.parseAsync()
