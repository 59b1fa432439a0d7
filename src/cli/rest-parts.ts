import { Option } from 'commander'
import { networkIds } from '../../schema/index.ts'
import { renderTable } from './output.ts'
import { cellOf } from './rest-client.ts'

// What several commands on the service have in common.

export function networkOption(): Option {
  return new Option('--network <network>', 'on which network').choices(networkIds)
}

/** The members of an object, one a line: those of objects in it behind a dot. */
export function renderFacts(title: string, value: object): string {
  const rowsOf = (part: object, prefix: string): string[][] =>
    Object.entries(part).flatMap(([name, member]: [string, unknown]) => {
      const isNested =
        typeof member === 'object' && member !== null && Object.getPrototypeOf(member) === Object.prototype
      return isNested ? rowsOf(member, `${prefix}${name}.`) : [[prefix + name, cellOf(member)]]
    })
  return renderTable([title, ''], rowsOf(value, ''))
}
