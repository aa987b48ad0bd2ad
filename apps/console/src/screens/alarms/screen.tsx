import './alarms.css';
import type { ComponentChildren } from 'preact';
import { ApplicationChoice, chosenApplication } from '../../parts/layout/application-choice.tsx';
import { Empty, Tabs } from '../../parts/layout/placeholders.tsx';
import { address } from '../../router.ts';
import { isOperator, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { AlarmList } from './alarm-list.tsx';
import { Geofences } from './geofences.tsx';
import { Rules } from './rules.tsx';

const tabs = ['list', 'rules', 'geofences'] as const;
type Tab = (typeof tabs)[number];

/** The alarms of the fleet, the rules that raise them, and the geofences that rules refer to. */
export function AlarmsScreen() {
  const { alarms: text, application: applicationText } = texts.value;
  const { path, query } = address.value;
  const tab = tabs.find((one) => path === `/alarms/${one}`) ?? 'list';
  // A new rule belongs to one application.
  const hasAll = tab === 'list';
  const appId = chosenApplication(hasAll)?.appId ?? '';
  const app = query.get('app');
  const hrefOf = (one: Tab) => `/alarms${one === 'list' ? '' : `/${one}`}${app ? `?app=${app}` : ''}`;
  const content: Readonly<Record<Tab, () => ComponentChildren>> = {
    list: () => <AlarmList appId={appId} />,
    rules: () => <Rules key={appId} appId={appId} />,
    geofences: () => <Geofences key={appId} appId={appId} />,
  };
  const isEmpty = isOperator() && operatorApplications().applications.length === 0;
  return (
    <div class="page alarms">
      <header class="alarms-bar">
        <h1>{text.title}</h1>
        <ApplicationChoice hasAll={hasAll} />
        <Tabs
          label={text.parts}
          tabs={tabs.map((one) => ({ href: hrefOf(one), name: text.tabs[one], isCurrent: one === tab }))}
        />
      </header>
      {isEmpty ? <Empty title={applicationText.none} /> : content[tab]()}
    </div>
  );
}
