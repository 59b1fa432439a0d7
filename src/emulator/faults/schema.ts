import { z } from 'zod'
import { inFault, outFault } from './kinds.ts'
import { numberFrom, wholeNumberFrom } from '../control/values.ts'

// What a rule of faults says: what goes wrong, for whom, and how often.

const scriptProblem = 'expected 1 to 1000 steps, x for one that is struck and . for one that is not, such as x.x..'

const howOften = {
  /** The share that is struck, drawn. Default: all. */
  rate: z.exactOptional(numberFrom(0, 1)),
  /** Those that match, in order; after its end nothing is struck. */
  script: z.exactOptional(z.string(scriptProblem).regex(/^[x.]{1,1000}$/, scriptProblem)),
  /** After its end a script begins again. */
  scriptRepeats: z.exactOptional(z.boolean()),
  /** At most so often. */
  times: z.exactOptional(wholeNumberFrom(1, 1_000_000)),
}

const typeProblem = 'expected an event type, the beginning of one such as wallet.*, or *'

const outRule = z
  .strictObject({
    /** Befalls deliveries. */
    direction: z.literal('out'),
    fault: outFault,
    /** The id or the URL of one. Default: all. */
    endpoint: z.exactOptional(z.string().min(1).max(2_048)),
    types: z.exactOptional(
      z
        .array(z.string(typeProblem).regex(/^(?:\*|[\w.]{1,100}?(?:\.\*)?)$/, typeProblem))
        .min(1)
        .max(50),
    ),
    ...howOften,
  })
  .superRefine(refuseContradiction)

const pathProblem = 'expected a path below /v1, or its beginning with * at its end, such as /v1/tokens*'

const inRule = z
  .strictObject({
    /** Befalls answers of the REST service. */
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
  .superRefine(refuseContradiction)

/** A rule as somebody gives it. Members that are not here are refused: a misspelt one would do something else than meant. */
export const faultRuleSchema = z.discriminatedUnion('direction', [outRule, inRule], {
  error: 'expected out, for deliveries, or in, for answers of the REST service',
})

export type FaultRule = z.output<typeof faultRuleSchema>
/** What is yet without the defaults. */
export type FaultRuleInput = z.input<typeof faultRuleSchema>
export type OutRule = z.output<typeof outRule>
export type InRule = z.output<typeof inRule>

function refuseContradiction(
  rule: { readonly rate?: number; readonly script?: string; readonly scriptRepeats?: boolean },
  context: z.core.$RefinementCtx,
): void {
  if (rule.rate !== undefined && rule.script !== undefined) {
    context.addIssue({ code: 'custom', message: 'expected either a rate or a script', path: ['script'] })
  }
  if (rule.scriptRepeats !== undefined && rule.script === undefined) {
    context.addIssue({ code: 'custom', message: 'expected it beside a script only', path: ['scriptRepeats'] })
  }
}
