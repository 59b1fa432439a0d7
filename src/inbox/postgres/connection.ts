import { Socket, connect } from 'node:net'
import pg from 'pg'
import { parseDatabaseUrl } from '../../base/database-url.ts'

export interface ConnectionOptions {
  readonly url: string
  /** What the server lists the connection as. A name in the URL goes before it. */
  readonly applicationName?: string
}

/** The numbers of rows and times fit: a text would have to be converted at each use. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 && format !== 'binary'
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** What every connection of this program is opened with: nothing that a PgBouncer in between would refuse. */
export function connectionConfig({ url, applicationName = 'onchain-inbox' }: ConnectionOptions): pg.ClientConfig {
  return {
    connectionString: parseDatabaseUrl(url).href,
    application_name: applicationName,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 2_000,
  }
}

/** A pool of connections none of which ends the process when it ends: the statement under way, or the next one, says it. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  // One that is ended in the very packet that says it is ready has been lent, and whom it was lent to has not heard of it yet.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool.on('error', () => {})
}

/** The sockets under connections: what is silent cannot be closed in good order. */
export interface Sockets {
  /** For `stream` of the driver. */
  readonly open: () => Socket
  destroy(): void
  /** Waits until they are closed, half a second at most; then destroys them. */
  ended(): Promise<void>
}

const goodbyeMs = 500
/** Longer than a PgBouncer keeps a cancel waiting (`cancel_wait_timeout`). */
const cancelMs = 15_000

export function createSockets(): Sockets {
  const sockets = new Set<Socket>()
  const destroy = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    open() {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    destroy,
    async ended() {
      const open = [...sockets].filter((socket) => !socket.destroyed && !socket.pending)
      const closed = Promise.all(
        open.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))),
      )
      let timer: NodeJS.Timeout | undefined
      await Promise.race([closed, new Promise<void>((resolve) => (timer = setTimeout(resolve, goodbyeMs)))])
      clearTimeout(timer)
      destroy()
    },
  }
}

/**
 * Whether a connection lasts as long as its session: not so where a pooler such as PgBouncer answers in the server's place. Throws what
 * the driver throws.
 */
export async function hasSession(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  // The driver knows what it was told, and does not say so.
  return rows[0]?.pid === (client as unknown as { readonly processID?: number }).processID
}

/** Asks the server to give up what a connection has under way; whether it does is not known, so close the connection afterwards. */
export function cancelStatement(client: pg.ClientBase): void {
  // The driver knows both, and does not say so.
  const { host, port, processID, secretKey } = client as unknown as Record<
    'host' | 'port' | 'processID' | 'secretKey',
    unknown
  >
  if (
    typeof processID !== 'number' ||
    typeof secretKey !== 'number' ||
    typeof port !== 'number' ||
    typeof host !== 'string'
  )
    return
  const request = Buffer.alloc(16)
  for (const [index, word] of [16, cancelRequest, processID, secretKey].entries()) request.writeInt32BE(word, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.on('error', () => {})
  socket.setTimeout(cancelMs, () => socket.destroy())
  // The other side closes it. A PgBouncer does not heed who closes his first, and version 1.18 may crash of it.
  socket.unref().resume().write(request)
}

const cancelRequest = 80_877_102
