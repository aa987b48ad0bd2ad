import './integrations.css';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { Empty } from '../../parts/layout/placeholders.tsx';
import { isOperator } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { GbfsPublication } from './gbfs.tsx';
import { ReportLogins } from './reports.tsx';
import { Sources } from './sources.tsx';
import { Webhooks } from './webhooks.tsx';

/** Connections to other systems: webhooks, sources, GBFS feeds and database users for reports. */
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
        { id: 'sources', name: tabs.sources, content: (appId) => <Sources key={appId} appId={appId} /> },
        { id: 'gbfs', name: tabs.gbfs, content: (appId) => <GbfsPublication key={appId} appId={appId} /> },
        { id: 'reports', name: tabs.reports, content: (appId) => <ReportLogins appId={appId} /> },
      ]}
    />
  );
}
