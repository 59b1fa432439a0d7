import { createSecretKey, type KeyObject } from 'node:crypto'
import { InboxError } from '../base/errors.ts'

/** A webhook secret. Its text is only inside `key`, where neither a log, `inspect` nor JSON shows it. */
export interface Secret {
  readonly label: string
  readonly key: KeyObject
}

interface Item {
  readonly label: string | undefined
  readonly text: string
}

const minSecretLength = 16
const labelled = /^([a-z][a-z0-9-]{0,31}):([^]*)$/
const labelPattern = /^[a-z][a-z0-9-]{0,31}$/

/**
 * Reads INBOX_SECRETS: items separated by commas (or an array of items), each a secret or `label:secret` (A30, A32).
 * The default label is `secret-1`, `secret-2`, … by position. Secrets with commas need INBOX_SECRETS_FILE.
 *
 * @throws InboxError `config_invalid` with positions only: a "label" may be part of a secret with a colon
 */
export function parseSecrets(text: string | readonly string[]): readonly Secret[] {
  const items = typeof text === 'string' ? text.split(',') : text
  return toSecrets(
    items.map((item) => {
      const [, label, secret] = labelled.exec(item.trim()) ?? []
      return { label, text: secret ?? item }
    }),
  )
}

/**
 * Reads the text of INBOX_SECRETS_FILE: a JSON object `{"label": "secret"}`, or the one secret itself (A30).
 *
 * @throws InboxError `config_invalid`, without the content
 */
export function parseSecretsFile(text: string): readonly Secret[] {
  // Also removes a byte-order mark.
  const content = text.trim()
  if (!/^[{[]/.test(content)) return toSecrets([{ label: undefined, text: content }])

  const entries = Object.entries(parseObject(content))
  // JSON.parse silently drops repeated keys. A flat object has two strings per entry.
  const strings = content.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
  if (strings > entries.length * 2) throw invalid(['the same label occurs twice'])
  return toSecrets(entries.map(([label, secret]) => ({ label, text: secret })))
}

function parseObject(content: string): Record<string, string> {
  const expected = 'expected a JSON object {"label": "secret"} (also for a secret that begins with { or [)'
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    // The parser's message quotes the secret text.
    throw invalid([`the text begins like JSON but is not: ${expected}`])
  }
  if (!isStringRecord(value)) throw invalid([expected])
  return value
}

function isStringRecord(value: unknown): value is Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every((entry) => typeof entry === 'string')
}

/** White space around a secret is not part of it. */
function toSecrets(untrimmed: readonly Item[]): readonly Secret[] {
  const items = untrimmed.map(({ label, text }) => ({ label, text: text.trim() }))
  const problems = items.flatMap((item, index) => problemOf(item).map((problem) => `item ${index + 1} ${problem}`))
  if (items.length === 0) problems.push('there is no secret in it, expected at least one')

  const positions = new Map<string, number>()
  const labels = items.map((item, index) => item.label ?? `secret-${index + 1}`)
  for (const [index, label] of labels.entries()) {
    const first = positions.get(label)
    if (first === undefined) positions.set(label, index + 1)
    else problems.push(`items ${first} and ${index + 1} have the same label, expected different ones`)
  }
  if (problems.length > 0) throw invalid(problems)

  return Object.freeze(
    items.map((item, index) =>
      Object.freeze({ label: labels[index] ?? '', key: createSecretKey(Buffer.from(item.text, 'utf8')) }),
    ),
  )
}

/** A line break, a NUL or U+FFFD (from undecodable bytes) shows a damaged file. */
export function isDamaged(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f\ufffd]/.test(text) || !text.isWellFormed()
}

function problemOf({ label, text }: Item): string[] {
  const problems: string[] = []
  if (label !== undefined && !labelPattern.test(label)) {
    problems.push('has an invalid label, expected a-z, 0-9 and "-", a letter first, at most 32 characters')
  }
  const { length } = text
  if (length === 0) problems.push('is empty')
  else if (length < minSecretLength) {
    problems.push(`has a secret of ${length} characters, expected at least ${minSecretLength}`)
  }
  if (isDamaged(text)) {
    problems.push('holds a line break, a control character or bytes that are not UTF-8, expected one line of text')
  }
  return problems
}

function invalid(problems: readonly string[]): InboxError {
  return new InboxError('config_invalid', problems.join('; '))
}
