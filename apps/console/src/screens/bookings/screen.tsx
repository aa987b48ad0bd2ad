import './bookings.css';
import type { ComponentChildren } from 'preact';
import { ApplicationChoice, chosenApplication } from '../../parts/layout/application-choice.tsx';
import { Empty, Tabs } from '../../parts/layout/placeholders.tsx';
import { address } from '../../router.ts';
import { isOperator, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { BookingCalendar } from './calendar.tsx';
import { Requests } from './requests.tsx';
import { ParkingSpots } from './spots.tsx';

type Tab = 'calendar' | 'spots' | 'requests';

/** The bookings of an application, its parking spots, and the requests for vehicles. */
export function BookingsScreen() {
  const { bookings: text, application: applicationText } = texts.value;
  const { path, query } = address.value;
  // Only operators decide about requests.
  const tabs: readonly Tab[] = isOperator() ? ['calendar', 'spots', 'requests'] : ['calendar', 'spots'];
  const tab = tabs.find((one) => path === `/bookings/${one}`) ?? 'calendar';
  const appId = chosenApplication(false)?.appId ?? '';
  const app = query.get('app');
  const hrefOf = (one: Tab) => `/bookings${one === 'calendar' ? '' : `/${one}`}${app ? `?app=${app}` : ''}`;
  const content: Readonly<Record<Tab, () => ComponentChildren>> = {
    calendar: () => <BookingCalendar key={appId} appId={appId} />,
    spots: () => <ParkingSpots key={appId} appId={appId} />,
    requests: () => <Requests key={appId} appId={appId} />,
  };
  const isEmpty = isOperator() && operatorApplications().applications.length === 0;
  return (
    <div class="page bookings">
      <header class="bookings-bar">
        <h1>{text.title}</h1>
        <ApplicationChoice />
        <Tabs
          label={text.parts}
          tabs={tabs.map((one) => ({ href: hrefOf(one), name: text.tabs[one], isCurrent: one === tab }))}
        />
      </header>
      {isEmpty ? <Empty title={applicationText.none} /> : content[tab]()}
    </div>
  );
}
