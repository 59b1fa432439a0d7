import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { previewBytes, type QuarantinedBody, type QueryStore } from '../inbox/port.ts'
import { safeText } from '../base/log.ts'
import { bulkBody, page, reason, words } from './parse.ts'
import { route, type AdminContext } from './route.ts'
import { component, count, listOf, time, toBuffer, toPage, toWire } from './wire.ts'

const quarantined = component('Quarantined', {
  id: z.string().describe('`sha256:` and the hex digest of the bytes'),
  reason: z.string(),
  received_at: time,
  secret_label: z.string(),
  size_bytes: count,
  count: z.int().min(1).describe('deliveries of the same bytes'),
  preview: z.string().describe('start of the body as safe text of at most 200 characters'),
})
const quarantineList = listOf('QuarantineList', quarantined)
const quarantinedDetail = component('QuarantinedDetail', {
  ...quarantined.shape,
  raw_base64: z.base64().describe('the exact bytes'),
})

const droppedBodies = component('DroppedBodies', { dropped: count, dry_run: z.literal(true).optional() })
const retried = component('Retried', {
  accepted: count,
  known: count.describe('duplicates'),
  still_unusable: count,
  unusable: z.array(z.object({ id: z.string(), reason: z.string() })).describe('the first 100'),
  dry_run: z.literal(true).optional(),
})

export type QuarantinedJson = z.output<typeof quarantined>
export type QuarantinedDetailJson = z.output<typeof quarantinedDetail>
export type DroppedBodiesJson = z.output<typeof droppedBodies>
export type RetriedJson = z.output<typeof retried>

const reasonCode = words.describe('the reason of quarantined bodies, 1 to 255 characters')
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
    summary: 'List signed bodies that are not usable events, newest first',
    query: z.strictObject({ reason: z.exactOptional(reasonCode).describe(reasonCode.description ?? ''), ...page }),
    gives: quarantineList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.quarantine(query), toQuarantinedJson),
  }),
  getQuarantined: route({
    at: 'GET /quarantine/:id',
    param: { name: 'id', description: 'The id of the body: `sha256:` and its digest.' },
    summary: 'Show a quarantined body with its exact bytes',
    gives: quarantinedDetail,
    async answer({ inbox }, { id }) {
      const body = await inbox.quarantined(id)
      if (body === null) throw new InboxError('not_found', 'no quarantined body has this id')
      return { ...toQuarantinedJson(body), raw_base64: toBuffer(body.raw).toString('base64') }
    },
  }),
  retryQuarantine: route({
    at: 'POST /quarantine/retry',
    summary: 'Parse bodies again, after an update that can read them',
    body: retryBody,
    gives: retried,
    logged: 'quarantine retried',
    async answer(context, { body: { dryRun: isDry, ...selection }, by }) {
      const counts: RetriedJson = { accepted: 0, known: 0, still_unusable: 0, unusable: [] }
      for await (const id of idsOf(context.inbox, selection)) {
        const result = await retryOne(context, id, isDry, by)
        if (result === null) continue
        if (typeof result === 'string') counts[result] += 1
        else {
          counts.still_unusable += 1
          if (counts.unusable.length < maxListed) counts.unusable.push({ id, reason: result.reason })
        }
      }
      return isDry ? { ...counts, dry_run: true as const } : counts
    },
  }),
  dropQuarantine: route({
    at: 'POST /quarantine/drop',
    summary: 'Delete quarantined bodies',
    body: dropBody,
    gives: droppedBodies,
    logged: 'quarantined bodies dropped',
    async answer({ inbox }, { body: { dryRun: isDry, reason: why, ...selection }, by }) {
      let dropped = 0
      for await (const id of idsOf(inbox, selection)) {
        const isFound = isDry ? (await inbox.quarantined(id)) !== null : await inbox.dropQuarantined(id, why, by)
        if (isFound) dropped++
      }
      return isDry ? { dropped, dry_run: true as const } : { dropped }
    },
  }),
}

function toQuarantinedJson({ raw, ...body }: QuarantinedBody): QuarantinedJson {
  const preview = safeText(toBuffer(raw).subarray(0, previewBytes).toString(), previewLength - 1)
  return { ...toWire(body), preview }
}

/** Ids of a selection, read page by page. */
async function* idsOf(inbox: QueryStore, selection: Selection): AsyncGenerator<string> {
  if (selection.ids !== undefined) return yield* new Set(selection.ids)
  let cursor: string | null = null
  do {
    const bodies: Awaited<ReturnType<QueryStore['quarantine']>> = await inbox.quarantine({
      ...selection.filter,
      limit: pageSize,
      ...(cursor !== null && { cursor }),
    })
    for (const { id } of bodies.data) yield id
    cursor = bodies.nextCursor
  } while (cursor !== null)
}

/** Result for one body; null if it is no longer in quarantine. */
async function retryOne({ inbox, readEvent }: AdminContext, id: string, isDry: boolean, by?: string) {
  const body = await inbox.quarantined(id)
  if (body === null) return null
  const event = readEvent(body)
  if (typeof event === 'string') return { reason: event }
  if (isDry) return (await inbox.unknownIds([event.id])).length === 0 ? 'known' : 'accepted'
  const result = await inbox.retryQuarantined(id, event, by)
  return result === null || result === 'accepted' ? result : 'known'
}
