import { flatten, type DescribedCommand } from '../command-tree.ts'
import { pathText, valueless, withChoices } from './parts.ts'

const longestText = 80

/** A script for zsh. It knows all commands by itself: nothing is started at a press of Tab. */
export function zshCompletion(program: DescribedCommand, name: string): string {
  const all = flatten(program)
  // As the file is called that zsh loads it from: so loaded, the function takes the place of the file.
  const fn = `_${name}`
  const paths = all.slice(1).map((command) => quote(pathText(command)))
  const choices = withChoices(program).map(
    ({ place, values }) => `    (${quote(place)}) found=(${values.map(quote).join(' ')}) ;;`,
  )
  const free = valueless(program).map(quote)
  const flags = all.map(
    (command) =>
      `        (${quote(pathText(command))}) found=(${command.options
        .flatMap((option) => option.flags.map((flag) => entry(flag, option.description)))
        .join(' ')}) ;;`,
  )
  const below = all.flatMap((command) => {
    const words = [
      ...command.commands.map(({ path, description }) => entry(path.at(-1) ?? '', description)),
      ...command.choices.map(quote),
    ]
    return words.length === 0 ? [] : [`        (${quote(pathText(command))}) found=(${words.join(' ')}) ;;`]
  })
  return `#compdef ${name}
# Completion of ${name} for zsh. Made by: ${name} completion zsh
${fn}() {
  local at= cur=$words[CURRENT] prev=$words[CURRENT-1] word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${paths.join('|')}) at="$at $word" ;;
    esac
  done
  case "$at $prev" in
${choices.join('\n')}
    (${free.join('|')}) ;;
    (*)
      if [[ $cur == -* ]]; then case "$at" in
${flags.join('\n')}
      esac
      else case "$at" in
${below.join('\n')}
      esac; fi ;;
  esac
  if (( $#found )); then _describe ${name} found; else _files; fi
}
if [[ $funcstack[1] == ${fn} ]]; then ${fn} "$@"; else compdef ${fn} ${name}; fi
`
}

function entry(word: string, description: string): string {
  const text = description.slice(0, longestText)
  return quote(`${word}:${text}`)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
