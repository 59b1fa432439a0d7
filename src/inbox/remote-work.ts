import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type {
  ClaimRequest,
  HandlerRoute,
  Lease,
  ReapResult,
  SettleResult,
  StateEntry,
  StateQuery,
  WorkPort,
} from './port.ts'
import { answerCalls, Caller, plain } from './rpc.ts'
import {
  packLeases,
  packOutcomes,
  packResults,
  unpackLeases,
  unpackOutcomes,
  unpackResults,
  type WireBatch,
} from './wire.ts'

/** The work side of an inbox across threads: `answerWork` where the inbox is, `connectWork` where the dispatcher is. */
type RunTokens = readonly Pick<Lease, 'runId' | 'token'>[]

export function workOperations(work: WorkPort) {
  return {
    register: async (routes: readonly HandlerRoute[]) => plain(await work.register(routes)),
    claim: async (request: ClaimRequest) => packLeases(await work.claim(request)),
    readState: async ([handler, query]: [string, StateQuery]) => plain(await work.readState(handler, query)),
    settle: async (fields: WireBatch) => packResults(await work.settle(unpackOutcomes(fields))),
    retire: async ([owner, running]: [string, (readonly number[])?]) => plain(await work.retire(owner, running)),
    release: async (leases: RunTokens) => plain(await work.release(leases)),
    reap: async (owner: string) => plain(await work.reap(owner)),
  }
}

/** Gives a port for `connectWork` to an inbox that lives in this thread. */
export function openWorkPort(work: WorkPort): MessagePort {
  const { port1, port2 } = new MessageChannel()
  answerCalls(port2, workOperations(work))
  port2.unref()
  return port1
}

export function callWork(caller: Caller): WorkPort {
  return {
    register: (routes) => caller.call<Readonly<Record<string, number>>>('register', plain(routes)),
    claim: async (request) => unpackLeases(await caller.call<WireBatch>('claim', plain(request))),
    readState: (handler, query) => caller.call<readonly StateEntry[]>('readState', plain([handler, query])),
    settle: async (outcomes) => unpackResults<SettleResult>(await caller.call('settle', packOutcomes(outcomes))),
    retire: (owner, running) => caller.call<void>('retire', plain([owner, running])),
    release: (leases) => caller.call<void>('release', plain(leases.map(({ runId, token }) => ({ runId, token })))),
    reap: (owner) => caller.call<ReapResult>('reap', plain(owner)),
  }
}

/** The work side of an inbox in another thread, over a port that was opened for it. */
export function connectWork(port: MessagePort): WorkPort {
  const caller = new Caller(port)
  port.on('message', (message) => caller.receive(message))
  return callWork(caller)
}
