import { relative } from 'node:path'
import { demoCredentials } from '../demo-credentials.ts'
import { ownCommand } from './own-command.ts'

export interface DemoAddresses {
  /** Where events are delivered to. */
  readonly url: string
  readonly adminUrl: string
  /** Of the emulator, which serves dashboard, REST and control. */
  readonly emulatorUrl: string
  readonly databaseFile: string
  readonly handlersDir: string
}

/** What commands take for the address of the emulator if nothing else is said. */
const usualEmulatorUrl = 'http://127.0.0.1:8090'

/** What it is, where everything is, and what to try: not more than 24 lines. */
export function welcome({ url, adminUrl, emulatorUrl, databaseFile, handlersDir }: DemoAddresses): string {
  const { apiKey, adminToken, controlToken, dashboardPassword } = demoCredentials
  const command = ownCommand(process.argv[1] ?? '', process.cwd())
  const at = `--admin-url ${adminUrl}`
  const emulator = emulatorUrl === usualEmulatorUrl ? '' : ` --emulator ${emulatorUrl}`
  return [
    '',
    'onchain-inbox demo: a simulated world sends signed events; the inbox stores each before it answers',
    '200, and handlers print it. Whatever fails here fails on purpose.',
    '',
    `  webhook    ${url}`,
    `  dashboard  ${emulatorUrl}/  (user demo, password ${dashboardPassword})`,
    `  REST       ${emulatorUrl}/v1  (API key ${apiKey})`,
    `  control    ${emulatorUrl}/_emulator  (bearer token ${controlToken})`,
    `  console    ${adminUrl}  (token ${adminToken})`,
    `  database   ${databaseFile}`,
    `  handlers   ${shortPath(handlersDir)}  (edit one: it is taken up at once)`,
    '',
    'From another terminal: look at events, at dead letters, requeue these, make a graduation happen:',
    `  export INBOX_ADMIN_TOKEN=${adminToken}`,
    `  ${command} events list ${at}`,
    `  ${command} dead list ${at}`,
    `  ${command} dead requeue --all ${at}`,
    `  ${command} trigger pump.graduation${emulator}`,
    '',
    'One event of each of the ten types comes first, then one every few seconds. Ctrl-C ends it.',
    '',
  ].join('\n')
}

/** From this folder, if it is in it. */
function shortPath(path: string): string {
  const steps = relative('', path)
  return steps.startsWith('..') ? path : `./${steps}`
}
