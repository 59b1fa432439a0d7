import { stat } from 'node:fs/promises'
import { systemClock, type Clock, type Timer } from '../base/clock.ts'
import type { Config } from './config.ts'
import { readSecretsFile } from './credentials.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../signature/keys.ts'

/** The webhook secrets that are valid now (A32: several while they are rotated). */
export interface SecretsSource {
  current(): readonly Secret[]
  /** Called after the secrets have changed. */
  onChange(listener: () => void): void
  /** Reads the file again now. Never rejects: a file that cannot be used is logged and the secrets stay as they are. */
  reload(): Promise<void>
  /** Stops watching the file; idempotent. `current` goes on answering. */
  close(): void
}

const pollMs = 1000

/**
 * Serves the secrets of the configuration; those of a file are read again within a second of its change, so that a
 * rotation needs no restart. The path itself is looked at anew each time, which survives renames and the swapped
 * symbolic links of mounted Kubernetes secrets, where a watch on the file would go silent.
 */
export function createSecretsSource(
  origin: Config['secretsSource'],
  log: Logger,
  clock: Clock = systemClock,
): SecretsSource {
  let { secrets } = origin
  if (origin.kind === 'inline')
    return { current: () => secrets, onChange() {}, reload: () => Promise.resolve(), close() {} }

  const { file } = origin
  const listeners: (() => void)[] = []
  let lastSeen: string | undefined
  let isClosed = false
  let timer: Timer | undefined

  async function read(isForced: boolean): Promise<void> {
    // Looked at before reading: a change in between is then seen as one the next time.
    const seen = await fingerprint(file)
    if (isClosed || (seen === lastSeen && !isForced)) return
    lastSeen = seen
    try {
      const fresh = await readSecretsFile(file)
      if (isClosed || areEqual(fresh, secrets)) return
      secrets = fresh
      log.info({ file, labels: fresh.map(({ label }) => label) }, 'webhook secrets read again')
      for (const listener of listeners) listener()
    } catch (error) {
      log.error({ file, reason: messageOf(error) }, 'webhook secrets unusable, the old ones stay in use')
    }
  }

  // One after the other, so that an older reading never overwrites a newer one.
  let reading: Promise<void> = Promise.resolve()
  const readNext = (isForced: boolean) => (reading = reading.then(() => read(isForced)))

  function schedule(): void {
    timer = clock.after(pollMs, () => void readNext(false).finally(() => isClosed || schedule()))
  }
  schedule()

  return {
    current: () => secrets,
    onChange: (listener) => void listeners.push(listener),
    reload: () => readNext(true),
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

/** Changes whenever the file behind the path does: another file, other content, gone, or back again. */
async function fingerprint(file: string): Promise<string> {
  try {
    const { dev, ino, mtimeNs, size } = await stat(file, { bigint: true })
    return [dev, ino, mtimeNs, size].join(':')
  } catch (error) {
    return messageOf(error)
  }
}

function areEqual(a: readonly Secret[], b: readonly Secret[]): boolean {
  return (
    a.length === b.length && a.every(({ label, key }, index) => b[index]?.label === label && key.equals(b[index].key))
  )
}
