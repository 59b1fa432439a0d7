import type { ProviderName } from '../../schema/index.ts'
import { z } from 'zod'
import { editDistance, nearest } from '../base/edit-distance.ts'
import { messageOf } from '../base/errors.ts'
import { defineProvider, type KeyEndpoint, type Provider, type Reference, type Verification } from './provider.ts'
import { isProviderName, providerNames, providers } from './providers/index.ts'
import type { ParsedVerification } from './read-signature.ts'
import { isSeparated, parseTemplate } from './template.ts'

/** Where a secret comes from. */
export type SecretOrigin = string | { readonly env: string } | { readonly file: string }

/** Label of a secret without a label, as in INBOX_SECRETS. */
export const onlyLabel = 'secret-1'

/** A source of the settings, checked and complete. Holds secrets only where the settings have them as text. */
export interface SourceSettings extends Omit<Provider, 'verify' | 'keyEndpoint' | 'resigns'> {
  readonly name: string
  readonly path: string
  /** Null: the settings describe the sender themselves. */
  readonly provider: ProviderName | null
  readonly verify: readonly ParsedVerification[]
  readonly rejectsOld: boolean
  /** By label. Empty if keys are fetched. */
  readonly secretOrigins: Readonly<Record<string, SecretOrigin>>
  /** Null without fetched keys. */
  readonly keyEndpoint: (KeyEndpoint & { readonly apiKey: SecretOrigin | null }) | null
}

const text = (rule: string) => z.string({ error: `must be ${rule}` })
const matching = (pattern: RegExp, rule: string) => text(rule).regex(pattern, { error: `must be ${rule}` })

const headerName = matching(/^[a-z0-9][a-z0-9-]*$/i, 'the name of a header').toLowerCase()
const reference = matching(
  /^(?:body(?:\.[^\s.]+)+|header\.[a-z0-9][a-z0-9-]*)$/,
  'body.<path> or header.<name>, for example body.id',
)
/** If a timestamp has no tolerance, its age is only recorded. */
const defaultToleranceSeconds = 300
const originRule = 'a text, { env } or { file }'
const filled = z.string().min(1, { error: 'must not be empty' })
const originOf = (text: z.ZodString) =>
  z.union([text, z.strictObject({ env: filled }), z.strictObject({ file: filled })], { error: `must be ${originRule}` })
const origin = originOf(filled)
const secret = originOf(
  filled.refine((text) => !looksLikeReference(text), {
    error: 'must be the secret itself: for the name of a variable or file, use { env } or { file }',
  }),
)
// `env` and `file` as labels would turn a reference into a secret.
const label = /^(?!(?:env|file)$)[a-z][a-z0-9-]{0,31}$/
const secretsRule = `must be ${originRule}, or an object of these by label`
const secretsByLabel = z
  .record(z.string().regex(label), secret)
  .refine((labels) => Object.keys(labels).length > 0, { error: secretsRule })
  .refine((labels) => findMistyped(labels) === undefined, { error: ({ input }) => describeMistyped(input) })
const secrets = z.union([secret, secretsByLabel], { error: secretsRule })
const verification = z.strictObject(
  {
    scheme: z.enum(['hmac-sha256', 'secret', 'keccak256', 'ed25519'], {
      error: 'must be hmac-sha256, secret, keccak256 or ed25519',
    }),
    header: headerName,
    prefix: text('a text').optional(),
    encoding: z.enum(['hex', 'base64'], { error: 'must be hex or base64' }).exactOptional(),
    signed: text("a template, for example '{timestamp}.{body}'").optional(),
    timestamp: z
      .strictObject(
        {
          header: headerName,
          unit: z.enum(['s', 'ms', 'date'], { error: 'must be s, ms or date' }),
          toleranceSeconds: z
            .int({ error: 'must be a whole number of seconds' })
            .min(1, { error: 'must be at least 1' })
            .max(86_400, { error: 'must be at most 86400' })
            .optional(),
        },
        { error: objectError('an object with header and unit') },
      )
      .optional(),
  },
  { error: objectError('an object with scheme and header') },
)
const entry = z.strictObject(
  {
    provider: text('the name of a provider').optional(),
    path: matching(/^\/[\w.~/-]*$/, 'a path such as /hooks/alchemy'),
    secrets: secrets.optional(),
    keys: z
      .strictObject(
        {
          url: z
            .url({ protocol: /^https$/, error: 'must be an https URL' })
            .refine((url) => `${URL.parse(url)?.username ?? ''}${URL.parse(url)?.password ?? ''}` === '', {
              error: 'must have no user name: set keys.apiKey',
            })
            .optional(),
          apiKey: origin.optional(),
        },
        { error: objectError('an object with url or apiKey') },
      )
      .optional(),
    verify: verification.optional(),
    id: reference.optional(),
    type: reference.optional(),
    createdAt: reference.optional(),
    key: z.array(reference, { error: 'must be a list of references' }).optional(),
  },
  { error: objectError('an object with path and provider or verify') },
)

/** Finds a label that is `env` or `file` with one mistake: its text would be a secret that others can guess. */
function findMistyped(labels: object): { readonly name: string; readonly meant: string } | undefined {
  const sorted = (text: string) => text.split('').toSorted().join('')
  const found = Object.entries(labels).flatMap(([name, text]) => {
    if (typeof text !== 'string') return []
    const meant = ['env', 'file'].find((word) => editDistance(name, word) === 1 || sorted(name) === sorted(word))
    return meant === undefined ? [] : [{ name, meant }]
  })
  return found[0]
}

function describeMistyped(input: unknown): string {
  const { name, meant } = findMistyped(input as object) ?? {}
  return `${secretsRule}: ${name} is a label (did you mean ${meant}?)`
}

/** True for a path such as /run/secrets/desk, and for the name of an environment variable. */
function looksLikeReference(text: string): boolean {
  return /^(?:\/[a-z0-9_.-]+){2,}$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(text.trim())
}

/** Unknown options keep zod's own issue, which has their names. */
function objectError(rule: string) {
  return ({ code }: { readonly code: string }) => (code === 'unrecognized_keys' ? undefined : `must be ${rule}`)
}

type Entry = z.infer<typeof entry>

const optionNames: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(entry.shape),
  '.verify': Object.keys(verification.shape),
  '.verify.timestamp': ['header', 'unit', 'toleranceSeconds'],
  '.keys': ['url', 'apiKey'],
}

/** A source as the settings have it. */
export type SourceOptions = z.input<typeof entry>

export interface ResolvedSources {
  readonly sources: readonly SourceSettings[]
  /** One line per problem, such as `sources.alchemy.path must be a path such as /hooks/alchemy`. Without secrets. */
  readonly problems: readonly string[]
}

/** Checks the setting `sources`. `takenPaths`: paths that no source may have. */
export function resolveSources(value: unknown, takenPaths: readonly string[]): ResolvedSources {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {
      sources: [],
      problems: ["sources must be an object of sources by name, for example { desk: { path: '/hooks/desk', … } }"],
    }
  }
  const sources: SourceSettings[] = []
  const problems: string[] = []
  const owners = new Map(takenPaths.map((path) => [path, 'the inbox']))
  for (const [name, raw] of Object.entries(value)) {
    const entryProblems = nameProblems(name)
    const parsed = entry.safeParse(raw)
    if (!parsed.success) entryProblems.push(...parsed.error.issues.flatMap(describeIssue))
    else {
      const { path } = parsed.data
      const owner = owners.get(path)
      if (owner !== undefined) entryProblems.push(`.path must be another path: ${path} is taken by ${owner}`)
      owners.set(path, `sources.${name}`)
      const source = resolveEntry(name, parsed.data, entryProblems)
      if (source !== undefined && entryProblems.length === 0) sources.push(source)
    }
    problems.push(...entryProblems.map((problem) => `sources.${name}${problem}`))
  }
  return { sources, problems }
}

function nameProblems(name: string): string[] {
  if (name === 'default') return [' must have another name: the INBOX_ settings describe the source `default`']
  if (/^[a-z][a-z0-9-]{0,39}$/.test(name)) return []
  return [' must have a name of a-z, 0-9 and "-" that begins with a letter, at most 40 characters']
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const place = issue.path.map((name) => `.${String(name)}`).join('')
  if (issue.code !== 'unrecognized_keys') return [`${place} ${issue.message}`]
  const known = optionNames[place] ?? []
  return issue.keys.map((key) => `${place}.${key} is not an option${nearest(key, known)}`)
}

function resolveEntry(name: string, settings: Entry, problems: string[]): SourceSettings | undefined {
  const provider = providerOf(settings, problems)
  if (provider === undefined) return undefined
  const verify = parseVerifications(provider.verify, problems)
  problems.push(...verifyProblems(settings, verify))
  const { path, id = provider.id, type = provider.type, createdAt = provider.createdAt, key = provider.key } = settings
  const isOfProvider = [provider.id].flat().includes(settings.id ?? null)
  if (settings.id !== undefined && !isOfProvider && !isCovered(settings.id, verify)) {
    problems.push(
      '.id must be in the body, or in a signed header that text in verify.signed separates from other values',
    )
  }
  return {
    ...provider,
    name,
    path,
    provider: isProviderName(settings.provider ?? '') ? (settings.provider as ProviderName) : null,
    verify: verify.map((each) => withIdHeaders(each, id)),
    id,
    type,
    createdAt,
    key,
    rejectsOld: provider.resigns || settings.verify?.timestamp?.toleranceSeconds !== undefined,
    secretOrigins: secretsOf(provider, settings, problems),
    keyEndpoint: keysOf(provider, settings, problems),
  }
}

function providerOf({ provider, verify }: Entry, problems: string[]): Provider | undefined {
  if (provider !== undefined && verify !== undefined) problems.push('.verify must not be set with a provider')
  else if (verify !== undefined) return describedBy(verify)
  else if (provider === undefined) problems.push(' must have a provider or verify')
  else if (isProviderName(provider)) return providers[provider]
  else {
    const rule = `must be one of ${providerNames.join(', ')} (got ${JSON.stringify(provider)})`
    problems.push(`.provider ${rule}${nearest(provider, providerNames)}`)
  }
  return undefined
}

/** A sender that the settings themselves describe. */
function describedBy({ signed, timestamp, prefix, ...rest }: z.infer<typeof verification>): Provider {
  const verify: Verification = {
    ...rest,
    ...(prefix !== undefined && { prefix }),
    ...(signed !== undefined && { signed: [signed] }),
    ...(timestamp && {
      timestamp: {
        from: { header: timestamp.header },
        unit: timestamp.unit,
        toleranceSeconds: timestamp.toleranceSeconds ?? defaultToleranceSeconds,
      },
    }),
  }
  return defineProvider({ verify: [verify] })
}

function parseVerifications(verify: readonly Verification[], problems: string[]): readonly ParsedVerification[] {
  return verify.flatMap(({ signed = ['{body}'], ...rest }) => {
    try {
      return [{ ...rest, templates: signed.map(parseTemplate), idHeaders: [] }]
    } catch (error) {
      problems.push(`.verify.signed ${messageOf(error)}`)
      return []
    }
  })
}

/** A `verify` of the settings must be consistent. */
function verifyProblems({ verify }: Entry, [parsed]: readonly ParsedVerification[]): string[] {
  if (verify === undefined || parsed === undefined) return []
  const { scheme, encoding, signed, timestamp } = verify
  if (scheme === 'secret') {
    const unused = Object.entries({ encoding, signed, timestamp }).filter(([, value]) => value !== undefined)
    return unused.map(([name]) => `.verify.${name} must not be set with the scheme secret`)
  }
  const parts = parsed.templates.flatMap((template) => template.parts)
  const kinds = new Set(parsed.templates.flatMap(({ parts }) => parts.map(({ kind }) => kind)))
  const isTimed = kinds.has('timestamp')
  const isSelfSigned = parts.some((part) => part.kind === 'header' && part.name === verify.header)
  return [
    ...(isSelfSigned ? [`.verify.signed must not contain {header.${verify.header}}: it holds the signature`] : []),
    ...(timestamp?.header === verify.header
      ? ['.verify.timestamp.header must be another header than .verify.header']
      : []),
    ...(/\{timestamp\}\d|\}[^{}]*\d\{timestamp\}/.test(signed ?? '')
      ? ['.verify.signed must not have a digit next to {timestamp}']
      : []),
    ...(isTimed && !timestamp ? ['.verify.timestamp must be set, because verify.signed contains {timestamp}'] : []),
    ...(timestamp && !isTimed ? ['.verify.signed must contain {timestamp}: otherwise anyone could change it'] : []),
    ...(kinds.has('item') || kinds.has('signedHeaders')
      ? ['.verify.signed must not contain {item.<name>} or {signedHeaders}: the header is one signature']
      : []),
  ]
}

/** An id in a header must be signed, and separated from other values: otherwise one signature would be valid for several ids. */
function isCovered(id: string, verify: readonly ParsedVerification[]): boolean {
  const name = headerNameOf(id)
  return name === null || verify.every(({ templates }) => templates.every((each) => isSeparated(name, each)))
}

function withIdHeaders(verification: ParsedVerification, id: Reference | null): ParsedVerification {
  const { templates } = verification
  const names = [id ?? []].flat().map(headerNameOf)
  const idHeaders = names.filter((name) => name !== null && templates.every((each) => isSeparated(name, each)))
  return { ...verification, idHeaders: idHeaders as readonly string[] }
}

function headerNameOf(reference: string): string | null {
  return reference.startsWith('header.') ? reference.slice('header.'.length) : null
}

function secretsOf(
  { keyEndpoint }: Provider,
  { secrets: origins }: Entry,
  problems: string[],
): SourceSettings['secretOrigins'] {
  if (keyEndpoint !== null && origins !== undefined)
    problems.push('.secrets must not be set: the public keys are fetched')
  if (keyEndpoint === null && origins === undefined) problems.push(`.secrets must be ${originRule}`)
  if (origins === undefined) return {}
  // No label is `env` or `file`.
  const isOrigin = typeof origins === 'string' || 'env' in origins || 'file' in origins
  return isOrigin ? { [onlyLabel]: origins as SecretOrigin } : (origins as SourceSettings['secretOrigins'])
}

function keysOf({ keyEndpoint }: Provider, { keys }: Entry, problems: string[]): SourceSettings['keyEndpoint'] {
  if (keyEndpoint === null) {
    if (keys !== undefined) problems.push('.keys must not be set: this source has no fetched keys')
    return null
  }
  const { url = keyEndpoint.url, apiKey = null } = keys ?? {}
  if (keyEndpoint.needsApiKey && apiKey === null) problems.push(`.keys.apiKey must be ${originRule}`)
  if (keyEndpoint.format === 'circle' && !url.includes('{keyId}')) problems.push('.keys.url must contain {keyId}')
  return { ...keyEndpoint, url, apiKey }
}
