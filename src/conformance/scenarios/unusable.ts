import { judgeAccepted, summarize } from '../judge.ts'
import { defineScenario, failed, passed } from '../port.ts'

const bodies = ['this is no JSON', '[]', 'null', '{}', '{"type": "wallet.large_trade"}', '']

/** Bodies that are authentic and no events. */
export const unusable = defineScenario({
  name: 'unusable',
  checks: {
    answers: { rule: 'A48', title: 'authentic bodies that are no events are answered in time' },
    after: { rule: 'A48', title: 'an event is acknowledged after that' },
  },
  async run({ newEvent, deliver, newId, timeoutMs }, tell) {
    const answers = []
    for (const body of bodies) answers.push(await deliver({ id: newId(), body: Buffer.from(body) }))
    const came = summarize(answers)
    const isRepeated = answers.some(({ status }) => status !== null && (status < 200 || status > 299))
    const hint = isRepeated ? '; what is not 2xx is sent five times more, and none of that mends it' : ''
    tell(
      'answers',
      answers.every(({ status, ms }) => status !== null && ms <= timeoutMs)
        ? passed(`${came}${hint}`)
        : failed({
            sent: `signed bodies that are no events: ${bodies.map((body) => JSON.stringify(body)).join(', ')}`,
            expected: `an answer within ${timeoutMs} ms, best 200`,
            came,
            todo: 'catch what the parser throws, put the body aside for a person, and answer 200',
          }),
    )
    const after = [await deliver(newEvent())]
    tell('after', judgeAccepted({ sent: 'a signed event after bodies that are none', answers: after, timeoutMs }))
  },
})
