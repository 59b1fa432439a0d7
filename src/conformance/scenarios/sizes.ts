import { sign } from '../../signature/sign.ts'
import { isAccepted, judgeAccepted, summarize } from '../judge.ts'
import { defineScenario, failed, passed, type TestEvent } from '../port.ts'

const fairBytes = 256 * 1024
const hugeBytes = 8 * 1024 * 1024

/** Large bodies. */
export const sizes = defineScenario({
  name: 'sizes',
  checks: {
    fair: { rule: 'A51', title: 'an event of 256 KiB is acknowledged' },
    huge: { rule: 'A51', title: 'a body of 8 MiB that is not authentic is not acknowledged' },
    after: { rule: 'A51', title: 'an event is acknowledged after that' },
  },
  async run({ newEvent, deliver, send, secret, timeoutMs }, tell) {
    const fair = [await deliver(padded(newEvent(), fairBytes))]
    tell(
      'fair',
      judgeAccepted({
        sent: 'a signed event of 256 KiB',
        answers: fair,
        timeoutMs,
        todo: 'take bodies of up to 1 MiB',
      }),
    )

    const { body } = padded(newEvent(), hugeBytes)
    const answer = await send({ body, signature: sign(body, `not ${secret}`) })
    // A receiver that does not read it all may cut the connection before its answer is read.
    const isFine = !isAccepted(answer, Infinity) && answer.ms < timeoutMs
    const came = summarize([answer])
    tell(
      'huge',
      isFine
        ? passed(came)
        : failed({
            sent: 'a body of 8 MiB signed with another secret',
            expected: `413 or 401 within ${timeoutMs} ms, or a connection that is cut`,
            came,
            todo: 'look at Content-Length first and refuse what is above a limit of 1 MiB or more',
          }),
    )
    const answers = [await deliver(newEvent())]
    tell('after', judgeAccepted({ sent: 'a signed event after a body of 8 MiB', answers, timeoutMs }))
  },
})

function padded({ id, body }: TestEvent, bytes: number): TestEvent {
  const event = JSON.parse(body.toString()) as { data: object }
  const data = { ...event.data, note: 'x'.repeat(bytes - body.length - ',"note":""'.length) }
  return { id, body: Buffer.from(JSON.stringify({ ...event, data })) }
}
