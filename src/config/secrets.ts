import { stat } from 'node:fs/promises'
import { systemClock, type Clock, type Timer } from '../base/clock.ts'
import type { SecretsOrigin } from './credentials.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../signature/keys.ts'

/** The currently valid secrets of a source (A32: several during a rotation). */
export interface WebhookSecrets {
  current(): readonly Secret[]
  /** Called after the secrets have changed. */
  onChange(listener: () => void): void
  /** Reloads the files now. Never rejects: an invalid file is logged, and the old secrets stay valid. */
  reload(): Promise<void>
  /** Stops watching the files; idempotent. `current` still works. */
  close(): void
}

const pollMs = 1000

/**
 * Serves the secrets of the configuration. A changed file is reloaded within a second, so a rotation needs no restart.
 * Polls the path instead of watching the file: a watch would miss renames and the swapped symbolic links of Kubernetes
 * secrets.
 */
export function createWebhookSecrets(origin: SecretsOrigin, log: Logger, clock: Clock = systemClock): WebhookSecrets {
  let { secrets } = origin
  const { files } = origin
  if (files.length === 0) return { current: () => secrets, onChange() {}, reload: () => Promise.resolve(), close() {} }

  const file = files.join(', ')
  const listeners: (() => void)[] = []
  let lastSeen: string | undefined
  let isClosed = false
  let timer: Timer | undefined

  async function read(isForced: boolean): Promise<void> {
    // Computed before the file is read, so that the next poll notices a change in between.
    const seen = (await Promise.all(files.map(fingerprint))).join()
    if (isClosed || (seen === lastSeen && !isForced)) return
    lastSeen = seen
    try {
      const newSecrets = await origin.read()
      if (isClosed || areEqual(newSecrets, secrets)) return
      secrets = newSecrets
      log.info({ file, labels: newSecrets.map(({ label }) => label) }, 'webhook secrets read again')
      for (const listener of listeners) listener()
    } catch (error) {
      log.error({ file, reason: messageOf(error) }, 'webhook secrets unusable, old kept')
    }
  }

  // Sequential, so that an older read never overwrites a newer one.
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

/** Changes whenever the path has another file, content or permissions, or the file disappears or returns. */
async function fingerprint(file: string): Promise<string> {
  try {
    const { dev, ino, ctimeNs, size } = await stat(file, { bigint: true })
    return [dev, ino, ctimeNs, size].join(':')
  } catch (error) {
    return messageOf(error)
  }
}

function areEqual(a: readonly Secret[], b: readonly Secret[]): boolean {
  return (
    a.length === b.length && a.every(({ label, key }, index) => b[index]?.label === label && key.equals(b[index].key))
  )
}
