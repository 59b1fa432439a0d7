import { createMemoryInbox } from '../../src/inbox/memory.ts'
import { describeInboxConformance } from './suite.ts'

describeInboxConformance('memory inbox', { open: async ({ clock }) => createMemoryInbox({ clock }) })
