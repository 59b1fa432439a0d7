import { judgeAccepted } from '../judge.ts'
import { defineScenario, type TestEvent } from '../port.ts'

interface Profile {
  readonly symbol?: string
  /** How the JSON is written. */
  readonly how: string
  readonly write: (event: Envelope) => string
}

interface Envelope {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

const amount = 987_654
const beyondAscii = 'PEPÉ🐸'
const plain = (event: Envelope) => JSON.stringify(event)

/** Ways to write one and the same event, none of which every JSON library would choose. */
const profiles: Readonly<Record<string, Profile>> = {
  spaces: { how: 'a space after each comma and colon', write: withSpaces },
  indented: { how: 'line breaks and indentation', write: (event) => JSON.stringify(event, null, 2) },
  'line-break': { how: 'a line break at the end', write: (event) => `${plain(event)}\n` },
  decimals: { how: 'a whole number as 987654.0', write: (event) => plain(event).replace(`:${amount}`, `:${amount}.0`) },
  exponents: { how: 'a number as 9.87654e5', write: (event) => plain(event).replace(`:${amount}`, ':9.87654e5') },
  escapes: {
    how: 'letters as \\u00c9, \\u0065 and \\/',
    symbol: beyondAscii,
    write: (event) => escapeNonAscii(plain(event)).replace('"ethereum"', '"\\u0065thereum"').replace('a/b', 'a\\/b'),
  },
  utf8: { how: 'letters beyond ASCII as they are', symbol: beyondAscii, write: plain },
  'key-order': {
    how: 'members in another order',
    write: ({ id, type, created_at, data }) =>
      JSON.stringify({ data: Object.fromEntries(Object.entries(data).toReversed()), created_at, type, id }),
  },
}

/** Events whose JSON is not written as the receiver would write it, signed over exactly these bytes. */
export const rawBytes = defineScenario({
  name: 'raw-bytes',
  checks: Object.fromEntries(
    Object.entries(profiles).map(([name, { how }]) => [name, { rule: 'R73', title: `JSON with ${how} is taken` }]),
  ),
  async run({ newEvent, deliver, timeoutMs }, tell) {
    const todo =
      'compute the digest over the bytes as they came, before any parser: JSON that was parsed and written anew has other bytes'
    for (const [name, { how, symbol = 'PEPE', write }] of Object.entries(profiles)) {
      const event = rewrite(newEvent({ data: { amount_usd: amount, token_symbol: symbol } }), write)
      const answers = [await deliver(event)]
      const isRefused = answers.some(({ status }) => status === 401)
      const sent = `an event whose JSON has ${how}, signed over these bytes`
      tell(name, judgeAccepted({ sent, answers, timeoutMs, ...(isRefused && { todo }) }))
    }
  },
})

function rewrite({ id, body }: TestEvent, write: Profile['write']): TestEvent {
  const event = JSON.parse(body.toString()) as Envelope
  return { id, body: Buffer.from(write({ ...event, data: { ...event.data, note: 'a/b' } })) }
}

function withSpaces(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${withSpaces(member)}`)
  return `{${members.join(', ')}}`
}

function escapeNonAscii(text: string): string {
  return text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
