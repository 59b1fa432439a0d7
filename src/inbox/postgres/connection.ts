import { Socket, connect } from 'node:net'
import pg from 'pg'
import { parseDatabaseUrl } from '../../base/database-url.ts'
import { fromStored, parseStoredJson } from './text.ts'

export interface ConnectionOptions {
  readonly url: string
  /** `application_name` of the connection. A name in the URL takes precedence. */
  readonly applicationName?: string
}

const { INT8, TEXT, JSON: json } = pg.types.builtins
/** Row numbers and times of type bigint fit into a number. Texts are converted from their stored form. */
const parsers: Readonly<Record<number, (value: string) => unknown>> = {
  [INT8]: Number,
  [TEXT]: fromStored,
  [json]: parseStoredJson,
}
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : parsers[oid]) ??
    pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** The options of every connection. PgBouncer must accept all of them. */
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

/** A pool whose connection errors don't end the process: they reject the current or the next statement. */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  // A connection can end right after it is ready, before its user has added an error listener.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool.on('error', () => {})
}

const closeMs = 500
/** Longer than PgBouncer delays a cancel request (`cancel_wait_timeout`). */
const cancelMs = 15_000

/** The sockets of connections. A connection that doesn't respond can only be ended by destroying its socket. */
export function createSockets() {
  const sockets = new Set<Socket>()
  const destroy = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    /** The driver's option `stream`. */
    open(): Socket {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
    destroy,
    /** Waits up to 500 ms until all are closed, then destroys the rest. */
    async ended(): Promise<void> {
      const open = [...sockets].filter((socket) => !socket.destroyed && !socket.pending)
      const closed = Promise.all(
        open.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))),
      )
      let timer: NodeJS.Timeout | undefined
      await Promise.race([closed, new Promise<void>((resolve) => (timer = setTimeout(resolve, closeMs)))])
      clearTimeout(timer)
      destroy()
    },
  }
}

/** Asks the server to cancel the connection's statement. The result is unknown, so close the connection afterwards. */
export function cancelStatement(client: pg.ClientBase): void {
  // The driver's types omit these properties.
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
  // The server must close the socket: PgBouncer ignores a request whose client has closed, and version 1.18 may crash.
  socket.unref().resume().write(request)
}

const cancelRequest = 80_877_102
