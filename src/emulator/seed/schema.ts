import { z } from 'zod'
import { networkIds } from '../../../schema/index.ts'
import { newAlert } from '../../../schema/rest/alert.ts'
import { networkStatuses } from '../../../schema/rest/network.ts'
import { scopeNames } from '../../../schema/rest/routes.ts'
import { newWebhook } from '../../../schema/rest/webhook.ts'
import { planLimits, type Plan } from '../accounts/accounts.ts'
import { canonical } from '../values.ts'
import { durationForm, maxDurationMs, parseDuration } from '../duration.ts'
import { faultRuleSchema } from '../faults/rules.ts'
import { restSettingsSchema } from '../rest/input.ts'
import { serializerProfiles } from '../serialize.ts'
import { clockModes } from '../world-clock.ts'
import { storyNames, thresholdsSchema, worldSettings } from '../world/port.ts'

const name = z.string().trim().min(1).max(100)
const network = z.enum(networkIds)
/** YAML parses an EVM address without quotes as a number. */
const address = z.string('expected an address in quotes')
/** Characters of a credential: any that fit into a header, without spaces. */
const credential = z
  .string()
  .regex(/^[\x21-\x7e]{16,256}$/, 'expected 16 to 256 visible ASCII characters without spaces')

const durationProblem = `expected ${durationForm}; at most 366d`
const duration = z
  .union(
    [
      z.int().min(0),
      z.string().transform((text, context) => {
        const ms = parseDuration(text)
        if (ms !== undefined) return ms
        context.addIssue(durationProblem)
        return z.NEVER
      }),
    ],
    durationProblem,
  )
  .refine((ms) => ms <= maxDurationMs, durationProblem)

/** Allowed world times, with room for history and for as many years again. */
const [earliest, latest] = [Date.UTC(2000), Date.UTC(2100)]
const momentProblem = 'expected a UTC time from 2000 to 2099, such as 2026-01-31T12:00:00Z'
const moment = z
  .union([z.int(), z.iso.datetime().transform((text) => Date.parse(text))], momentProblem)
  .refine((at) => at >= earliest && at < latest, momentProblem)

const planNames = Object.keys(planLimits) as [Plan, ...Plan[]]

const scopesProblem = `expected "all" or a list of ${scopeNames.join(', ')}`

/** An API key to create. Without `key` its value is generated and shown once. */
export const keySchema = z.strictObject({
  name,
  key: z.exactOptional(credential),
  scopes: z.union(
    [z.literal('all').transform(() => [...scopeNames]), z.array(z.enum(scopeNames)).min(1)],
    scopesProblem,
  ),
})

const { url, events, secret } = newWebhook.shape
const { type, threshold, webhook_url: webhookUrl, label } = newAlert.shape

const trackedSchema = z.strictObject({ network, wallet: address }).transform(canonical('wallet'))

/** Members of an alert to create. */
export const alertShape = { type, address, network, threshold, webhookUrl, label }

const accountSchema = z.strictObject({
  name,
  plan: z.enum(planNames).default('free'),
  keys: z.array(keySchema).default([]),
  webhooks: z
    .array(z.strictObject({ url, events, secret: secret.exactOptional() }))
    .max(20)
    .default([]),
  alertSecret: z.exactOptional(credential),
  alerts: z
    .array(z.strictObject(alertShape).transform(canonical('address')))
    .max(100)
    .default([]),
  /** Number of alerts on prices of larger tokens, near the initial prices. Needs a webhook. */
  priceAlerts: z.int().min(0).max(50).default(0),
})

/** Initial state of an emulator (A34). The output is valid input. */
export const seedSchema = z
  .strictObject({
    world: z
      .strictObject({
        seed: z.string().min(1).max(200).default('demo'),
        /** Start of history. If set, everything happens at fixed moments. */
        startAt: moment.nullable().default(null),
        /** Length of the history simulated before the emulator answers. */
        history: duration.default(24 * 3_600_000),
        ...worldSettings,
      })
      .prefault({}),
    clock: z
      .strictObject({ mode: z.enum(clockModes).default('real'), speed: z.number().min(0.001).max(1e6).default(1) })
      .prefault({}),
    settings: restSettingsSchema.prefault({}),
    deliveries: z
      .strictObject({
        /** A44 */
        parallel: z.int().min(1).max(1_000).default(10),
        /** How events are serialized. Receivers that re-serialize before checking the signature fail (R73). */
        serializer: z.enum(serializerProfiles).default('spaced'),
      })
      .prefault({}),
    faults: z.array(faultRuleSchema).max(100).default([]),
    /** A17 */
    alerts: z.strictObject({ oneShot: z.boolean().default(false) }).prefault({}),
    /** A65: login of the dashboard. Default: a generated password. */
    dashboard: z.exactOptional(z.strictObject({ user: name, password: credential })),
    controlToken: z.exactOptional(credential),
    accounts: z.array(accountSchema).max(1_000).default([]),
    tracked: z.array(trackedSchema).max(10_000).default([]),
    thresholds: thresholdsSchema.default({}),
    networks: z.partialRecord(network, z.enum(networkStatuses)).default({}),
    stories: z.array(z.enum(storyNames)).max(100).default([]),
  })
  .superRefine(({ accounts }, context) => {
    const seen = new Set<string>()
    const rejectRepeated = (text: string | undefined, message: string, path: PropertyKey[]) => {
      if (text === undefined) return
      if (seen.has(`${message} ${text}`)) context.addIssue({ code: 'custom', message, path })
      seen.add(`${message} ${text}`)
    }
    for (const [index, { name, keys }] of accounts.entries()) {
      rejectRepeated(name, 'another account has this name', ['accounts', index, 'name'])
      for (const [number, { key }] of keys.entries()) {
        rejectRepeated(key, 'another key has this value', ['accounts', index, 'keys', number, 'key'])
      }
    }
  })

export type Seed = z.output<typeof seedSchema>
/** Seed as written: omitted settings have their defaults. */
export type SeedInput = z.input<typeof seedSchema>
