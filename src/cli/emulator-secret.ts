import { Option, type Command } from 'commander'
import { randomBytes } from 'node:crypto'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { asControlCommand, withControl, type ControlOptions } from './control-client.ts'
import { printResult } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'
import { drawSecret } from '../emulator/random.ts'

interface SecretOptions extends ControlOptions {
  readonly alerts?: boolean
  readonly account?: string
  readonly set?: string
}

/** `onchain-inbox emulator secret`: another secret for what an emulator signs, from the next attempt on (R76, A32). */
export function addEmulatorSecretCommand(emulator: Command): void {
  const secret = emulator
    .command('secret')
    .description('give a webhook, or the alerts of an account, another secret: the next attempts are signed with it')
    .argument('[webhook]', 'the id of a webhook, as `wh_…`')
    .option('--alerts', 'what alerts are signed with')
    .option('--account <name>', 'whose alerts: its id or name (default: the first)')
    .addOption(
      new Option(
        '--set <secret>',
        'this one in place of a drawn one: @file, - for standard input, or env:NAME',
      ).conflicts(['alerts']),
    )
  asControlCommand(secret, [
    'emulator secret wh_3k9x',
    'emulator secret wh_3k9x --set @secret.txt',
    'emulator secret --alerts',
  ])
    .addHelpText('after', '\nA drawn secret is printed once, and never shown again.')
    .action(async (webhook: string | undefined, options: SecretOptions) => {
      await withControl(options, async (client) => {
        const { alerts = false, account, set } = options
        if (alerts === (webhook !== undefined)) {
          throw new InboxError('usage', 'expected either the id of a webhook, or --alerts')
        }
        if (account !== undefined && !alerts) throw new InboxError('usage', '--account goes with --alerts')
        if (webhook === undefined) {
          const { alertSecret } = await client.drawAlertSecret(account)
          printResult({ msg: 'secret', alertSecret }, options, () => `${alertSecret}  (of the alerts; shown once)`)
          return
        }
        const value = set === undefined ? drawSecret('whsec', randomBytes) : await readGiven(set, options)
        const { webhookId, url } = await client.setWebhookSecret(webhook, value)
        const shown = set === undefined ? { secret: value } : {}
        printResult({ msg: 'secret', webhookId, url, ...shown }, options, () =>
          set === undefined
            ? `${value}  (of ${webhookId}, ${safeText(url)}; shown once)`
            : `${webhookId}, ${safeText(url)}: the secret is set`,
        )
      })
    })
}

/** The control token may come from standard input as well, but not both. */
function readGiven(argument: string, { emulator, token }: SecretOptions): Promise<string> {
  if (argument === '-' && token === '-') {
    throw new InboxError('usage', 'only one of --set and --token can come from standard input')
  }
  return readSecretArgument(argument, { url: emulator ?? 'http://127.0.0.1' })
}
