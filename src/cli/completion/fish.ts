import { flatten, type DescribedCommand, type DescribedOption } from '../command-tree.ts'
import { functionName, pathText } from './parts.ts'

const longestText = 80

/** A script for fish. It knows all commands by itself: nothing is started at a press of Tab. */
export function fishCompletion(program: DescribedCommand, name: string): string {
  const all = flatten(program)
  const fn = `_${functionName(name)}_at`
  const paths = all.slice(1).map((command) => quote(pathText(command)))
  const lines = all.flatMap((command) => {
    const here = `complete -c ${name} -n ${quote(`${fn} ${quote(pathText(command))}`)}`
    return [
      ...command.commands.map(
        ({ path, description }) => `${here} -f -a ${quote(path.at(-1) ?? '')} -d ${shown(description)}`,
      ),
      ...(command.choices.length === 0 ? [] : [`${here} -f -a ${quote(command.choices.join(' '))}`]),
      ...command.options.map((option) => `${here} ${optionText(option)} -d ${shown(option.description)}`),
    ]
  })
  return `# Completion of ${name} for fish. Made by: ${name} completion fish
function ${fn}
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${paths.join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

function optionText({ flags, takesValue, choices }: DescribedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const value = choices.length > 0 ? [`-x -a ${quote(choices.join(' '))}`] : takesValue ? ['-r'] : []
  return [...names, ...value].join(' ')
}

function shown(description: string): string {
  return quote(description.slice(0, longestText))
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
}
