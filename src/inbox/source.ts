import type { StoredEvent } from './types.ts'

/** The source that the INBOX_* settings describe. */
export const defaultSource = 'default'

/**
 * The source of an event: the part of its secret label before the slash. Labels of the default source have no slash, and
 * neither has the label of internal events.
 */
export function sourceOf({ secretLabel }: Pick<StoredEvent, 'secretLabel'>): string {
  const slash = secretLabel.indexOf('/')
  return slash < 0 ? defaultSource : secretLabel.slice(0, slash)
}

/** The id in the inbox of an event or a quarantined body. Ids are unique per source. */
export function uidOf(source: string, id: string): string {
  return source === defaultSource ? id : `${source}/${id}`
}

/** The id that the sender gave an event: the reverse of `uidOf`. */
export function sentIdOf(event: Pick<StoredEvent, 'id' | 'secretLabel'>): string {
  return event.id.slice(uidOf(sourceOf(event), '').length)
}

/**
 * Puts the source in front of an ordering key: keys are per source. Keys of the default source never begin with a colon,
 * because the network in front of their colon isn't empty.
 */
export function keyOfSource(source: string, key: string): string {
  return source === defaultSource ? key : `:${source}:${key}`
}
