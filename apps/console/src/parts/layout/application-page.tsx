import type { ComponentChildren } from 'preact';
import { address } from '../../router.ts';
import { isOperator, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { ApplicationChoice, chosenApplication } from './application-choice.tsx';
import { Empty, Heading, Tabs } from './placeholders.tsx';

interface Tab {
  /** Last segment of the path; the first tab stands at the path of the page. */
  readonly id: string;
  readonly name: string;
  /** Shows all applications when none is chosen. */
  readonly hasAll?: boolean;
  readonly content: (appId: string) => ComponentChildren;
}

interface ApplicationPageOptions {
  readonly name: 'alarms' | 'bookings' | 'exports' | 'integrations' | 'reports';
  readonly title: string;
  /** Labels the tabs. */
  readonly label: string;
  readonly tabs: readonly [Tab, ...Tab[]];
}

/** A page about one application, which is selected next to the title; with tabs if there are several. */
export function ApplicationPage({ name, title, label, tabs }: ApplicationPageOptions) {
  const { path, query } = address.value;
  const [first] = tabs;
  const hrefOf = ({ id }: Tab) => (id === first.id ? `/${name}` : `/${name}/${id}`);
  const tab = tabs.find(({ id }) => path === `/${name}/${id}`) ?? first;
  const { hasAll = false } = tab;
  const app = query.get('app');
  const search = app ? `?app=${app}` : '';
  const isEmpty = isOperator() && operatorApplications().applications.length === 0;
  return (
    <div class={`page ${name}`}>
      <header class="page-bar">
        <Heading text={title} />
        <ApplicationChoice hasAll={hasAll} />
        {tabs.length > 1 && (
          <Tabs
            label={label}
            tabs={tabs.map((one) => ({ href: `${hrefOf(one)}${search}`, name: one.name, isCurrent: one === tab }))}
          />
        )}
      </header>
      {isEmpty ? <Empty title={texts.value.application.none} /> : tab.content(chosenApplication(hasAll)?.appId ?? '')}
    </div>
  );
}
