import { z } from 'zod'

const address = z.string().regex(/^[^\s<>"(),:;@[\]\\]+@[^\s<>"(),:;@[\]\\]+$/, {
  error: 'expected an address such as desk@example.com',
})
/** An address, or a name with the address in angle brackets. */
const sender = z
  .string()
  .regex(/^(?:[^\r\n<>"\\]{1,100} <[^\s<>"(),:;@]+@[^\s<>"(),:;@]+>|[^\s<>"(),:;@]+@[^\s<>"(),:;@]+)$/, {
    error: 'expected an address such as inbox@example.com or Inbox <inbox@example.com>',
  })
const placeholders = ['title', 'type', 'network', 'severity', 'id']

/** Events go out as mail, by SMTP. */
export const emailOptions = z.strictObject({
  url: z.string().refine(isSmtpUrl, {
    error: 'expected smtp://user:password@host:587 or smtps://user:password@host:465',
  }),
  from: sender,
  to: z.union([address.transform((one) => [one]), z.array(address).min(1).max(100)]),
  /** `{title}`, `{type}`, `{network}`, `{severity}` and `{id}` stand for those of the event. */
  subject: z
    .string()
    .min(1)
    .max(200)
    .refine((text) => [...text.matchAll(/\{([^{}]*)\}/g)].every(([, name = '']) => placeholders.includes(name)), {
      error: `expected no placeholders but ${placeholders.map((name) => `{${name}}`).join(', ')}`,
    })
    .default('[{severity}] {title}'),
  /** Sends by a connection without TLS to a server on another machine. */
  allowInsecure: z.boolean().default(false),
})

export type EmailOptions = z.output<typeof emailOptions>

function isSmtpUrl(value: string): boolean {
  const { protocol, hostname, pathname, search, hash, username, password } = URL.parse(value) ?? {}
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return false
  if (hostname === '' || pathname?.replace('/', '') !== '' || search !== '' || hash !== '') return false
  try {
    decodeURIComponent(`${username}:${password}`)
    return true
  } catch {
    return false
  }
}
