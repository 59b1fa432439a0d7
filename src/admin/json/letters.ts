import {
  listedBytes,
  type ConflictDetail,
  type ConflictRecord,
  type DeadGroups,
  type DeadLetter,
  type QuarantinedBody,
  type QuarantineGroup,
  type ReplayRecord,
} from '../../inbox/port.ts'
import { safeText } from '../../log.ts'
import type {
  ConflictDetailJson,
  ConflictJson,
  DeadGroupsJson,
  DeadLetterJson,
  QuarantinedDetailJson,
  QuarantinedJson,
  QuarantineGroupsJson,
  ReplayJson,
} from '../answers/letters.ts'
import { isoTime, isoTimeOrNull, toBuffer, toErrorJson } from './common.ts'

export function toDeadLetterJson(letter: DeadLetter): DeadLetterJson {
  const { runId, eventId, type, handler, attempt, crashed, diedAt, held, error } = letter
  return {
    run_id: runId,
    event_id: eventId,
    type,
    handler,
    attempt,
    crashed,
    died_at: isoTime(diedAt),
    held,
    error: toErrorJson(error),
  }
}

export function toDeadGroupsJson({ groups, isComplete }: DeadGroups): DeadGroupsJson {
  const data = groups.map(({ handler, group, count, held, firstDiedAt, lastDiedAt, sample }) => ({
    handler,
    group,
    count,
    held,
    first_died_at: isoTime(firstDiedAt),
    last_died_at: isoTime(lastDiedAt),
    sample: toDeadLetterJson(sample),
  }))
  return { data, complete: isComplete }
}

const previewLength = 200

export function toQuarantinedJson(body: QuarantinedBody): QuarantinedJson {
  return {
    id: body.id,
    reason: body.reason,
    received_at: isoTime(body.receivedAt),
    secret_label: body.secretLabel,
    size_bytes: body.sizeBytes,
    count: body.count,
    preview: safeText(toBuffer(body.raw).subarray(0, listedBytes).toString(), previewLength - 1),
  }
}

export function toQuarantinedDetailJson(body: QuarantinedBody): QuarantinedDetailJson {
  return { ...toQuarantinedJson(body), raw_base64: toBuffer(body.raw).toString('base64') }
}

export function toQuarantineGroupsJson(groups: readonly QuarantineGroup[]): QuarantineGroupsJson {
  const data = groups.map(({ reason, secretLabel, count, sizeBytes, firstAt, lastAt }) => ({
    reason,
    secret_label: secretLabel,
    count,
    size_bytes: sizeBytes,
    first_at: isoTime(firstAt),
    last_at: isoTime(lastAt),
  }))
  return { data }
}

export function toConflictJson(conflict: ConflictRecord): ConflictJson {
  const { eventId, type, digest, receivedAt, count, sizeBytes } = conflict
  return { event_id: eventId, type, digest, received_at: isoTime(receivedAt), count, size_bytes: sizeBytes }
}

export function toConflictDetailJson(conflict: ConflictDetail): ConflictDetailJson {
  return {
    ...toConflictJson(conflict),
    raw_base64: toBuffer(conflict.raw).toString('base64'),
    kept_raw_base64: toBuffer(conflict.keptRaw).toString('base64'),
  }
}

export function toReplayJson(replay: ReplayRecord): ReplayJson {
  const { from, to, ...filter } = replay.filter
  return {
    id: replay.id,
    state: replay.state,
    filter: {
      ...filter,
      ...(from !== undefined && { from: isoTime(from) }),
      ...(to !== undefined && { to: isoTime(to) }),
    },
    per_second: replay.perSecond,
    new_keys: replay.newKeys,
    created_at: isoTime(replay.createdAt),
    ended_at: isoTimeOrNull(replay.endedAt),
    progress: replay.lastSeq === 0 ? 1 : replay.scannedSeq / replay.lastSeq,
    events: replay.events,
    runs: replay.runs,
    skipped: replay.skipped,
    open_runs: replay.openRuns,
  }
}
