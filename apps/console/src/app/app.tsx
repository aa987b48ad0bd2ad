import './shell.css';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api, sessionEnded } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { alarmChanges } from '../live/live-stream.ts';
import { Button } from '../parts/layout/button.tsx';
import {
  AccountsIcon,
  AlarmsIcon,
  AuditIcon,
  BookingsIcon,
  DevicesIcon,
  ExportsIcon,
  IntegrationsIcon,
  Logo,
  MapIcon,
  MoreIcon,
  PipelineIcon,
  ProfileIcon,
  ReportsIcon,
  VehiclesIcon,
} from '../parts/layout/icons.tsx';
import { type LazyComponent, lazy } from '../parts/layout/lazy.tsx';
import { Heading, Loading } from '../parts/layout/placeholders.tsx';
import { address, navigate } from '../router.ts';
import { SignInAgain, SignInScreen } from '../screens/sign-in/screen.tsx';
import { isConfinedToProfile, isOperator, readSession, session } from '../session.ts';
import { texts } from '../texts/texts.ts';
import { Shortcuts } from './shortcuts.tsx';

const screens: readonly (readonly [path: RegExp, show: LazyComponent<object>])[] = [
  [/^\/map$/, lazy(async () => (await import('../screens/map/screen.tsx')).MapScreen)],
  [/^\/map\/settings$/, lazy(async () => (await import('../screens/map-settings/screen.tsx')).MapSettingsScreen)],
  [/^\/vehicles$/, lazy(async () => (await import('../screens/vehicles/screen.tsx')).VehiclesScreen)],
  [/^\/vehicles\/\d+(?:\/\w+)?$/, lazy(async () => (await import('../screens/vehicle/screen.tsx')).VehicleScreen)],
  [/^\/devices(?:\/[^/]+)?$/, lazy(async () => (await import('../screens/devices/screen.tsx')).DevicesScreen)],
  [/^\/exports(?:\/\w+)?$/, lazy(async () => (await import('../screens/exports/screen.tsx')).ExportsScreen)],
  [/^\/reports(?:\/\w+)?$/, lazy(async () => (await import('../screens/reports/screen.tsx')).ReportsScreen)],
  [/^\/replay$/, lazy(async () => (await import('../screens/replay/screen.tsx')).ReplayScreen)],
  [/^\/alarms(?:\/\w+)?$/, lazy(async () => (await import('../screens/alarms/screen.tsx')).AlarmsScreen)],
  [/^\/bookings(?:\/\w+)?$/, lazy(async () => (await import('../screens/bookings/screen.tsx')).BookingsScreen)],
  [/^\/pipeline$/, lazy(async () => (await import('../screens/pipeline/screen.tsx')).PipelineScreen)],
  [/^\/accounts(?:\/.+)?$/, lazy(async () => (await import('../screens/accounts/screen.tsx')).AccountsScreen)],
  [
    /^\/integrations(?:\/\w+)?$/,
    lazy(async () => (await import('../screens/integrations/screen.tsx')).IntegrationsScreen),
  ],
  [/^\/audit$/, lazy(async () => (await import('../screens/audit/screen.tsx')).AuditScreen)],
  [/^\/profile$/, lazy(async () => (await import('../screens/profile/screen.tsx')).ProfileScreen)],
];

const screenOf = (path: string) => screens.find(([form]) => form.test(path))?.[1];

function NotFound() {
  const { notFound } = texts.value;
  return (
    <div class="placeholder">
      <Heading text={notFound.title} />
      <p>{notFound.text}</p>
      <a class="button" href="/map">
        {notFound.back}
      </a>
    </div>
  );
}

interface RailLinkOptions {
  readonly to: string;
  readonly label: string;
  readonly icon: ComponentType<{ size?: number }>;
  readonly badge?: ComponentChildren;
}

function RailLink({ to, label, icon: Icon, badge }: RailLinkOptions) {
  const { path } = address.value;
  const isCurrent = path === to || path.startsWith(`${to}/`);
  return (
    <a class="rail-link" href={to} aria-current={isCurrent ? 'page' : undefined}>
      <Icon />
      {label}
      {badge}
    </a>
  );
}

const alarmsIntervalMs = 30_000;
const maxAlarms = 99;

/** The number of open alarms that nobody has acknowledged. */
function AlarmBadge() {
  const query = { state: 'open', acknowledged: false, limit: maxAlarms + 1 } as const;
  const { data, reload } = useLoad(
    () => answerOf(api.GET('/v1/x/alarms', { params: { query } })),
    [],
    [alarmChanges.value],
  );
  useEffect(() => {
    const timer = setInterval(reload, alarmsIntervalMs);
    return () => clearInterval(timer);
  }, []);
  const count = data?.alarms.length ?? 0;
  if (count === 0) return null;
  const written = count > maxAlarms ? `${maxAlarms}+` : String(count);
  return (
    <span class="rail-badge">
      <span aria-hidden="true">{written}</span>
      <span class="visually-hidden">{texts.value.navigation.openAlarms(written)}</span>
    </span>
  );
}

const moreId = 'rail-more';

function Rail() {
  const { navigation } = texts.value;
  const more = useRef<HTMLDivElement>(null);
  useEffect(() => more.current?.hidePopover(), [address.value.path]);
  return (
    <nav class="rail" aria-label={navigation.label}>
      <div class="rail-brand">
        <Logo size={32} />
      </div>
      <RailLink to="/map" label={navigation.map} icon={MapIcon} />
      <RailLink to="/vehicles" label={navigation.vehicles} icon={VehiclesIcon} />
      <RailLink to="/devices" label={navigation.devices} icon={DevicesIcon} />
      <RailLink to="/alarms" label={navigation.alarms} icon={AlarmsIcon} badge={<AlarmBadge />} />
      <button type="button" class="rail-link rail-more-button" popovertarget={moreId}>
        <MoreIcon />
        {navigation.more}
      </button>
      {/* A menu on narrow screens only; on wide ones its links stand in the rail. */}
      <div id={moreId} class="rail-more" ref={more} popover="auto">
        <RailLink to="/bookings" label={navigation.bookings} icon={BookingsIcon} />
        <RailLink to="/reports" label={navigation.reports} icon={ReportsIcon} />
        <RailLink to="/exports" label={navigation.exports} icon={ExportsIcon} />
        {isOperator() && <RailLink to="/pipeline" label={navigation.pipeline} icon={PipelineIcon} />}
        {isOperator() && <RailLink to="/accounts" label={navigation.accounts} icon={AccountsIcon} />}
        {isOperator() && <RailLink to="/integrations" label={navigation.integrations} icon={IntegrationsIcon} />}
        {isOperator() && <RailLink to="/audit" label={navigation.audit} icon={AuditIcon} />}
        <div class="rail-end">
          <RailLink to="/profile" label={navigation.profile} icon={ProfileIcon} />
        </div>
      </div>
    </nav>
  );
}

function Shell() {
  // Until the password is changed and a required second factor is added, only the profile is available.
  const path = isConfinedToProfile() ? '/profile' : address.value.path;
  const Screen = screenOf(path) ?? NotFound;
  return (
    <div class="shell">
      <a class="skip button" href="#content">
        {texts.value.skipToContent}
      </a>
      <Rail />
      <main class="content" id="content" tabIndex={-1}>
        <Screen />
      </main>
      <Shortcuts />
    </div>
  );
}

function Unreachable() {
  const { unreachable } = texts.value;
  return (
    <main class="placeholder">
      <strong role="alert">{unreachable.title}</strong>
      <p>{unreachable.text}</p>
      <Button onClick={() => void readSession()}>{unreachable.retry}</Button>
    </main>
  );
}

/** The console: the screen of the address for a signed-in person, else the sign-in. */
export function App() {
  const { path, query } = address.value;
  const now = session.value;
  const { state } = now;
  // Loads the screen while the sign-in is being checked.
  useEffect(() => screenOf(path)?.preload(), []);
  useEffect(() => {
    if (state === 'signed out' && path !== '/sign-in') {
      const next = path === '/' ? '' : `?next=${encodeURIComponent(`${path}${query.size > 0 ? `?${query}` : ''}`)}`;
      navigate(`/sign-in${next}`, { replace: true });
    }
    if (state === 'signed in' && path === '/') navigate('/map', { replace: true });
  }, [state, path]);
  if (now.state === 'unknown') return <Loading />;
  if (now.state === 'unreachable') return <Unreachable />;
  if (path === '/sign-in' || now.state !== 'signed in') return <SignInScreen />;
  return (
    <>
      <Shell />
      {sessionEnded.value && <SignInAgain person={now.person} />}
    </>
  );
}
