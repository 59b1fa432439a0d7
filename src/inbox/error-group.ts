import type { RunError } from './port.ts'

/** Error of a dead letter without a recorded error. */
export const unknownError: RunError = { name: 'unknown', message: 'no error was recorded' }

/** Numbers and addresses. Errors that differ only in these share a group. */
const variableParts = /0x[0-9a-f]{6,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[1-9A-HJ-NP-Za-km-z]{32,88}|\d+(?:\.\d+)?/gi
/** Maximum characters of the error and of the frame in a group. */
const maxError = 200
const maxFrame = 150
/** Maximum characters of a group. */
export const maxErrorGroup = maxError + 1 + maxFrame

/**
 * The group of an error, from its name, the first line of its message and the top frame of its stack:
 * `TypeError: no amount in # at run (handlers/ledger.ts:12:9)`. Must stay stable: links and stored rows contain it.
 */
export function errorGroupOf({ name, message, stack }: RunError): string {
  const [line = ''] = message.split('\n', 1)
  // Cutting may leave half a surrogate pair, which a URL can't contain.
  const error = `${name}: ${line.slice(0, 1_000).replaceAll(variableParts, '#')}`.slice(0, maxError).toWellFormed()
  // A path differs between machines; its last two parts don't.
  const frame =
    handlerFrame(stack)
      ?.replace(/\/[^()]*\/(?=[^/]+\/[^/]+$)/, '')
      .toWellFormed() ?? ''
  return frame === '' || frame.length > maxFrame ? error : `${error} ${frame}`
}

/** The top frame in a group; null for an error without one, and for groups of older versions. */
export function frameOf(group: string): string | null {
  // Only a frame ends with digits: in the error they are replaced.
  return / (at (?:(?! at ).)+:\d+:\d+\)?)$/.exec(group)?.[1] ?? null
}

const programFiles = new URL('..', import.meta.url).href
/** Handlers of the demo are in the program's folder, but count as the user's code. */
const demoHandlers = new URL('../cli/demo/', import.meta.url).href

/** The first stack frame in the user's own code: `at run (/…/handlers/trades.ts:8:11)`. Undefined if there is none. */
export function handlerFrame(stack: string | null | undefined): string | undefined {
  const frames = (stack ?? '').split('\n').filter((line) => /^ +at .*\/.*:\d+:\d+\)?$/.test(line))
  return frames
    .find((line) => {
      const isProgram = line.includes(programFiles) && !line.includes(demoHandlers)
      return !isProgram && !/node:|\/node_modules\//.test(line)
    })
    ?.trim()
    .replace('file://', '')
}
