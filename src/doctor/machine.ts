import { sqliteVersions } from '../inbox/sqlite/look.ts'
import { version } from '../version.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const oldestNode = 24
/** Beside its connections: files of the database, the admin side, and what handlers open. */
const otherFiles = 250

/** What this is, and what it runs on. */
export function examineVersions(nodeVersion: string = process.versions.node): Finding {
  const { sqlite, driver } = sqliteVersions()
  const found = `onchain-inbox ${version}, Node ${nodeVersion}, SQLite ${sqlite} (better-sqlite3 ${driver})`
  if (Number.parseInt(nodeVersion, 10) >= oldestNode) return ok('versions', found)
  return fail('versions', found, `install Node ${oldestNode} or newer`)
}

/** Whether so many connections can be open at once. `openFiles` is what the system allows this process; null: not known. */
export function judgeLimits(openFiles: number | null, maxConnections: number): Finding {
  if (openFiles === null)
    return ok('limits', `${maxConnections} connections; how many files may be open is not known here`)
  const needed = maxConnections + otherFiles
  const found = `${openFiles} files may be open at once, ${maxConnections} connections are allowed (INBOX_MAX_CONNECTIONS)`
  if (openFiles >= needed) return ok('limits', found)
  return warn('limits', found, `raise it to ${needed} (ulimit -n, LimitNOFILE=), or lower INBOX_MAX_CONNECTIONS`)
}

/** How many files this process may have open: Node has raised the limit as far as the system lets it. */
export function openFilesLimit(): number | null {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | string } }
  }
  const soft = userLimits?.open_files?.soft
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER
  return typeof soft === 'number' ? soft : null
}
