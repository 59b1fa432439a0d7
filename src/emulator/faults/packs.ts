import type { WorldCommand } from '../world/port.ts'
import { faultRuleSchema, type FaultRuleInput } from './rules.ts'

/** A scenario: fault rules and world commands that receivers and clients must survive. The rules replace all existing ones. */
function pack(
  name: string,
  about: string,
  activity: number,
  rules: readonly FaultRuleInput[],
  commands: readonly WorldCommand[] = [],
) {
  return {
    name,
    about,
    rules: rules.map((rule) => faultRuleSchema.parse(rule)),
    commands: [{ kind: 'activity', factor: activity } satisfies WorldCommand, ...commands],
  }
}

/** Every pack of the emulator. */
export const packs = [
  pack('calm', 'No faults; normal activity.', 1, []),
  pack('busy-day', 'Ten times as many trades; events arrive in bursts, some late, some twice, some out of order.', 10, [
    { direction: 'out', fault: { kind: 'delay', distribution: 'lognormal', medianMs: 500, sigma: 1 }, rate: 0.3 },
    { direction: 'out', fault: { kind: 'reorder', windowMs: 5_000 }, rate: 0.2 },
    { direction: 'out', fault: { kind: 'burst', everyMs: 10_000 }, rate: 0.5 },
    { direction: 'out', fault: { kind: 'duplicate' }, rate: 0.02 },
    { direction: 'in', fault: { kind: 'latency', distribution: 'lognormal', medianMs: 150, sigma: 1 }, rate: 0.5 },
  ]),
  pack(
    'rug-pull',
    'A token is listed, turns out to be a honeypot, and loses its liquidity; another token crashes. Events arrive out of order.',
    2,
    [{ direction: 'out', fault: { kind: 'reorder', windowMs: 30_000 }, types: ['contract.*', 'token.*'] }],
    [
      { kind: 'story', story: 'scam' },
      { kind: 'story', story: 'crash' },
    ],
  ),
  pack(
    'retry-storm',
    'Acknowledgements are lost and connections break: most events arrive several times, in sequence and at once.',
    3,
    [
      { direction: 'out', fault: { kind: 'cut' }, rate: 0.1 },
      { direction: 'out', fault: { kind: 'reset' }, rate: 0.1 },
      { direction: 'out', fault: { kind: 'duplicate-at-once', copies: 3 }, rate: 0.3 },
      { direction: 'out', fault: { kind: 'duplicate', copies: 2 }, rate: 0.3 },
      { direction: 'out', fault: { kind: 'drop-ack' }, rate: 0.4 },
      { direction: 'in', fault: { kind: 'too-many-requests', retryAfterS: 2 }, rate: 0.3 },
      { direction: 'in', fault: { kind: 'error-503' }, rate: 0.2 },
    ],
  ),
  pack('hostile-sender', 'Forged, tampered, cut, slow and odd deliveries among valid ones; odd REST responses.', 1, [
    { direction: 'out', fault: { kind: 'skew', ms: -86_400_000 }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'unknown-type' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'case-flip' }, rate: 0.1 },
    { direction: 'out', fault: { kind: 'extra-fields' }, rate: 0.1 },
    { direction: 'out', fault: { kind: 'reserialise', profile: 'escaped' }, rate: 0.1 },
    { direction: 'out', fault: { kind: 'reserialise', profile: 'exponent' }, rate: 0.1 },
    { direction: 'out', fault: { kind: 'huge' }, rate: 0.01 },
    { direction: 'out', fault: { kind: 'signature-wrong-secret' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'signature-bad' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'signature-upper-case' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'signature-prefixed' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'signature-repeated' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'signature-missing' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'tamper' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'truncate' }, rate: 0.05 },
    { direction: 'out', fault: { kind: 'chunked', chunkBytes: 7 }, rate: 0.1 },
    { direction: 'out', fault: { kind: 'slow', bytes: 32, everyMs: 100 }, rate: 0.05 },
    { direction: 'in', fault: { kind: 'empty' }, rate: 0.03 },
    { direction: 'in', fault: { kind: 'malformed' }, rate: 0.03 },
    { direction: 'in', fault: { kind: 'reset' }, rate: 0.03 },
    { direction: 'in', fault: { kind: 'extra-members' }, rate: 0.3 },
  ]),
  pack('outage', 'Most requests fail, and events are held for five minutes of world time, then arrive at once.', 1, [
    { direction: 'out', fault: { kind: 'burst', everyMs: 300_000 } },
    { direction: 'in', fault: { kind: 'latency', distribution: 'uniform', minMs: 200, maxMs: 2_000 } },
    { direction: 'in', fault: { kind: 'error-500' }, rate: 0.1 },
    { direction: 'in', fault: { kind: 'error-503', retryAfterS: 5 }, rate: 0.6 },
    { direction: 'in', fault: { kind: 'reset' }, rate: 0.1 },
  ]),
]
