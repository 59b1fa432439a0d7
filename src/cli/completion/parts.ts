import { flatten, type DescribedCommand, type DescribedOption } from '../command-tree.ts'

/** The words of a command, each with a space before it, as the scripts gather them. */
export function pathText({ path }: DescribedCommand): string {
  return path.map((word) => ` ${word}`).join('')
}

/** A name for functions of a shell. */
export function functionName(name: string): string {
  return `_${name.replaceAll(/\W/g, '_')}`
}

/** Where an option stands whose values are known: ` events list --type`. */
export function withChoices(program: DescribedCommand) {
  return flagsOf(program, ({ choices }) => choices.length > 0).map(({ place, option }) => ({
    place,
    values: option.choices,
  }))
}

/** Where an option stands behind which comes a value that is not known: a number, a file. */
export function valueless(program: DescribedCommand): readonly string[] {
  return flagsOf(program, ({ takesValue, choices }) => takesValue && choices.length === 0).map(({ place }) => place)
}

function flagsOf(program: DescribedCommand, isWanted: (option: DescribedOption) => boolean) {
  return flatten(program).flatMap((command) =>
    command.options
      .filter(isWanted)
      .flatMap((option) => option.flags.map((flag) => ({ place: `${pathText(command)} ${flag}`, option }))),
  )
}
