import './accounts.css';
import type { ComponentChildren } from 'preact';
import { Empty, Heading, Tabs } from '../../parts/layout/placeholders.tsx';
import { address } from '../../router.ts';
import { hasRole, isOperator, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { ApplicationPage, Applications } from './applications.tsx';
import { Operators } from './operators.tsx';
import { PersonalData } from './personal-data.tsx';
import { Users } from './users.tsx';

const tabs = ['applications', 'users', 'operators', 'data'] as const;
type Tab = (typeof tabs)[number];

/** Whether the operator may use a tab (packages/http/operator-rights.ts). */
function isAllowed(tab: Tab): boolean {
  if (tab === 'operators') return hasRole('administrator') && !operatorApplications().isLimited;
  return tab === 'data' ? hasRole('administrator') : isOperator();
}

const pathOf = (tab: Tab): string => (tab === 'applications' ? '/accounts' : `/accounts/${tab}`);

/** Applications, their users, operators, and the data of persons and vehicles. */
export function AccountsScreen() {
  const { accounts: text } = texts.value;
  const [, , part = 'applications', id = ''] = address.value.path.split('/');
  const tab = tabs.find((one) => one === part);
  if (tab === undefined || !isAllowed(tab)) return <Empty title={text.notAllowed} />;
  const content: Readonly<Record<Tab, () => ComponentChildren>> = {
    applications: () => (id === '' ? <Applications /> : <ApplicationPage key={id} appId={decodeURIComponent(id)} />),
    users: () => <Users />,
    operators: () => <Operators />,
    data: () => <PersonalData />,
  };
  return (
    <div class="page accounts">
      <Heading text={text.title} />
      <Tabs
        label={text.title}
        tabs={tabs
          .filter(isAllowed)
          .map((one) => ({ href: pathOf(one), name: text.tabs[one], isCurrent: one === tab }))}
      />
      {content[tab]()}
    </div>
  );
}
