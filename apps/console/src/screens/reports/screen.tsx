import './reports.css';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { isOperator } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { ReportView } from './report-view.tsx';
import { Schedules } from './schedules.tsx';

/** Reports as tables, charts and files; for operators, also the schedules that send them. */
export function ReportsScreen() {
  const { title, parts, tabs } = texts.value.reportScreen;
  const view = { id: 'view', name: tabs.view, content: (appId: string) => <ReportView key={appId} appId={appId} /> };
  const schedules = {
    ...{ id: 'schedules', name: tabs.schedules },
    content: (appId: string) => <Schedules key={appId} appId={appId} />,
  };
  return (
    <ApplicationPage name="reports" title={title} label={parts} tabs={isOperator() ? [view, schedules] : [view]} />
  );
}
