import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { previewBytes, type QuarantinedBody, type QueryStore } from '../inbox/port.ts'
import { safeText } from '../base/log.ts'
import { bulkBody, page, reason, words } from './parse.ts'
import { route, type AdminContext } from './route.ts'
import { components, count, listOf, time, toBuffer, toPage, toWire } from './wire.ts'

const quarantined = z
  .object({
    id: z.string().describe('sha256: and the hex digest of the bytes'),
    reason: z.string(),
    received_at: time,
    secret_label: z.string(),
    size_bytes: count,
    count: z.int().min(1).describe('how often the same bytes came'),
    preview: z.string().describe('the first bytes as text of at most 200 characters, safe to show anywhere'),
  })
  .register(components, { id: 'Quarantined' })
const quarantineList = listOf(quarantined).register(components, { id: 'QuarantineList' })
const quarantinedDetail = quarantined
  .extend({ raw_base64: z.base64().describe('the exact bytes') })
  .register(components, { id: 'QuarantinedDetail' })

const quarantineGroups = z
  .object({
    data: z.array(
      z.object({
        reason: z.string(),
        secret_label: z.string(),
        count,
        size_bytes: count,
        first_at: time,
        last_at: time,
      }),
    ),
  })
  .register(components, { id: 'QuarantineGroups' })

/** With `dry_run` nothing was done; the numbers say what would be. */
const droppedBodies = z
  .object({ dropped: count, dry_run: z.literal(true).optional() })
  .register(components, { id: 'DroppedBodies' })
const retried = z
  .object({
    accepted: count,
    known: count.describe('events that were known already'),
    still_unusable: count,
    unusable: z.array(z.object({ id: z.string(), reason: z.string() })).describe('the first 100 of them'),
    dry_run: z.literal(true).optional(),
  })
  .register(components, { id: 'Retried' })

export type QuarantinedJson = z.output<typeof quarantined>
export type QuarantinedDetailJson = z.output<typeof quarantinedDetail>
export type QuarantineGroupsJson = z.output<typeof quarantineGroups>
export type DroppedBodiesJson = z.output<typeof droppedBodies>
export type RetriedJson = z.output<typeof retried>

const reasonCode = words.describe('the reason for which bodies are in quarantine of 1 to 255 characters')
const ids = z.array(z.string().min(1).max(300)).min(1).max(1_000)
const filter = z.strictObject({ reason: reasonCode })
const selections = '{"ids": ["sha256:…"]}, {"all": true} or {"filter": {"reason": "not_json"}}'

const retryBody = bulkBody(selections, { ids }, filter, {})
const dropBody = bulkBody(selections, { ids }, filter, { reason })

interface Selection {
  readonly ids?: readonly string[]
  readonly all?: true
  readonly filter?: { readonly reason: string }
}

const pageSize = 200
const maxListed = 100
const previewLength = 200

export const quarantineRoutes = {
  listQuarantine: route({
    at: 'GET /quarantine',
    summary: 'List signed bodies that are no usable event, newest first',
    query: z.strictObject({ reason: z.exactOptional(reasonCode).describe(reasonCode.description ?? ''), ...page }),
    gives: quarantineList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.quarantine(query), toQuarantinedJson),
  }),
  groupQuarantine: route({
    at: 'GET /quarantine/groups',
    summary: 'Group quarantined bodies by reason and secret, largest group first',
    gives: quarantineGroups,
    answer: async ({ inbox }) => ({ data: toWire(await inbox.quarantineGroups()) }),
  }),
  getQuarantined: route({
    at: 'GET /quarantine/:id',
    param: { name: 'id', description: 'The id of the body: `sha256:` and its digest.' },
    summary: 'Show a quarantined body with its exact bytes',
    gives: quarantinedDetail,
    async answer({ inbox }, { id }) {
      const body = await inbox.quarantined(id)
      if (body === null) throw new InboxError('not_found', 'there is no body in quarantine with this id')
      return { ...toQuarantinedJson(body), raw_base64: toBuffer(body.raw).toString('base64') }
    },
  }),
  retryQuarantine: route({
    at: 'POST /quarantine/retry',
    summary: 'Read bodies as events again, after an update that understands them',
    body: retryBody,
    gives: retried,
    refuses: ['not_found'],
    logged: 'the quarantine was retried by the admin API',
    async answer(context, { body: { dryRun: isDry, ...selection }, by }) {
      await checkIds(context.inbox, selection)
      const found: RetriedJson = { accepted: 0, known: 0, still_unusable: 0, unusable: [] }
      for await (const id of idsOf(context.inbox, selection)) {
        const result = await retryOne(context, id, isDry, by)
        if (result === null) continue
        if (typeof result === 'string') found[result] += 1
        else {
          found.still_unusable += 1
          if (found.unusable.length < maxListed) found.unusable.push({ id, reason: result.reason })
        }
      }
      return isDry ? { ...found, dry_run: true as const } : found
    },
  }),
  dropQuarantine: route({
    at: 'POST /quarantine/drop',
    summary: 'Remove bodies from the quarantine for good',
    body: dropBody,
    gives: droppedBodies,
    refuses: ['not_found'],
    logged: 'bodies in quarantine were dropped by the admin API',
    async answer({ inbox }, { body: { dryRun: isDry, reason: why, ...selection }, by }) {
      let dropped = 0
      for await (const id of idsOf(inbox, selection)) {
        const isThere = isDry ? (await inbox.quarantined(id)) !== null : await inbox.dropQuarantined(id, why, by)
        if (isThere) dropped++
      }
      return isDry ? { dropped, dry_run: true as const } : { dropped }
    },
  }),
}

function toQuarantinedJson({ raw, ...body }: QuarantinedBody): QuarantinedJson {
  const preview = safeText(toBuffer(raw).subarray(0, previewBytes).toString(), previewLength - 1)
  return { ...toWire(body), preview }
}

/** The ids of a selection, a page at a time. */
async function* idsOf(inbox: QueryStore, selection: Selection): AsyncGenerator<string> {
  if (selection.ids !== undefined) return yield* new Set(selection.ids)
  let cursor: string | null = null
  do {
    const found: Awaited<ReturnType<QueryStore['quarantine']>> = await inbox.quarantine({
      ...selection.filter,
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    })
    for (const { id } of found.data) yield id
    cursor = found.nextCursor
  } while (cursor !== null)
}

async function checkIds(inbox: QueryStore, { ids: given = [] }: Selection): Promise<void> {
  for (const id of given) {
    if ((await inbox.quarantined(id)) !== null) continue
    throw new InboxError('not_found', `there is no body in quarantine with the id ${id}: nothing was done`)
  }
}

/** What becomes, or in a dry run would become, of a body; null if it was taken out meanwhile. */
async function retryOne({ inbox, readEvent }: AdminContext, id: string, isDry: boolean, by?: string) {
  const body = await inbox.quarantined(id)
  if (body === null) return null
  const event = readEvent(body)
  if (typeof event === 'string') return { reason: event }
  if (isDry) return (await inbox.unknownIds([event.id])).length === 0 ? 'known' : 'accepted'
  const result = await inbox.retryQuarantined(id, event, by)
  return result === null || result === 'accepted' ? result : 'known'
}
