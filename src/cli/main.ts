import { loadProgram } from './commands.ts'
import { runProgram } from './program.ts'

await runProgram(await loadProgram(process.argv[2]))
