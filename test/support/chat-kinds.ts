import discordKind from '../../handlers/sinks/discord.ts'
import slackKind from '../../handlers/sinks/slack.ts'
import telegramKind from '../../handlers/sinks/telegram.ts'
import type { Timing } from '../../handlers/sinks/common/chat.ts'
import type { SinkDefinition } from '../../src/dispatch/define-sink.ts'
import { botToken, discordRules, slackRules, telegramRules, type Rules } from './fake-chat-rules.ts'
import type { FakeChat } from './fake-chat.ts'

export interface ChatKind {
  readonly kind: string
  readonly who: string
  readonly rules: Rules
  /** What must be seen nowhere. */
  readonly secret: string
  /** Milliseconds that it waits between messages, once so many have been sent at once. */
  readonly gapMs: number
  readonly atOnce: number
  readonly create: (
    fake: Pick<FakeChat, 'origin' | 'url'>,
    templates?: object,
    timing?: Timing,
  ) => Readonly<SinkDefinition>
}

export const chatKinds: readonly ChatKind[] = [
  {
    kind: 'slack',
    who: 'Slack',
    rules: slackRules,
    secret: 'TokenOfSlackThatIsNone',
    gapMs: 1_000,
    atOnce: 1,
    create: ({ url }, templates, timing) =>
      slackKind.create({ name: 'chat', options: slackKind.options.parse({ url, templates }) }, undefined, timing),
  },
  {
    kind: 'discord',
    who: 'Discord',
    rules: discordRules,
    secret: 'TokenOfDiscordThatIsNone',
    gapMs: 2_000,
    atOnce: 5,
    create: ({ url }, templates, timing) =>
      discordKind.create({ name: 'chat', options: discordKind.options.parse({ url, templates }) }, undefined, timing),
  },
  {
    kind: 'telegram',
    who: 'Telegram',
    rules: telegramRules,
    secret: botToken,
    gapMs: 1_000,
    atOnce: 1,
    create: ({ origin }, templates, timing) =>
      telegramKind.create(
        {
          name: 'chat',
          options: telegramKind.options.parse({ token: botToken, chatId: 42, baseUrl: `${origin}/`, templates }),
        },
        undefined,
        timing,
      ),
  },
]
