import { describe, expect, test } from 'vitest'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import { TerminalError } from '../../src/base/errors.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { routingKey } from '../support/fake-chat-rules.ts'
import { items, stageService } from '../support/fake-chat.ts'

const honeypot = eventSamples['contract.honeypot_detected']

describe('the sink pagerduty', () => {
  test('opens an alert from minSeverity on, by default warning', async () => {
    await using to = await stageService('pagerduty')
    for (const type of eventTypes) expect(await to.send(items(eventSamples[type]))).toBeUndefined()
    expect(to.fake.rejected).toEqual([])
    expect(to.fake.shown).toEqual([
      'EXMPL risk 33 → 58 (high)',
      'EXMPL is a honeypot (sell_blocked), risk 97',
      'EXMPL lost $80,000.00 of liquidity (80.00%), $20,000.00 left',
      'EXMPL owner 0x8617…8070D → 0xde70…2fb77',
    ])
  })

  test('R89 uses the event id, or its hash if it is too long, as id of the alert', async () => {
    await using to = await stageService('pagerduty', { minSeverity: 'info' })
    await to.send(items(honeypot))
    await to.send(items({ ...honeypot, id: 'ï'.repeat(255) }))
    await to.send(items({ payload: { summary: 's' } }).map((item) => ({ ...item, idempotencyKey: 'k'.repeat(600) })))
    const ids = to.fake.accepted.map(({ body }) => body.dedup_key)
    expect(ids.slice(0, 2)).toEqual([honeypot.id, 'ï'.repeat(255)])
    expect(to.fake.rejected).toEqual([])
  })

  test('R103 accepts any content and size of an event', async () => {
    await using to = await stageService('pagerduty')
    const long = '😀<&"\u202e\ud800'.repeat(20_000)
    for (const type of eventTypes) {
      const data = Object.fromEntries(Object.keys(eventSamples[type].data).map((name) => [name, long]))
      const event = { ...eventSamples[type], data: { ...data, current_risk_score: 99, network: long } }
      expect(await to.send(items(event as AnyEvent))).toBeUndefined()
    }
    expect(to.fake.rejected).toEqual([])
    expect(to.fake.shown.length).toBeGreaterThan(2)
  })

  test('makes a dead letter of a rejected alert', async () => {
    await using to = await stageService('pagerduty')
    to.fake.dislikes = () => true
    expect(await to.send(items(honeypot))).toBeInstanceOf(TerminalError)
  })

  test('sends title, network, time, links and the event', async () => {
    await using to = await stageService('pagerduty')
    await to.send(items(honeypot))
    expect(to.fake.accepted[0]?.body).toEqual({
      routing_key: routingKey,
      event_action: 'trigger',
      dedup_key: honeypot.id,
      client: 'onchain-inbox',
      payload: {
        summary: 'EXMPL is a honeypot (sell_blocked), risk 97',
        source: 'onchain-inbox',
        severity: 'critical',
        timestamp: '2026-01-31T14:03:22.123Z',
        component: 'ethereum',
        class: 'contract.honeypot_detected',
        custom_details: {
          holders: '1,132',
          liquidity: '$12,000.00',
          summary: honeypot.data.ai_summary,
          contract: honeypot.data.contract_address,
          event_id: honeypot.id,
          data: honeypot.data,
        },
      },
      links: [{ href: `https://etherscan.io/address/${honeypot.data.contract_address}`, text: 'contract' }],
    })
  })

  test('lets handlers open, acknowledge and resolve', async () => {
    await using to = await stageService('pagerduty')
    const payloads = [
      { summary: 'drained', severity: 'error', details: { pool: 1 }, dedupKey: 'pool-1' },
      { action: 'acknowledge', dedupKey: 'pool-1' },
      { action: 'resolve', dedupKey: 'pool-1' },
      { summary: 'drained' },
    ]
    for (const payload of payloads) expect(await to.send(items({ payload }))).toBeUndefined()
    expect(to.fake.accepted.map(({ body }) => [body.event_action, body.dedup_key])).toEqual([
      ['trigger', 'pool-1'],
      ['acknowledge', 'pool-1'],
      ['resolve', 'pool-1'],
      ['trigger', 'sink:evt_p:1'],
    ])
    for (const payload of [
      { action: 'resolve' },
      { action: 'close', dedupKey: 'a' },
      { summary: 's', severity: 'high' },
    ])
      expect(await to.send(items({ payload }))).toBeInstanceOf(TerminalError)
  })
})
