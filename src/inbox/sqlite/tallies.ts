import type { NewEvent } from '../port.ts'
import { hourMs, keptTallyMinutes, minuteMs, prunedMinutes } from '../tally.ts'
import type { Statements } from './statements.ts'

/** Counts new events per minute, type and network, per hour and per secret. Each transaction writes its counts once, at its end. */
export function createTallies(sql: Statements) {
  const minutes = new Map<string, { minute: number; type: string; network: string; count: number }>()
  const hours = new Map<number, { first: number; last: number }>()
  const secrets = new Map<string, { firstAt: number; lastAt: number; count: number }>()
  let newestHour = -Infinity

  function forget(): void {
    minutes.clear()
    hours.clear()
    secrets.clear()
  }

  return {
    add(seq: number, { type, key, id, receivedAt, secretLabel }: NewEvent): void {
      const minute = Math.floor(receivedAt / minuteMs)
      const network = key === id ? '' : key.slice(0, Math.max(0, key.indexOf(':')))
      const name = `${minute} ${network} ${type}`
      const tally = minutes.get(name)
      if (tally === undefined) minutes.set(name, { minute, type, network, count: 1 })
      else tally.count++
      const hour = Math.floor(receivedAt / hourMs)
      const span = hours.get(hour)
      if (span === undefined) hours.set(hour, { first: seq, last: seq })
      else span.last = seq
      const use = secrets.get(secretLabel)
      if (use === undefined) secrets.set(secretLabel, { firstAt: receivedAt, lastAt: receivedAt, count: 1 })
      else {
        use.lastAt = Math.max(use.lastAt, receivedAt)
        use.count++
      }
    },
    /** Writes what was counted since the last call. Old minutes are pruned when an hour begins. */
    flush(): void {
      if (minutes.size === 0) return
      for (const { minute, type, network, count } of minutes.values()) sql.addTally.run(minute, type, network, count)
      for (const [hour, { first, last }] of hours) {
        sql.addHour.run(hour, first, last)
        if (hour <= newestHour) continue
        newestHour = hour
        sql.pruneTallies.run(hour * 60 - keptTallyMinutes, prunedMinutes)
      }
      for (const [label, { firstAt, lastAt, count }] of secrets) sql.addSecretUse.run(label, firstAt, lastAt, count)
      forget()
    },
    /** Drops what was counted: the transaction was rolled back. */
    forget,
  }
}
