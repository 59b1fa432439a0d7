import { sign } from '../../signature/sign.ts'
import { compareAdvice, idsOf, isAccepted, judgeAccepted, judgeRefused, summarize } from '../judge.ts'
import {
  defineScenario,
  failed,
  passed,
  type Answer,
  type Outcome,
  type ScenarioContext,
  type TestEvent,
} from '../port.ts'

interface Forgery {
  readonly rule: string
  readonly title: string
  /** What was done to the right signature, for people. */
  readonly sent: string
  readonly todo?: string
  /** What to do instead if a signature made with another secret was taken as well. */
  readonly todoIfUnkeyed?: string
  /** Value of the header; a list repeats the header; undefined leaves it out. */
  readonly signature: (event: TestEvent, context: ScenarioContext) => string | readonly string[] | undefined
}

const right = ({ body }: TestEvent, { secret }: ScenarioContext) => sign(body, secret)
const wrong = ({ body }: TestEvent) => sign(body, 'a secret that nobody has')
const spread = ({ body }: TestEvent) => Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 2))
const form = 'take a header of exactly 64 hex digits and refuse all else with 401, before the digests are compared'

const forgeries: Readonly<Record<string, Forgery>> = {
  missing: {
    rule: 'A31',
    title: 'a delivery without a signature is refused',
    sent: 'an event without the signature header',
    signature: () => undefined,
  },
  empty: {
    rule: 'A31',
    title: 'an empty signature is refused',
    sent: 'an event with an empty signature header',
    signature: () => '',
  },
  'of-nothing': {
    rule: 'R75',
    title: '64 hex digits that are no digest of the body are refused',
    sent: 'an event with a signature of 64 zeros',
    signature: () => '0'.repeat(64),
  },
  'other-secret': {
    rule: 'R75',
    title: 'a signature made with another secret is refused',
    sent: 'an event signed with another secret',
    signature: wrong,
  },
  'empty-secret': {
    rule: 'R75',
    title: 'a signature made with an empty secret is refused',
    sent: 'an event signed with an empty secret',
    todo: 'one of the secrets of the receiver is empty, such as what follows the last comma of a list: let it refuse to start',
    todoIfUnkeyed: `it takes what is not signed with its secret: ${compareAdvice}`,
    signature: ({ body }) => sign(body, ''),
  },
  'other-event': {
    rule: 'R75',
    title: 'the signature of another event is refused',
    sent: 'an event under the signature of another one',
    signature: (_, context) => right(context.newEvent(), context),
  },
  'other-json': {
    rule: 'R73',
    title: 'a signature over the same JSON in other bytes is refused',
    sent: 'an event under the signature of the same JSON, written with line breaks',
    todo: 'compute the digest over the bytes as they came, not over JSON that was parsed and written anew',
    signature: (event, { secret }) => sign(spread(event), secret),
  },
  prefixed: {
    rule: 'A30',
    title: 'a digest behind sha256= is refused',
    sent: 'the right digest behind sha256=',
    todo: form,
    signature: (event, context) => `sha256=${right(event, context)}`,
  },
  base64: {
    rule: 'A30',
    title: 'a digest in base64 is refused',
    sent: 'the right digest in base64',
    todo: form,
    signature: (event, context) => Buffer.from(right(event, context), 'hex').toString('base64'),
  },
  truncated: {
    rule: 'A30',
    title: 'a digest that lacks its last digit is refused',
    sent: 'the first 63 digits of the right digest',
    todo: form,
    signature: (event, context) => right(event, context).slice(0, -1),
  },
  longer: {
    rule: 'A30',
    title: 'a digest with one digit more is refused',
    sent: 'the right digest and one digit more',
    todo: form,
    signature: (event, context) => `${right(event, context)}0`,
  },
  half: {
    rule: 'A30',
    title: 'half a digest is refused',
    sent: 'the first 32 digits of the right digest',
    todo: form,
    signature: (event, context) => right(event, context).slice(0, 32),
  },
  'not-hex': {
    rule: 'A30',
    title: 'a digest with a character that is no hex digit is refused',
    sent: 'the right digest with a g in place of its last digit',
    todo: form,
    signature: (event, context) => `${right(event, context).slice(0, -1)}g`,
  },
  'right-then-wrong': {
    rule: 'A31',
    title: 'a second signature, a wrong one after the right one, is refused',
    sent: 'two signature headers, the right one first',
    todo: 'refuse a request whose signature header is repeated: two programs may read two different ones of them',
    signature: (event, context) => [right(event, context), wrong(event)],
  },
  'wrong-then-right': {
    rule: 'A31',
    title: 'a second signature, the right one after a wrong one, is refused',
    sent: 'two signature headers, the right one last',
    todo: 'refuse a request whose signature header is repeated: two programs may read two different ones of them',
    signature: (event, context) => [wrong(event), right(event, context)],
  },
}

/** Signatures in all the ways in which they can be wrong. */
export const forgery = defineScenario<string>({
  name: 'forgery',
  checks: {
    ...forgeries,
    'upper-case': { rule: 'A30', title: 'the right digest in upper case is taken or refused, either is fine' },
    after: { rule: 'R75', title: 'what is right is still acknowledged after that' },
    effects: { rule: 'R75', title: 'nothing of what was refused is done', needs: ['effects'] },
  },
  async run(context, tell) {
    const { newEvent, send, deliver, effects, isThere, secret, timeoutMs } = context
    const refused: string[] = []
    let isUnkeyed = false
    for (const [name, { sent, todo: usual, todoIfUnkeyed = usual, signature }] of Object.entries(forgeries)) {
      const event = newEvent()
      const value = signature(event, context)
      const answer = await send({ body: event.body, ...(value !== undefined && { signature: value }) })
      refused.push(event.id)
      if (name === 'other-secret') isUnkeyed = isAccepted(answer, Infinity)
      const todo = isUnkeyed ? todoIfUnkeyed : usual
      tell(name, judgeRefused({ sent, answers: [answer], ...(todo !== undefined && { todo }) }))
      if (answer.status === null && !(await isThere())) return
    }
    const loud = newEvent()
    tell('upper-case', judgeEither(await send({ body: loud.body, signature: sign(loud.body, secret).toUpperCase() })))
    const event = newEvent()
    const answers = [await deliver(event)]
    tell('after', judgeAccepted({ sent: 'a signed event after the forgeries', answers, timeoutMs }))
    const todo = 'let nothing happen before the signature was checked'
    tell(
      'effects',
      await effects({
        sent: `${refused.length} forgeries and a signed event`,
        once: idsOf([{ event, answers }]),
        never: refused,
        todo,
      }),
    )
  },
})

function judgeEither(answer: Answer): Outcome {
  const came = summarize([answer])
  if (answer.status === 401 || isAccepted(answer, Infinity)) return passed(came)
  const todo = 'take hex digits in either case, or answer 401'
  return failed({ sent: 'the right digest in upper case', expected: '2xx or 401', came, todo })
}
