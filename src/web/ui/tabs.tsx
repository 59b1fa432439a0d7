import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { Page } from './shell.tsx'
import { Empty } from './states.tsx'

export interface Tab {
  /** Part of the address below the page; empty for the first tab. */
  readonly path: string
  readonly label: string
  readonly isFilling?: boolean
  readonly content: () => ReactNode
}

export interface TabbedPageProps {
  readonly title: string
  readonly path: string
  /** From the address. */
  readonly tab: string | undefined
  readonly tabs: readonly Tab[]
}

/** Value of the tab with the empty path: a tab's value can't be empty. */
const first = 'first'
const valueOf = (path: string) => (path === '' ? first : path)

/** A page with tabs. Each tab has its own address. Only the open tab is rendered. */
export function TabbedPage({ title, path, tab = '', tabs }: TabbedPageProps) {
  const [, navigate] = useLocation()
  const open = tabs.find((one) => one.path === tab)
  return (
    <Page title={open === undefined || open.path === '' ? title : `${title}: ${open.label}`} isFilling>
      <Tabs
        className="ui-tabbed"
        value={valueOf(tab)}
        onChange={(next) => navigate(next === null || next === first ? path : `${path}/${next}`)}
        keepMounted={false}
      >
        <Tabs.List className="ui-tabs" aria-label={title}>
          {tabs.map((one) => (
            <Tabs.Tab key={one.path} value={valueOf(one.path)}>
              {one.label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {open === undefined ? (
          <Empty title="There is no such tab" />
        ) : (
          <Tabs.Panel value={valueOf(open.path)} className={open.isFilling ? 'ui-tab-filling' : 'ui-tab'}>
            {open.content()}
          </Tabs.Panel>
        )}
      </Tabs>
    </Page>
  )
}
