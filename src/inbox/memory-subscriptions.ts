import type { AuditRecord, NewSubscription, Subscription, SubscriptionEnd } from './port.ts'

/** Registrations with the service, kept in memory. `note` writes an entry of the audit. */
export function createMemorySubscriptions(
  note: (action: AuditRecord['action'], detail: AuditRecord['detail'], by?: string) => void,
) {
  const all: Subscription[] = []
  const newest = () => all.findLast(({ state }) => state !== 'failed') ?? null
  return {
    newest,
    begin(next: NewSubscription, replaces: number | null, by?: string): Subscription | null {
      if ((newest()?.id ?? null) !== replaces) return null
      const { digest, url, events, secretLabel, at } = next
      const begun = { digest, url, events: [...events], secretLabel, at }
      all.push({ ...begun, id: all.length + 1, state: 'begun', answer: null })
      note('subscription.begin', { subscription: all.length, replaces }, by)
      return newest()
    },
    end(id: number, { state, answer }: SubscriptionEnd, by?: string): void {
      const index = all.findIndex((one) => one.id === id && one.state === 'begun')
      const begun = all[index]
      if (begun === undefined) return
      all[index] = { ...begun, state, answer }
      note('subscription.register', { subscription: id, state }, by)
    },
  }
}
