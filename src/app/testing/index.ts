export { createTestClock, type TestClock } from '../../base/clock.ts'
export * from './create-event.ts'
export * from './source-request.ts'
export * from './test-inbox.ts'
