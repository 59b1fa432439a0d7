import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { messageOf } from '../errors.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export interface PortSettings {
  /** The setting that names it. */
  readonly name: 'INBOX_PORT' | 'INBOX_ADMIN_PORT'
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** Whether a process works on the database; null: that cannot be told. */
  readonly isInboxHeld: boolean | null
}

const timeoutMs = 3_000
const alive = '{"status":"alive"}'

/** Whether `serve` can listen on a port, or does so already. */
export async function examinePort({ name, host, port, isTls, isInboxHeld }: PortSettings): Promise<Finding> {
  const check = name === 'INBOX_PORT' ? 'webhook port' : 'admin port'
  if (port === 0) return ok(check, `a free one is taken at each start (${name}=0)`)
  const place = `${host}:${port}`
  const error = await listenOnce(host, port)
  if (error === null) {
    if (isInboxHeld !== true) return ok(check, `${place} is free`)
    return warn(
      check,
      `${place} is free, but a process works on the database: it listens elsewhere, or is an app with the inbox in it`,
      'nothing, if that is what you want; otherwise give doctor the settings that the sidecar has',
    )
  }
  if (error.code === 'EADDRINUSE') {
    if (!(await isSidecar(host, port, isTls))) {
      return fail(
        check,
        `${place} is in use by another program`,
        `stop that (ss -ltnp | grep :${port}), or change ${name}`,
      )
    }
    if (isInboxHeld !== false) return ok(check, `a sidecar answers on ${place}`)
    return fail(
      check,
      `a sidecar answers on ${place}, but works on another database than this one`,
      `stop that, or change ${name}`,
    )
  }
  if (error.code === 'EACCES') {
    return fail(
      check,
      `${place} is not for this user`,
      `use a port from 1024 with ${name}, or give it CAP_NET_BIND_SERVICE`,
    )
  }
  return fail(
    check,
    `nothing can listen on ${place} (${messageOf(error)})`,
    'name an address of this machine, such as 127.0.0.1',
  )
}

/** What keeps a program from listening there, or null. */
function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** Whether one of this program answers there; nothing secret is sent, so whose certificate it has does not matter. */
async function isSidecar(host: string, port: number, isTls: boolean): Promise<boolean> {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const options = { host: name, port, path: '/healthz', agent: false, signal: AbortSignal.timeout(timeoutMs) }
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      const request = isTls ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options)
      request.on('error', reject)
      request.on('response', (response) => void text(response).then(resolve, reject))
      request.end()
    })
    return answer === alive
  } catch {
    return false
  }
}
