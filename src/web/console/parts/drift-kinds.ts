import type { DriftJson } from '../contract.ts'

/** What each kind of drift is, and what to do about it. */
export const driftKinds: Readonly<Record<DriftJson['kind'], { readonly title: string; readonly todo: string }>> = {
  unknown_type: {
    title: 'Unknown type',
    todo: 'Handlers of “*” get it, others do not. Write one for it, or update this program, which may know it by then.',
  },
  new_field: {
    title: 'New field',
    todo: 'Nothing breaks: fields that nobody reads are passed on as they came. See whether a handler wants it.',
  },
  missing_field: {
    title: 'Missing field',
    todo: 'Handlers that read it get undefined. Guard them, and ask the service whether it is gone for good.',
  },
  wrong_type: {
    title: 'Another kind of value',
    todo: 'Handlers that compute with it may fail or, worse, compute something else. Check them first.',
  },
  out_of_range: {
    title: 'Value out of range',
    todo: 'The value is of the right kind and outside of what is documented. Check what your handlers take for granted.',
  },
}
