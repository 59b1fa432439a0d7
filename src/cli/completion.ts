import { Argument, type Command } from 'commander'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { eventStatuses } from '../inbox/port.ts'
import { describeCommand, type DescribedCommand } from './command-tree.ts'
import { bashCompletion } from './completion/bash.ts'
import { fishCompletion } from './completion/fish.ts'
import { zshCompletion } from './completion/zsh.ts'
import { printBytes } from './output.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

const scripts: Readonly<Record<Shell, (program: DescribedCommand, name: string) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

const help = `
Examples:
  for bash, with the package bash-completion
    $ mkdir -p ~/.local/share/bash-completion/completions
    $ onchain-inbox completion bash > ~/.local/share/bash-completion/completions/onchain-inbox
  for bash without it: the same into another file, and in ~/.bashrc: source that-file
    $ onchain-inbox completion bash > ~/.onchain-inbox.bash
  for zsh, into a folder of its fpath; for this one, in ~/.zshrc before compinit: fpath+=(~/.zfunc)
    $ mkdir -p ~/.zfunc
    $ onchain-inbox completion zsh > ~/.zfunc/_onchain-inbox
  for fish
    $ mkdir -p ~/.config/fish/completions
    $ onchain-inbox completion fish > ~/.config/fish/completions/onchain-inbox.fish

What it completes is the command \`onchain-inbox\`, as \`npm install -g onchain-inbox\` makes it, and not \`npx onchain-inbox\`.

Make it anew after an update. A file is better than \`source <(…)\`: that takes a second at each start of the shell.
`

/**
 * `onchain-inbox completion bash|zsh|fish`: prints a script for the shell. All other commands must be in the program
 * (docs/decisions/0020-completion-scripts-know-the-commands.md).
 */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that has a shell complete commands, options and known values')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText('after', help)
    .action((shell: Shell) => {
      const known = { type: eventTypes, network: networkIds, status: eventStatuses }
      printBytes(scripts[shell](describeCommand(program, known), program.name()))
    })
}
