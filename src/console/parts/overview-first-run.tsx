import { Anchor } from '@mantine/core'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'

/** A command for a terminal, with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  return (
    <div className="console-command">
      <code className="ui-mono">{line}</code>
      <CopyButton value={line} what="the command" />
    </div>
  )
}

/** What to do where no event has ever come. */
export function FirstRun({ rejects }: { readonly rejects: number }) {
  return (
    <Panel
      title="No event has come yet"
      about="Two ways to see the first one; it appears here as soon as it is stored."
    >
      <ol className="console-steps">
        <li>
          Send a test, signed with a secret of yours. The address is that of <code>INBOX_HOST</code>,{' '}
          <code>INBOX_PORT</code> and <code>INBOX_PATH</code>:
          <Command line="onchain-inbox trigger wallet.large_trade --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET" />
        </li>
        <li>
          Register the receiver with the service, with the address that the service can reach:
          <Command line={'onchain-inbox subscribe --url https://inbox.example.com/webhooks --events "*"'} />
        </li>
        <li>
          Something was sent and did not come?{' '}
          {rejects > 0 ? (
            <>
              {formatCount(rejects)} {rejects === 1 ? 'request was' : 'requests were'} refused:{' '}
              <Anchor href="#/rejects" className="console-link">
                see why
              </Anchor>
              .
            </>
          ) : (
            <>
              Nothing was refused either, so no request has reached the receiver.{' '}
              <Anchor href="#/settings" className="console-link">
                Settings
              </Anchor>{' '}
              say where it listens, and this looks for what is in the way:
            </>
          )}
          <Command line="onchain-inbox doctor" />
        </li>
      </ol>
    </Panel>
  )
}
