import { hostname } from 'node:os'
import type { ClusterPort, Replica } from '../../inbox/cluster-port.ts'
import { InboxError } from '../../errors.ts'
import { openRunsOf, ownLabel } from '../../inbox/port.ts'
import type { RejectExplanation, RejectGroup, Rejects } from '../../receiver/rejects.ts'
import { version } from '../../version.ts'
import type {
  ActivityJson,
  DriftListJson,
  OverviewJson,
  ReplicaJson,
  ReplicaListJson,
  SecretListJson,
  SecretUseJson,
  SettingsJson,
} from '../answers/health.ts'
import type { RejectExplanationJson, RejectGroupJson, RejectListJson } from '../answers/letters.ts'
import { isoTime, isoTimeOrNull } from '../json/common.ts'
import { toDriftJson, toIndexJson, toSenderJson, toWarningJson } from '../json/health.ts'
import { activityParameters, parseParameters } from '../parameters.ts'
import { activityQuery, toActivityJson } from './activity.ts'
import type { Query } from './events.ts'
import { deadLettersOf, senderWindowMs, type HealthSources } from './health.ts'

/** What the console shows of a sidecar that runs. Throws `bad_request`, `not_found`. */
export interface LiveViews {
  showOverview(): Promise<OverviewJson>
  showActivity(query: Query): Promise<ActivityJson>
  listDrift(): Promise<DriftListJson>
  listSecrets(): Promise<SecretListJson>
  listReplicas(): Promise<ReplicaListJson>
  showSettings(): Promise<SettingsJson>
  listRejects(): RejectListJson
  explainReject(id: string): RejectExplanationJson
}

export interface LiveSources extends HealthSources {
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly rejects?: Pick<Rejects, 'list' | 'explain' | 'count'>
  /** What is set, for people; without anything secret. */
  readonly settings?: () => Readonly<SettingsJson['settings']>
  /** Labels of the secrets that are valid now. */
  readonly secretLabels?: () => readonly string[]
  /** When this process began: milliseconds since 1970. */
  readonly startedAt?: number
  /** Where several processes share the inbox. */
  readonly cluster?: Pick<ClusterPort, 'replicas'> | undefined
}

export function createLiveViews(sources: LiveSources): LiveViews {
  const { inbox, now, meter, watch, rejects, settings, secretLabels, startedAt = now(), cluster } = sources

  /** Those that are configured, in their order, then those that are gone, the last used first. */
  async function secretUses(): Promise<SecretUseJson[]> {
    const uses = (await inbox.secretUses()).filter(({ label }) => label !== ownLabel)
    const byLabel = new Map(uses.map((use) => [use.label, use]))
    const configured = secretLabels?.() ?? []
    const gone = uses.filter(({ label }) => !configured.includes(label)).toSorted((a, b) => b.lastAt - a.lastAt)
    return [...configured, ...gone.map(({ label }) => label)].map((label) => {
      const use = byLabel.get(label)
      return {
        label,
        configured: configured.includes(label),
        first_used_at: isoTimeOrNull(use?.firstAt ?? null),
        last_used_at: isoTimeOrNull(use?.lastAt ?? null),
        events: use?.count ?? 0,
      }
    })
  }

  return {
    async showOverview() {
      const [stats, index] = await Promise.all([inbox.stats(), inbox.indexStatus()])
      return {
        now: isoTime(now()),
        started_at: isoTimeOrNull(sources.startedAt ?? null),
        version,
        events: stats.lastSeq,
        events_per_second: meter?.perSecond() ?? 0,
        sender: meter === undefined ? null : toSenderJson(meter.summary(senderWindowMs)),
        open_runs: stats.handlers.reduce((sum, row) => sum + openRunsOf(row) + row.running, 0),
        oldest_open_at: isoTimeOrNull(stats.oldestOpenAt),
        dead_letters: deadLettersOf(stats),
        held: stats.handlers.reduce((sum, { held }) => sum + held, 0),
        quarantined: stats.quarantined,
        conflicts: stats.conflicts,
        rejects: rejects?.count() ?? meter?.rejects() ?? 0,
        store_bytes: stats.sizeBytes,
        paused: stats.paused,
        index: toIndexJson(index),
        warnings: (watch?.warnings() ?? []).map(toWarningJson),
      }
    },
    async showActivity(query) {
      const { window } = parseParameters(activityParameters, query)
      const asked = activityQuery(window, now())
      return toActivityJson(window, asked, await inbox.activity(asked), meter?.acks(asked) ?? [])
    },
    listDrift: async () => ({ data: (await inbox.drift()).map(toDriftJson) }),
    listSecrets: async () => ({ data: await secretUses() }),
    async listReplicas() {
      const alone = { startedAt, beatAt: now(), isAlive: true, isSelf: true, isLeader: true, load: {} }
      const found = (await cluster?.replicas()) ?? [{ id: `${hostname()}-${process.pid}`, version, ...alone }]
      return { data: found.map(toReplicaJson) }
    },
    showSettings: async () => ({ settings: [...(settings?.() ?? [])], secrets: await secretUses() }),
    listRejects() {
      const { groups, droppedGroups } = rejects?.list() ?? { groups: [], droppedGroups: 0 }
      return { data: groups.map(toRejectJson), dropped_groups: droppedGroups }
    },
    explainReject(id) {
      const found = rejects?.explain(id) ?? null
      if (found === null) {
        throw new InboxError(
          'not_found',
          'there is no group of refused requests with this id, or no sample of it is kept',
        )
      }
      return toExplanationJson(id, found)
    },
  }
}

function toRejectJson(group: RejectGroup): RejectGroupJson {
  const { id, reason, source, count, firstAt, lastAt, method, path, sizeBytes, isExplainable } = group
  return {
    id,
    reason,
    source,
    count,
    first_at: isoTime(firstAt),
    last_at: isoTime(lastAt),
    method,
    path,
    size_bytes: sizeBytes,
    explainable: isExplainable,
  }
}

function toExplanationJson(id: string, explanation: RejectExplanation): RejectExplanationJson {
  const { code, matchedLabel, message, headers, preview } = explanation
  return { id, code, matched_label: matchedLabel, message, headers: { ...headers }, preview }
}

function toReplicaJson({ id, version: of, startedAt, beatAt, isAlive, isSelf, isLeader, load }: Replica): ReplicaJson {
  const times = { started_at: isoTime(startedAt), seen_at: isoTime(beatAt) }
  return { id, version: of, ...times, alive: isAlive, self: isSelf, leader: isLeader, load: { ...load } }
}
