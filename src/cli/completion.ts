import { Argument, type Command, type Option } from 'commander'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { internalEventTypes } from '../../schema/internal.ts'
import { eventStatuses } from '../inbox/port.ts'
import { printBytes } from './output.ts'

/** Suggested values by option or argument name. Other values are valid too. */
const suggestedValues: Record<string, readonly string[]> = {
  type: eventTypes,
  network: networkIds,
  status: eventStatuses,
}

/** Candidates by the words typed so far: `events` gives commands, `events -` flags, `events --type` values. An empty list: file names. */
function contextsOf(command: Command, path = ''): readonly (readonly [context: string, words: readonly string[]])[] {
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command).filter((shown) => command.commands.includes(shown))
  const flags = help
    .visibleOptions(command)
    .flatMap((option) => [option.short ?? [], option.long ?? []].flat().map((flag) => ({ flag, option })))
  const flagWords = flags.map(({ flag }) => flag)
  const commandWords = subcommands.map((subcommand) => subcommand.name())
  const argument = command.registeredArguments.slice(0, 1)
  return [
    [path, subcommands.length + argument.length === 0 ? flagWords : [...commandWords, ...argument.flatMap(valuesOf)]],
    [`${path} -`, flagWords],
    ...flags
      .filter(({ option }) => option.required || option.optional)
      .map(({ flag, option }) => [`${path} ${flag}`, valuesOf(option)] as const),
    ...subcommands.flatMap((subcommand) => contextsOf(subcommand, `${path} ${subcommand.name()}`)),
  ]
}

function valuesOf(parameter: Option | Argument): readonly string[] {
  // `trigger <type>` takes event types of the sender only. `--type` filters also find events of the inbox itself.
  const internal = parameter instanceof Argument || parameter.name() !== 'type' ? [] : internalEventTypes
  return parameter.argChoices ?? [...(suggestedValues[parameter.name()] ?? []), ...internal]
}

// For bash 3.2 and later, which splits `--status=dead` into three words, and for zsh.
const posix = {
  escape: (text: string) => text.replaceAll("'", `'\\''`),
  row: (context: string, print: string) => `  ${context}) ${print} ;;`,
}
const posixFunctions = (rows: string) => `
_onchain_inbox_at() {\n  case "$1" in\n${rows}\n  *) return 1 ;;\n  esac\n}
_onchain_inbox_words() {
  local cur=$1 at= prev= word; shift
  for word; do
    [[ $word == = ]] || prev=$word
    [[ $word != -* ]] && _onchain_inbox_at "$at $word" >/dev/null && at="$at $word"
  done
  _onchain_inbox_at "$at $prev" || { [[ $cur == -* ]] && at="$at -"; _onchain_inbox_at "$at"; }
}`

const shells = {
  bash: {
    ...posix,
    script: (rows: string) => `${posixFunctions(rows)}
_onchain_inbox() {
  local cur=\${COMP_WORDS[COMP_CWORD]#=}
  COMPREPLY=($(compgen -W "$(_onchain_inbox_words "$cur" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "$cur"))
}
complete -o bashdefault -o default -F _onchain_inbox onchain-inbox`,
  },
  // zsh loads the function from a file of the same name. The loaded function replaces it.
  zsh: {
    ...posix,
    script: (rows: string) => `#compdef onchain-inbox${posixFunctions(rows)}
_onchain-inbox() {
  local -a found=("\${(@f)$(_onchain_inbox_words "$words[CURRENT]" "\${(@)words[2,CURRENT-1]}")}")
  if [[ -n $found ]]; then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _onchain-inbox ]]; then _onchain-inbox "$@"; else compdef _onchain-inbox onchain-inbox; fi`,
  },
  fish: {
    escape: (text: string) => text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`),
    row: (context: string, print: string) => `  case ${context}; ${print}`,
    script: (
      rows: string,
    ) => `function _onchain_inbox_at\n  switch "$argv[1]"\n${rows}\n  case '*'; return 1\n  end\nend
function _onchain_inbox
  set -l at ''
  set -l words (commandline -opc)
  for word in $words[2..-1]
    if not string match -q -- '-*' $word; and _onchain_inbox_at "$at $word" >/dev/null; set at "$at $word"; end
  end
  _onchain_inbox_at "$at $words[-1]"; and return
  if string match -q -- '-*' (commandline -ct); set at "$at -"; end
  _onchain_inbox_at $at
end
complete -c onchain-inbox -n 'count (_onchain_inbox) >/dev/null' -f -a '(_onchain_inbox)'`,
  },
}

const help = `
Examples:
    $ onchain-inbox completion bash > ~/.local/share/bash-completion/completions/onchain-inbox
  for zsh, in a folder of its fpath
    $ onchain-inbox completion zsh > ~/.zfunc/_onchain-inbox
    $ onchain-inbox completion fish > ~/.config/fish/completions/onchain-inbox.fish

The script completes the command \`onchain-inbox\`, not \`npx onchain-inbox\`. Write it again after an update.`

/** Adds `completion`. The program must have loaded all its commands before `completion` runs (docs/decisions/0020). */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('Print a completion script for bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(shells)))
    .addHelpText('after', help)
    .action((name: keyof typeof shells) => {
      const { escape, row, script } = shells[name]
      const quote = (text: string) => `'${escape(text)}'`
      const rows = contextsOf(program).map(([context, words]) =>
        row(quote(context), words.length === 0 ? '' : ["printf '%s\\n'", ...words.map(quote)].join(' ')),
      )
      printBytes(`${script(rows.join('\n'))}\n`)
    })
}
