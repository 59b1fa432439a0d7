import { sign } from '../../signature/sign.ts'
import { idsOf, judgeRefused } from '../judge.ts'
import { defineScenario, type ScenarioContext } from '../port.ts'

/** What happens to a body after it was signed. */
const changes: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  'a digit of the amount': (body) => flip(body, body.indexOf('"amount_usd":') + '"amount_usd":1'.length),
  'a character of the id': (body) => flip(body, body.indexOf('evt_conf') + 'evt_'.length),
  'the first byte': (body) => flip(body, 0),
  'the last byte': (body) => flip(body, body.length - 1),
  'a line break added at the end': (body) => Buffer.concat([body, Buffer.from('\n')]),
  'the last byte cut off': (body) => body.subarray(0, -1),
}

/** Bodies that were changed after they were signed. */
export const tampering = defineScenario({
  name: 'tampering',
  checks: {
    refused: { rule: 'R75', title: 'a body of which one byte was changed after signing is refused' },
    effects: { rule: 'R75', title: 'nothing of what was changed is done', needs: ['effects'] },
  },
  async run({ newEvent, send, deliver, effects, secret }: ScenarioContext, tell) {
    const answers = []
    const changed: string[] = []
    for (const change of Object.values(changes)) {
      const { id, body } = newEvent()
      const sent = change(body)
      const [sentId] = /evt_[^"]*/.exec(sent.toString('latin1')) ?? []
      changed.push(id, ...(sentId === undefined || sentId === id ? [] : [sentId]))
      answers.push(await send({ body: sent, signature: sign(body, secret) }))
    }
    const sent = `${answers.length} signed events, each changed after signing: ${Object.keys(changes).join(', ')}`
    tell('refused', judgeRefused({ sent, answers }))
    const event = newEvent()
    const after = [await deliver(event)]
    const todo = 'compute the digest over all bytes that came, and let nothing happen before it was compared'
    tell(
      'effects',
      await effects({
        sent: `${sent}; then a signed event`,
        once: idsOf([{ event, answers: after }]),
        never: changed,
        todo,
      }),
    )
  },
})

/** The same with the lowest bit of one byte turned: of a digit or a letter it makes another one. */
function flip(body: Buffer, index: number): Buffer {
  const copy = Buffer.from(body)
  copy[index] = (copy[index] ?? 0) ^ 1
  return copy
}
