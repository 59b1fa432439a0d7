import { describe, expect } from 'vitest'
import type { NewSubscription } from '../../src/inbox/port.ts'
import { type ConformanceHarness, stageTest } from './stage.ts'

const at = Date.UTC(2026, 0, 1)

const wanted = (digest: string): NewSubscription => ({
  digest,
  url: `https://example.com/${digest}?token=ü`,
  events: ['token.new_listing', 'wallet.large_trade'],
  secretLabel: 'main',
  at,
})

/** Registrations with the upstream. */
export function describeSubscription(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('a registration', () => {
    test('is absent at first, then begun, then registered with the response of the upstream', async ({ stage }) => {
      const { inbox } = stage
      expect(await inbox.subscription()).toBeNull()
      const begun = { ...wanted('a'), id: 1, state: 'begun', answer: null }
      expect(await inbox.beginSubscription(wanted('a'), null)).toEqual(begun)
      expect(await inbox.subscription()).toEqual(begun)
      await inbox.endSubscription(1, { state: 'registered', answer: '{"data":1}' })
      expect(await inbox.subscription()).toEqual({ ...begun, state: 'registered', answer: '{"data":1}' })
    })

    test('begins only if it replaces the newest one that has not failed', async ({ stage }) => {
      const { inbox } = stage
      expect(await inbox.beginSubscription(wanted('a'), 1)).toBeNull()
      expect(await inbox.subscription()).toBeNull()
      expect(await inbox.beginSubscription(wanted('a'), null)).toMatchObject({ id: 1 })
      for (const replaces of [null, 2]) expect(await inbox.beginSubscription(wanted('b'), replaces)).toBeNull()
      expect(await inbox.subscription()).toMatchObject({ id: 1, digest: 'a' })
      expect(await inbox.beginSubscription(wanted('b'), 1)).toMatchObject({ id: 2, digest: 'b', state: 'begun' })
      expect(await inbox.beginSubscription(wanted('c'), 1)).toBeNull()
    })

    test('is begun by one of ten concurrent calls', async ({ stage }) => {
      const { inbox } = stage
      for (const replaces of [null, 1]) {
        const tried = await Promise.all(
          Array.from({ length: 10 }, (_, n) => inbox.beginSubscription(wanted(`${n}`), replaces)),
        )
        const begun = tried.filter((one) => one !== null)
        expect(begun).toHaveLength(1)
        expect(await inbox.subscription()).toEqual(begun[0])
      }
    })

    test('leaves the previous one in place if it fails', async ({ stage }) => {
      const { inbox } = stage
      await inbox.beginSubscription(wanted('a'), null)
      await inbox.endSubscription(1, { state: 'failed', answer: 'no' })
      expect(await inbox.subscription()).toBeNull()
      const second = await inbox.beginSubscription(wanted('a'), null)
      expect(second).toMatchObject({ id: 2 })
      await inbox.endSubscription(2, { state: 'registered', answer: null })
      await inbox.beginSubscription(wanted('b'), 2)
      await inbox.endSubscription(3, { state: 'failed', answer: null })
      expect(await inbox.subscription()).toMatchObject({ id: 2, digest: 'a', state: 'registered' })
    })

    test('ends once, and only if it was begun; each step is in the audit with its caller', async ({ stage }) => {
      const { inbox } = stage
      const by = 'operator (token) 127.0.0.1'
      await inbox.beginSubscription(wanted('a'), 7, by)
      await inbox.beginSubscription(wanted('a'), null)
      await inbox.endSubscription(1, { state: 'registered', answer: 'first' }, by)
      await inbox.endSubscription(1, { state: 'failed', answer: 'second' }, by)
      await inbox.endSubscription(7, { state: 'registered', answer: 'never begun' }, by)
      const registered = { id: 1, state: 'registered', answer: 'first' }
      expect(await inbox.subscription()).toMatchObject(registered)
      await stage.reopen()
      expect(await stage.inbox.subscription()).toMatchObject(registered)
      await stage.inbox.beginSubscription(wanted('b'), 1, by)
      await stage.crash()
      expect(await stage.inbox.subscription()).toMatchObject({ id: 2, state: 'begun', answer: null })
      const { data } = await stage.inbox.audit({ limit: 9 })
      expect(data.map(({ action, detail, by: caller }) => [action, detail, caller])).toEqual([
        ['subscription.begin', { subscription: 2, replaces: 1 }, by],
        ['subscription.register', { subscription: 1, state: 'registered' }, by],
        ['subscription.begin', { subscription: 1, replaces: null }, null],
      ])
    })
  })
}
