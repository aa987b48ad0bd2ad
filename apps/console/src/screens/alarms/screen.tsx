import './alarms.css';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { texts } from '../../texts/texts.ts';
import { AlarmList } from './alarm-list.tsx';
import { Geofences } from './geofences.tsx';
import { Rules } from './rules.tsx';

/** The alarms of the fleet, the rules that raise them, and the geofences that rules refer to. */
export function AlarmsScreen() {
  const { title, parts, tabs } = texts.value.alarms;
  return (
    <ApplicationPage
      name="alarms"
      title={title}
      label={parts}
      tabs={[
        { id: 'list', name: tabs.list, hasAll: true, content: (appId) => <AlarmList appId={appId} /> },
        { id: 'rules', name: tabs.rules, content: (appId) => <Rules key={appId} appId={appId} /> },
        { id: 'geofences', name: tabs.geofences, content: (appId) => <Geofences key={appId} appId={appId} /> },
      ]}
    />
  );
}
