import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { loadConfig, type Config } from '../config.ts'
import { demoCredentials } from '../demo-credentials.ts'

/** Where its database is, in the folder it was started in. */
export const demoDataDir = './data/demo'

/** Settings on loopback, with the published credentials; ports are the usual ones where these are free. */
export async function demoConfig(): Promise<Config> {
  return loadConfig({
    env: {
      INBOX_SECRETS: `demo:${demoCredentials.secret}`,
      INBOX_ADMIN_TOKEN: demoCredentials.adminToken,
      INBOX_HOST: '127.0.0.1',
      INBOX_PORT: String(await freePort(8080)),
      INBOX_ADMIN_HOST: '127.0.0.1',
      INBOX_ADMIN_PORT: String(await freePort(8081)),
      INBOX_DATABASE_URL: `sqlite:${demoDataDir}/inbox.db`,
      INBOX_HANDLERS: findHandlers(),
      INBOX_LOG_LEVEL: 'warn',
    },
    cwd: process.cwd(),
    // The settings of a real deployment are not for published credentials.
    configFile: null,
    allowDemoCredentials: true,
  })
}

/** The port that was asked for if nobody has it, otherwise 0: any free one. */
export function freePort(wanted: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(wanted)))
  })
}

/** The handlers as they are edited: the sources of a clone. An installed package has only what was built from them. */
function findHandlers(): string {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const sources = at('../../../handlers')
  const isBuilt = import.meta.url.endsWith('.js')
  return isBuilt && existsSync(sources) ? sources : at('../../handlers')
}
