import './integrations.css';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { CopyRows } from '../../parts/layout/copy.tsx';
import { Empty } from '../../parts/layout/placeholders.tsx';
import { isOperator } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { GbfsPublication } from './gbfs.tsx';
import { Notifications } from './notifications.tsx';
import { Sources } from './sources.tsx';
import { Webhooks } from './webhooks.tsx';

const compose = 'docker compose run --rm tools';
const direct = 'npx odograph';
const connection = 'postgres://LOGIN:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full';

/** Shows the commands that manage database users for reports, because no service has the right to. */
function ReportLogins({ appId }: { appId: string }) {
  const { reports: text } = texts.value;
  const rowsOf = (program: string) =>
    [
      [text.commands.create, `${program} reports create --app ${appId}`],
      [text.commands.list, `${program} reports list`],
      [text.commands.rotate, `${program} reports rotate --login LOGIN`],
      [text.commands.remove, `${program} reports delete --login LOGIN`],
    ] as const;
  return (
    <section class="card form" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.text}</p>
      <h3>{text.compose}</h3>
      <CopyRows rows={rowsOf(compose)} />
      <h3>{text.direct}</h3>
      <CopyRows rows={rowsOf(direct)} />
      <h3>{text.connection}</h3>
      <p class="muted">{text.connectionText}</p>
      <CopyRows rows={[[text.connection, connection]]} />
    </section>
  );
}

/** Connections to other systems and to people: webhooks, notifications, sources, GBFS feeds and database users for reports. */
export function IntegrationsScreen() {
  const { title, parts, tabs, appKeys } = texts.value.integrations;
  if (!isOperator()) return <Empty title={texts.value.accounts.notAllowed} />;
  const accounts = (appId: string) => (
    <p class="muted">
      {appKeys} <a href={`/accounts/applications/${encodeURIComponent(appId)}`}>{texts.value.navigation.accounts}</a>
    </p>
  );
  return (
    <ApplicationPage
      name="integrations"
      title={title}
      label={parts}
      tabs={[
        {
          id: 'webhooks',
          name: tabs.webhooks,
          content: (appId) => (
            <>
              <Webhooks key={appId} appId={appId} />
              {accounts(appId)}
            </>
          ),
        },
        {
          id: 'notifications',
          name: tabs.notifications,
          content: (appId) => <Notifications key={appId} appId={appId} />,
        },
        { id: 'sources', name: tabs.sources, content: (appId) => <Sources key={appId} appId={appId} /> },
        { id: 'gbfs', name: tabs.gbfs, content: (appId) => <GbfsPublication key={appId} appId={appId} /> },
        { id: 'reports', name: tabs.reports, content: (appId) => <ReportLogins appId={appId} /> },
      ]}
    />
  );
}
