import { Id } from '../../ui/values.tsx'

export const eventPath = (id: string) => `/events/${encodeURIComponent(id)}`

/** Links to the page of an event. */
export function EventId({ id }: { readonly id: string }) {
  return <Id value={id} href={`#${eventPath(id)}`} label="id" />
}
