import { inFault, outFault } from './kinds.ts'
import type { FaultTarget } from './port.ts'
import type { FaultRule, InRule, OutRule } from './schema.ts'

/** Whether a rule is about a delivery. */
export function isMeant({ endpoint, types }: OutRule, { endpointId, url, eventType }: FaultTarget): boolean {
  const isEndpoint = endpoint === undefined || endpoint === endpointId || endpoint === url
  return isEndpoint && (types === undefined || types.some((wanted) => matches(eventType, wanted)))
}

/** Whether a rule is about a request. `path` is without its query. */
export function isAsked(
  { path: wanted, methods }: InRule,
  { method, path }: { readonly method: string; readonly path: string },
): boolean {
  const isMethod = methods === undefined || methods.some((one) => one === method)
  return isMethod && (wanted === undefined || matches(path, wanted))
}

function matches(text: string, wanted: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : text === wanted
}

const order: Readonly<Record<FaultRule['direction'], readonly string[]>> = {
  out: outFault.options.map((option) => option.shape.kind.value),
  in: inFault.options.map((option) => option.shape.kind.value),
}

/** The place of a rule in the order in which faults compose: that in which `kinds.ts` lists them. */
export function orderOf({ direction, fault }: FaultRule): number {
  return order[direction].indexOf(fault.kind)
}
