import type { ReactNode } from 'react'

export interface PageProps {
  readonly title: ReactNode
  readonly about?: ReactNode
  /** Beside the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page below the navigation. Its heading takes the focus when the page is come to. */
export function Page({ title, about, actions, children }: PageProps) {
  return (
    <>
      <div className="ui-page-head">
        <div>
          <h1 id="page-title" tabIndex={-1}>
            {title}
          </h1>
          {about !== undefined && <p className="ui-dimmed">{about}</p>}
        </div>
        {actions !== undefined && <div className="ui-row">{actions}</div>}
      </div>
      {children}
    </>
  )
}

export interface PanelProps {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A part of a page with a heading of its own. */
export function Panel({ title, about, actions, children }: PanelProps) {
  return (
    <section className="ui-panel">
      <div className="ui-panel-head">
        <h2>{title}</h2>
        {actions !== undefined && <div className="ui-row">{actions}</div>}
      </div>
      {about !== undefined && <p className="ui-dimmed ui-panel-about">{about}</p>}
      {children}
    </section>
  )
}

/** Names and values, each pair on a line or beside each other as there is room. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="ui-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
