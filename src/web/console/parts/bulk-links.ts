/** Where an event is shown. */
export function eventHref(id: string): string {
  return `#/events/${encodeURIComponent(id)}`
}
