import './bookings.css';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { isOperator } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { BookingCalendar } from './calendar.tsx';
import { Requests } from './requests.tsx';
import { ParkingSpots } from './spots.tsx';

/** The bookings of an application, its parking spots, and the requests for vehicles. */
export function BookingsScreen() {
  const { title, parts, tabs } = texts.value.bookings;
  const requests = {
    id: 'requests',
    name: tabs.requests,
    content: (appId: string) => <Requests key={appId} appId={appId} />,
  };
  return (
    <ApplicationPage
      name="bookings"
      title={title}
      label={parts}
      tabs={[
        { id: 'calendar', name: tabs.calendar, content: (appId) => <BookingCalendar key={appId} appId={appId} /> },
        { id: 'spots', name: tabs.spots, content: (appId) => <ParkingSpots key={appId} appId={appId} /> },
        // Only operators decide about requests.
        ...(isOperator() ? [requests] : []),
      ]}
    />
  );
}
