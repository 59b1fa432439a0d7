import { judgeAccepted } from '../judge.ts'
import { defineScenario, type TestEvent } from '../port.ts'

interface Unknown {
  readonly rule: string
  readonly title: string
  readonly sent: string
  /** What is changed in an event. */
  readonly change: (event: Record<string, unknown>) => object
}

const inData = (change: object) => (event: Record<string, unknown>) => ({
  ...event,
  data: { ...(event['data'] as object), ...change },
})

const unknowns: Readonly<Record<string, Unknown>> = {
  type: {
    rule: 'R127',
    title: 'an event of a type that is not documented is acknowledged',
    sent: 'a signed event of the type token.volume_spike',
    change: (event) => ({ ...event, type: 'token.volume_spike', data: { network: 'ethereum', change_pct: 312.5 } }),
  },
  group: {
    rule: 'R127',
    title: 'an event of a group that is not documented is acknowledged',
    sent: 'a signed event of the type bridge.transfer_completed',
    change: (event) => ({ ...event, type: 'bridge.transfer_completed', data: {} }),
  },
  member: {
    rule: 'R125',
    title: 'an unknown member beside the documented ones is ignored',
    sent: 'a signed event with a member api_version beside id and type',
    change: (event) => ({ ...event, api_version: '1.4' }),
  },
  field: {
    rule: 'R125',
    title: 'unknown fields of data are ignored',
    sent: 'a signed event with further fields in data, one of them an object',
    change: inData({ gas_usd: 1.25, route: { hops: ['a', 'b'] }, memo: null }),
  },
  network: {
    rule: 'R4',
    title: 'a network that is not documented is no reason to refuse',
    sent: 'a signed event of the network zksync',
    change: inData({ network: 'zksync' }),
  },
  value: {
    rule: 'R103',
    title: 'a value that is not documented in an open field is no reason to refuse',
    sent: 'a signed event with the trade_type limit_fill',
    change: inData({ trade_type: 'limit_fill' }),
  },
}

/** What the service may begin to send at any time. */
export const unknown = defineScenario({
  name: 'unknown',
  checks: Object.fromEntries(Object.entries(unknowns).map(([name, { rule, title }]) => [name, { rule, title }])),
  async run({ newEvent, deliver, timeoutMs }, tell) {
    for (const [name, { sent, change }] of Object.entries(unknowns)) {
      const answers = [await deliver(changed(newEvent(), change))]
      tell(name, judgeAccepted({ sent, answers, timeoutMs }))
    }
  },
})

function changed({ id, body }: TestEvent, change: Unknown['change']): TestEvent {
  const event = JSON.parse(body.toString()) as Record<string, unknown>
  return { id, body: Buffer.from(JSON.stringify(change(event))) }
}
