import { Button, Group } from '@mantine/core'
import type { List } from './bulk-list.ts'

/** Asks for the next page of a list, where there is one. */
export function LoadMore({ list }: { readonly list: List<unknown> }) {
  if (!list.hasMore) return null
  return (
    <Group justify="center">
      <Button variant="default" loading={list.isBusy} onClick={list.loadMore}>
        Load more
      </Button>
    </Group>
  )
}
