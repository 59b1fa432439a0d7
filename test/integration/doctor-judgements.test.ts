import { expect, test } from 'vitest'
import { judgeFileSystem, judgeSpace, judgeSync, measureSync, roughBytes } from '../../src/cli/doctor/disk.ts'
import {
  examineClock,
  examineVersions,
  judgeClock,
  judgeLimits,
  openFilesLimit,
  skewOf,
} from '../../src/cli/doctor/machine.ts'
import { readdirSync } from 'node:fs'
import { AppServer } from '../support/app-server.ts'
import { createTempDir } from '../support/temp-dir.ts'

const noon = Date.UTC(2027, 0, 1, 12)

test.each([
  [0x6969, 'fail', 'nfs'],
  [0xff534d42, 'fail', 'cifs'],
  // As a system with 32-bit numbers gives it.
  [0xff534d42 - 2 ** 32, 'fail', 'cifs'],
  [0xfe534d42, 'fail', 'smb'],
  [0x01021997, 'fail', '9p'],
  [0x65735546, 'warn', 'FUSE'],
  [0x01021994, 'warn', 'tmpfs'],
  [0x794c7630, 'warn', 'overlay'],
  [0xef53, 'ok', 'ext4'],
  [0x58465342, 'ok', 'xfs'],
  [0x12345678, 'ok', 'unknown'],
])('a database on a file system of the kind %i: %s, %s', (type, result, found) => {
  const finding = judgeFileSystem(type, '/data', 'linux')
  expect(finding).toMatchObject({ result, found: expect.stringContaining(found) })
  expect(finding.advice === null).toBe(result === 'ok')
})

test('on another system than Linux nothing is made of the number of a file system', () => {
  expect(judgeFileSystem(0x6969, '/data', 'darwin')).toMatchObject({ result: 'ok' })
})

test('a clock in an impossible year fails', () => {
  expect(judgeClock(0, null)).toMatchObject({ result: 'fail', found: 'the year is 1970' })
  expect(judgeClock(Date.UTC(2150, 0), null)).toMatchObject({ result: 'fail' })
  expect(judgeClock(noon, null)).toMatchObject({ result: 'ok' })
})

test('a Date header has whole seconds, and the answer takes its time: only what is beyond both is skew', () => {
  const skew = (askedAt: number, answeredAt: number) => skewOf({ askedAt, answeredAt, date: noon })
  expect(skew(noon + 999, noon + 1_500)).toBe(0)
  expect(skew(noon - 4_000, noon)).toBe(0)
  expect(skew(noon + 3_000, noon + 3_001)).toBe(2_000)
  expect(skew(noon - 9_000, noon - 8_000)).toBe(-8_000)
})

test('the clock is compared with the Date header of the service, without the key; a service that does not answer is a warning', async () => {
  const service = await AppServer.start()
  service.answer = () => ({ status: 200, headers: { Date: new Date(noon).toUTCString() } })
  const { url } = service
  const at = (now: number) => examineClock(url, () => now)
  expect(await at(noon + 400)).toMatchObject([
    { check: 'clock', result: 'ok', found: expect.stringContaining('same as') },
  ])
  expect(await at(noon + 91_000)).toMatchObject([
    { check: 'clock', result: 'warn', found: expect.stringContaining('90 s ahead of the service') },
  ])
  expect(await at(noon - 60_000)).toMatchObject([{ result: 'warn', found: expect.stringContaining('60 s behind') }])
  expect(service.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual(
    Array(3).fill(['HEAD', undefined]),
  )
  await service[Symbol.asyncDispose]()
  expect(await at(noon)).toMatchObject([
    { check: 'clock', result: 'ok' },
    { check: 'service', result: 'warn', found: expect.stringContaining('ECONNREFUSED') },
  ])
})

const mb = 1024 ** 2
const space = { usedBytes: 10 * mb, reserveBytes: 256 * mb, retention: { days: 30, maxBytes: undefined } }

test('the space that is left is compared with the reserve, and with what the database may grow to', () => {
  const judge = (
    freeMb: number,
    retention: typeof space.retention | { days: number; maxBytes: number } = space.retention,
  ) => judgeSpace({ ...space, freeBytes: freeMb * mb, retention })
  expect(judge(255)).toMatchObject({ result: 'fail', advice: expect.stringContaining('503') })
  expect(judge(300)).toMatchObject({ result: 'warn' })
  expect(judge(5_000)).toMatchObject({ result: 'ok', found: expect.stringContaining('the database takes 10mb') })
  expect(judge(5_000, { days: 30, maxBytes: 20_480 * mb })).toMatchObject({
    result: 'warn',
    found: expect.stringContaining('may grow to 20gb, but there is room for only 4.6gb'),
  })
  expect(judge(50_000, { days: 30, maxBytes: 20_480 * mb })).toMatchObject({ result: 'ok' })
  expect(judge(5_000, { days: 0, maxBytes: undefined as never }).found).toContain('never deleted')
  expect([0, 1_023, 1_536, 200 * mb, 3 * 1024 * mb].map(roughBytes)).toEqual([
    '0 bytes',
    '1023 bytes',
    '1.5kb',
    '200mb',
    '3.0gb',
  ])
})

test('R115 a disk that takes as long as a delivery may fails; a slow one, and one that is too quick, are told', () => {
  const judge = (medianMs: number, worstMs: number) => judgeSync({ medianMs, worstMs, writes: 20 }, 4_000)
  expect(judge(0.8, 3)).toMatchObject({
    result: 'ok',
    found: expect.stringContaining('within about 1.6 ms, sometimes 6 ms'),
  })
  expect(judge(80, 300)).toMatchObject({ result: 'warn' })
  expect(judge(5, 1_200)).toMatchObject({ result: 'warn' })
  expect(judge(5, 4_000)).toMatchObject({ result: 'fail', found: expect.stringContaining('503') })
  expect(judge(0.001, 0.002)).toMatchObject({ result: 'warn', found: expect.stringContaining('too fast for a disk') })
})

test('the speed of a disk is measured by 20 durable writes, and the file is removed', async () => {
  await using dir = await createTempDir()
  const { writes, medianMs, worstMs } = measureSync(dir.path)
  expect(writes).toBe(20)
  expect(0 < medianMs && medianMs <= worstMs).toBe(true)
  expect(readdirSync(dir.path)).toEqual([])
})

test('as many files as connections must be open at once, and Node must be new enough', () => {
  expect(judgeLimits(1_024, 1_000)).toMatchObject({ result: 'warn', advice: expect.stringContaining('ulimit -n') })
  expect(judgeLimits(20_000, 1_000)).toMatchObject({ result: 'ok' })
  expect(judgeLimits(null, 1_000)).toMatchObject({ result: 'ok', found: expect.stringContaining('unknown') })
  expect(openFilesLimit()).toBeGreaterThan(100)
  expect(examineVersions('22.11.0')).toMatchObject({ result: 'fail' })
  expect(examineVersions()).toMatchObject({
    result: 'ok',
    found: expect.stringMatching(/^onchain-inbox [\d.]+, Node [\d.]+, SQLite 3[\d.]+ \(better-sqlite3 [\d.]+\)$/),
  })
})
