import type { EventOf, EventType } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'

export interface Outcome {
  readonly verdict: 'passed' | 'failed' | 'not checked'
  /** What came; of a failure, in a line each, also what was sent, what was expected and what to do. Never a secret or a signature. */
  readonly detail: string
}

/** What is said of one rule in one scenario. */
export interface Verdict extends Outcome {
  /** R or A number of the requirements, or P number of the properties. */
  readonly rule: string
  readonly scenario: string
  readonly title: string
  readonly ms: number
}

/** What a check cannot do without: the option of this name. */
export type Need = 'effects' | 'restart' | 'nextSecret'

export interface Check {
  readonly rule: string
  /** What must hold, as a sentence. */
  readonly title: string
  readonly needs?: readonly Need[]
}

/** One file each: something that a sender does, and what must hold of the receiver meanwhile and afterwards. */
export interface Scenario<K extends string = string> {
  readonly name: string
  /** Every verdict that it gives, in this order. */
  readonly checks: Readonly<Record<K, Check>>
  /** Tells the outcome of each check as soon as it is known. It may end early if the receiver is gone: the rest is then not checked. */
  run(context: ScenarioContext, tell: (check: K, outcome: Outcome) => void): Promise<void>
}

/** An event of this run, with an id that no other event has. */
export interface TestEvent {
  readonly id: string
  /** What is signed and sent. */
  readonly body: Buffer
}

/** What is to be other than usual in a new event, which is a `wallet.large_trade` of a wallet of its own. */
export interface EventParts {
  /** How long before the other events of the run it arose. */
  readonly ageMs?: number
  /** Two events with one wallet have one key. */
  readonly wallet?: string
  readonly data?: Readonly<Partial<EventOf<'wallet.large_trade'>['data']>>
}

/** Writes a part of a body; resolves when it has left this process. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>

export interface OutgoingRequest {
  readonly method?: 'POST' | 'GET'
  readonly body?: Buffer
  /** Value of the signature header; a list repeats the header; without it there is none. */
  readonly signature?: string | readonly string[]
  /** Over a connection that was used before, if one is free. */
  readonly isPooled?: boolean
  /** Writes the body in its own time; otherwise it is written at once. */
  readonly pace?: (write: WriteBytes) => Promise<void>
  /** When an answer is given up; default: the time limit of the run. */
  readonly limitMs?: number
}

export interface Answer {
  /** Null: none came, and `failure` says why. */
  readonly status: number | null
  readonly failure: string | null
  /** Whether the connection was there, and stayed, and no answer came within the limit. */
  readonly isLate: boolean
  /** From the first byte sent to the status line. */
  readonly ms: number
}

export interface ExpectedEffects {
  /** What was sent, for people. */
  readonly sent: string
  /** Ids of events that must be done exactly once. */
  readonly once?: readonly string[]
  /** Ids of events that must be done, how often is open. */
  readonly done?: readonly string[]
  readonly never?: readonly string[]
  /** Must be done in this order. */
  readonly inOrder?: readonly string[]
  /** What to do if it is not so. */
  readonly todo: string
}

export interface DeliverOptions extends Omit<OutgoingRequest, 'body' | 'signature'> {
  readonly secret?: string
}

export interface ScenarioContext {
  readonly clock: Clock
  readonly secret: string
  readonly nextSecret: string | undefined
  /** How long an answer may take. */
  readonly timeoutMs: number
  /** How many events scenarios send that send many. */
  readonly many: number
  readonly newEvent: (parts?: EventParts) => TestEvent
  /** The sample of a documented type. */
  readonly sample: (type: EventType) => TestEvent
  /** An id that no other event has. */
  readonly newId: () => string
  readonly send: (request: OutgoingRequest) => Promise<Answer>
  /** Sends an event as the service does: signed, with `secret` by default, over its bytes. */
  readonly deliver: (event: TestEvent, options?: DeliverOptions) => Promise<Answer>
  /** Waits until the receiver is quiet and compares what it did. Not checked where nobody tells what it did. */
  readonly effects: (expected: ExpectedEffects) => Promise<Outcome>
  /** Whether the receiver still answers, be it late; asks for a while. */
  readonly isThere: () => Promise<boolean>
  /** Runs the command that restarts the receiver and waits until it answers again. Gives what went wrong, or null. */
  readonly restart: () => Promise<string | null>
  readonly wait: (ms: number) => Promise<void>
}

/** Only adds types: each key that `checks` has can be told. */
export function defineScenario<const K extends string>(scenario: Scenario<K>): Scenario {
  return scenario as unknown as Scenario
}

export const passed = (detail: string): Outcome => ({ verdict: 'passed', detail })
export const notChecked = (why: string): Outcome => ({ verdict: 'not checked', detail: why })

export interface Failure {
  readonly sent: string
  readonly expected: string
  readonly came: string
  readonly todo: string
}

export function failed({ sent, expected, came, todo }: Failure): Outcome {
  return { verdict: 'failed', detail: `sent: ${sent}\nexpected: ${expected}\ncame: ${came}\nto do: ${todo}` }
}
