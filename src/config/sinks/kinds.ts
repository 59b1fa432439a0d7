import { discordOptions } from './discord.ts'
import { emailOptions } from './email.ts'
import { execOptions } from './exec.ts'
import { fileOptions } from './file.ts'
import { forwardOptions } from './forward.ts'
import { kafkaOptions } from './kafka.ts'
import { natsOptions } from './nats.ts'
import { opsgenieOptions } from './opsgenie.ts'
import { pagerdutyOptions } from './pagerduty.ts'
import { redisOptions } from './redis.ts'
import { slackOptions } from './slack.ts'
import { sqlOptions } from './sql.ts'
import { telegramOptions } from './telegram.ts'

/** The kinds of bundled sinks, and the options that each has of its own. The sink itself is `handlers/sinks/<kind>.ts`. */
export const sinkKinds = {
  forward: forwardOptions,
  slack: slackOptions,
  discord: discordOptions,
  telegram: telegramOptions,
  pagerduty: pagerdutyOptions,
  opsgenie: opsgenieOptions,
  email: emailOptions,
  exec: execOptions,
  file: fileOptions,
  sql: sqlOptions,
  nats: natsOptions,
  redis: redisOptions,
  kafka: kafkaOptions,
} as const

export type SinkKind = keyof typeof sinkKinds

export const sinkKindNames = Object.keys(sinkKinds).filter(isSinkKind)

export function isSinkKind(name: string): name is SinkKind {
  return Object.hasOwn(sinkKinds, name)
}
