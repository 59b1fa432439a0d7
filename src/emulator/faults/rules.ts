import { z } from 'zod'
import { numberFrom, wholeNumberFrom } from '../values.ts'
import { inFault, outFault } from './kinds.ts'

const isOneOrNone = (rule: { readonly rate?: number; readonly script?: string }) =>
  rule.rate === undefined || rule.script === undefined

const scriptProblem = 'expected 1 to 1000 steps such as x.x.., where x injects the fault and . does not'

const howOften = {
  /** Share of matches that get the fault. Default: all. */
  rate: z.exactOptional(numberFrom(0, 1)),
  /** One step per match; no faults after its end. */
  script: z.exactOptional(z.string(scriptProblem).regex(/^[x.]{1,1000}$/, scriptProblem)),
  /** Restarts the script at its end. */
  scriptRepeats: z.exactOptional(z.boolean()),
  /** Maximum number of faults. */
  times: z.exactOptional(wholeNumberFrom(1, 1_000_000)),
}

const typeProblem = 'expected an event type, a prefix such as wallet.*, or *'

const outRule = z
  .strictObject({
    /** Applies to deliveries. */
    direction: z.literal('out'),
    fault: outFault,
    /** Endpoint id or URL. Default: all. */
    endpoint: z.exactOptional(z.string().min(1).max(2_048)),
    types: z.exactOptional(
      z
        .array(z.string(typeProblem).regex(/^(?:\*|[\w.]{1,100}?(?:\.\*)?)$/, typeProblem))
        .min(1)
        .max(50),
    ),
    ...howOften,
  })
  .refine(isOneOrNone, { error: 'expected either a rate or a script', path: ['script'] })

const pathProblem = 'expected a path below /v1, or a prefix such as /v1/tokens*'

const inRule = z
  .strictObject({
    /** Applies to REST responses. */
    direction: z.literal('in'),
    fault: inFault,
    path: z.exactOptional(z.string(pathProblem).regex(/^\/v1[^*?]{0,500}\*?$/, pathProblem)),
    methods: z.exactOptional(
      z
        .array(z.enum(['GET', 'POST', 'PATCH', 'DELETE']))
        .min(1)
        .max(4),
    ),
    ...howOften,
  })
  .refine(isOneOrNone, { error: 'expected either a rate or a script', path: ['script'] })

/** A rule as submitted. Unknown members are rejected: a misspelt one would change the meaning silently. */
export const faultRuleSchema = z.discriminatedUnion('direction', [outRule, inRule], {
  error: 'expected out (deliveries) or in (REST responses)',
})

export type FaultRule = z.output<typeof faultRuleSchema>
/** A rule before defaults are applied. */
export type FaultRuleInput = z.input<typeof faultRuleSchema>
