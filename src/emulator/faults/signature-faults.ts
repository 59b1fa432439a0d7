import { sign } from '../../signature/sign.ts'
import type { OutFault } from './kinds.ts'

/** A fault of the header with the signature. */
export type SignatureFault = Extract<OutFault, { kind: `signature-${string}` }>

/** Signs with it who has not the secret. */
const wrongSecret = 'whsec_that-no-receiver-was-ever-told'

/** The values of the signature header over `body` with these faults, one after the other. */
export function signWith(faults: readonly SignatureFault[], body: Buffer, secret: string): readonly string[] {
  return faults.reduce<readonly string[]>(
    (values, { kind }) => {
      switch (kind) {
        case 'signature-wrong-secret':
          return [sign(body, wrongSecret)]
        case 'signature-bad':
          return values.map((value) => `${value[0] === '0' ? '1' : '0'}${value.slice(1)}`)
        case 'signature-upper-case':
          return values.map((value) => value.toUpperCase())
        case 'signature-prefixed':
          return values.map((value) => `sha256=${value}`)
        case 'signature-repeated':
          return [...values, ...values]
        case 'signature-missing':
          return []
      }
    },
    [sign(body, secret)],
  )
}
