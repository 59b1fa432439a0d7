import { codeOf, messageOf } from './errors.ts'

/** Explains why `file` can't be imported, with the place of the mistake. Mistakes at run time also have their stack, a line per frame. */
export function explainImport(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const message = messageOf(error)
  const place = placeIn(stack)
  switch (codeOf(error)) {
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
      return `files are loaded without a build, so TypeScript that needs one is not supported (enum, namespace, parameter property, import =); rewrite or compile it${place}: ${message}`
    case 'ERR_INVALID_TYPESCRIPT_SYNTAX':
      return `invalid TypeScript${place}: ${message}`
    case 'ERR_MODULE_NOT_FOUND':
      return `${message} (packages resolve from the folder of the file; relative imports need a file extension)`
  }
  // An error of a running program, such as that of `JSON.parse`, has frames of its files.
  if (error instanceof SyntaxError && !hasOwnFrame.test(stack))
    return `${error.name}: ${message}${place || ` (\`node --check ${file}\` shows the line if the mistake is in this file)`}`
  return stack === '' ? message : withoutNode(stack)
}

const hasOwnFrame = /^\s+at (?!.*(?:\bnode:|<anonymous>))/m

/** Where a syntax error is, if Node knows it: the stack then begins with file and line. */
function placeIn(stack: string): string {
  const [, place] = /^(\S.*:\d+)\n/.exec(stack) ?? []
  return place === undefined ? '' : ` (${place})`
}

/** Removes Node's internal frames from a stack. */
function withoutNode(stack: string): string {
  const lines = stack.split('\n')
  return lines.filter((line) => !/^\s+at .*\bnode:/.test(line)).join('\n')
}
