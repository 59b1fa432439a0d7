import { describe, expect, test } from 'vitest'
import type { NewSubscription } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage } from './stage.ts'

const at = Date.UTC(2026, 0, 1)

const wanted = (digest: string): NewSubscription => ({
  digest,
  url: `https://example.com/${digest}?token=ü`,
  events: ['token.new_listing', 'wallet.large_trade'],
  secretLabel: 'main',
  at,
})

/** What the port promises of registrations with the service. */
export function describeSubscription(harness: ConformanceHarness): void {
  describe('a registration with the service', () => {
    test('is absent at first, then begun, then registered with the response of the upstream', async () => {
      await using stage = await Stage.open(harness)
      const { inbox } = stage
      expect(await inbox.subscription()).toBeNull()
      const begun = { ...wanted('a'), id: 1, state: 'begun', answer: null }
      expect(await inbox.beginSubscription(wanted('a'), null)).toEqual(begun)
      expect(await inbox.subscription()).toEqual(begun)
      await inbox.endSubscription(1, { state: 'registered', answer: '{"data":1}' })
      expect(await inbox.subscription()).toEqual({ ...begun, state: 'registered', answer: '{"data":1}' })
    })

    test('is begun only in the place of the one that it was to replace', async () => {
      await using stage = await Stage.open(harness)
      const { inbox } = stage
      expect(await inbox.beginSubscription(wanted('a'), 1)).toBeNull()
      expect(await inbox.subscription()).toBeNull()
      expect(await inbox.beginSubscription(wanted('a'), null)).toMatchObject({ id: 1 })
      for (const replaces of [null, 2]) expect(await inbox.beginSubscription(wanted('b'), replaces)).toBeNull()
      expect(await inbox.subscription()).toMatchObject({ id: 1, digest: 'a' })
      expect(await inbox.beginSubscription(wanted('b'), 1)).toMatchObject({ id: 2, digest: 'b', state: 'begun' })
      expect(await inbox.beginSubscription(wanted('c'), 1)).toBeNull()
    })

    test('is begun by one of ten that try at the same time', async () => {
      await using stage = await Stage.open(harness)
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

    test('that failed leaves the one before it in its place', async () => {
      await using stage = await Stage.open(harness)
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

    test('ends once, and only if it was begun; each end stands in the audit', async () => {
      await using stage = await Stage.open(harness)
      const { inbox } = stage
      await inbox.beginSubscription(wanted('a'), null)
      await inbox.endSubscription(1, { state: 'registered', answer: 'first' })
      await inbox.endSubscription(1, { state: 'failed', answer: 'second' })
      await inbox.endSubscription(7, { state: 'registered', answer: 'never begun' })
      expect(await inbox.subscription()).toMatchObject({ id: 1, state: 'registered', answer: 'first' })
      expect((await inbox.audit({ limit: 9 })).data).toMatchObject([
        { action: 'subscription.register', detail: { subscription: 1, state: 'registered' } },
        { action: 'subscription.begin' },
      ])
    })

    test('stands in the audit when it is begun, with what it replaces and who did it; one that was not begun does not', async () => {
      await using stage = await Stage.open(harness)
      const { inbox } = stage
      const by = 'operator (token) 127.0.0.1'
      await inbox.beginSubscription(wanted('a'), 7, by)
      await inbox.beginSubscription(wanted('a'), null)
      await inbox.beginSubscription(wanted('b'), 1, by)
      await inbox.beginSubscription(wanted('c'), 1, by)
      const { data } = await inbox.audit({ limit: 9 })
      expect(data.map(({ action, detail, by: who }) => [action, detail, who])).toEqual([
        ['subscription.begin', { subscription: 2, replaces: 1 }, by],
        ['subscription.begin', { subscription: 1, replaces: null }, null],
      ])
    })

    if (harness.reopen) {
      test('is there after a restart', async () => {
        await using stage = await Stage.open(harness)
        await stage.inbox.beginSubscription(wanted('a'), null)
        await stage.inbox.endSubscription(1, { state: 'registered', answer: '{}' })
        const before = await stage.inbox.subscription()
        await stage.reopen()
        expect(await stage.inbox.subscription()).toEqual(before)
        expect(await stage.inbox.beginSubscription(wanted('b'), null)).toBeNull()
      })
    }

    if (harness.crash) {
      test('that was begun is begun still after a crash', async () => {
        await using stage = await Stage.open(harness)
        await stage.inbox.beginSubscription(wanted('a'), null)
        await stage.crash()
        expect(await stage.inbox.subscription()).toMatchObject({ id: 1, state: 'begun', answer: null })
      })
    }
  })
}
