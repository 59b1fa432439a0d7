import { nearest } from '../base/edit-distance.ts'
import { defaultSource } from '../inbox/port.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** A source of the settings. */
export interface KnownSource {
  readonly name: string
  /** Null: the settings describe the sender themselves. */
  readonly provider: string | null
}

/** One line per handler or sink with an unknown source, or with another provider than that of its source. */
export function findSourceProblems(
  handlers: readonly Pick<ResolvedHandler, 'file' | 'sources' | 'provider'>[],
  known: readonly KnownSource[],
): string[] {
  const names = [defaultSource, '*', ...known.map(({ name }) => name)]
  return handlers.flatMap(({ file, sources = [defaultSource], provider }) => [
    ...sources
      .filter((name) => !names.includes(name))
      .map((name) => `${file}: source must be one of ${names.join(', ')} (got "${name}")${nearest(name, names)}`),
    ...sources
      .filter((name) => provider !== undefined && names.includes(name) && providerOf(name, known) !== provider)
      .map(
        (name) =>
          `${file}: provider must be that of the source ${name}: ${providerOf(name, known) ?? 'none'} (got "${provider}")`,
      ),
  ])
}

function providerOf(source: string, known: readonly KnownSource[]): string | null {
  return known.find(({ name }) => name === source)?.provider ?? null
}
