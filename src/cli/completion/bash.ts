import { flatten, type DescribedCommand } from '../command-tree.ts'
import { functionName, pathText, valueless, withChoices } from './parts.ts'

/** A script for bash, from 3.2 on. It knows all commands by itself: nothing is started at a press of Tab. */
export function bashCompletion(program: DescribedCommand, name: string): string {
  const all = flatten(program)
  const fn = functionName(name)
  const quote = (text: string) => `'${text}'`
  const paths = all.slice(1).map((command) => quote(pathText(command)))
  const choices = withChoices(program).map(
    ({ place, values }) => `    ${quote(place)}) words='${values.join(' ')}'; flags=$words ;;`,
  )
  const free = valueless(program).map(quote)
  const commands = all.map((command) => {
    const flags = command.options.flatMap((option) => option.flags).join(' ')
    const below = [...command.commands.map(({ path }) => path.at(-1)), ...command.choices].join(' ')
    return `    ${quote(pathText(command))}) words='${below}'; flags='${flags}'; takes=${command.takesArguments ? 1 : ''} ;;`
  })
  return `# Completion of ${name} for bash. Made by: ${name} completion bash
${fn}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at= words= flags= takes= i
  if [[ $cur == = ]]; then cur=
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${paths.join('|')}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${commands.join('\n')}
  esac
  case "$at $prev" in
${choices.join('\n')}
    ${free.join('|')}) return ;;
  esac
  if [[ $cur == -* || ( -z $words && -z $takes ) ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F ${fn} ${name}
`
}
