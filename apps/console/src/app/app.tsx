import './shell.css';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { sessionEnded } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { Button } from '../parts/layout/button.tsx';
import {
  AccountsIcon,
  AlarmsIcon,
  AuditIcon,
  BookingsIcon,
  DevicesIcon,
  Logo,
  MapIcon,
  MoreIcon,
  PipelineIcon,
  ProfileIcon,
  VehiclesIcon,
} from '../parts/layout/icons.tsx';
import { LoadFailure, Loading } from '../parts/layout/placeholders.tsx';
import { address, navigate } from '../router.ts';
import { SignInAgain, SignInScreen } from '../screens/sign-in/screen.tsx';
import { isOperator, mustChangePassword, readSession, session } from '../session.ts';
import { texts } from '../texts/texts.ts';

/** Loads the page again, unless the platform does not answer: the browser would show its error page. @throws TypeError */
async function reloadPage(): Promise<void> {
  await fetch('/', { cache: 'no-store' });
  location.reload();
}

/** A component that loads when it is first shown. */
function lazy(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined;
  let hasFailed = false;
  const loadOnce = async () => {
    // Browsers may keep a failed import, and after an upgrade of the platform the files of an older page are gone.
    if (hasFailed) await reloadPage();
    try {
      loaded ??= await load();
      return loaded;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  return function Lazy() {
    const { failure, reload } = useLoad(loadOnce, []);
    const Show = loaded;
    if (Show) return <Show />;
    return failure ? <LoadFailure retry={reload} /> : <Loading />;
  };
}

const screens: readonly (readonly [path: RegExp, show: ComponentType])[] = [
  [/^\/map$/, lazy(async () => (await import('../screens/map/screen.tsx')).MapScreen)],
  [/^\/vehicles$/, lazy(async () => (await import('../screens/vehicles/screen.tsx')).VehiclesScreen)],
  [/^\/vehicles\/\d+(?:\/\w+)?$/, lazy(async () => (await import('../screens/vehicle/screen.tsx')).VehicleScreen)],
  [/^\/devices(?:\/[^/]+)?$/, lazy(async () => (await import('../screens/devices/screen.tsx')).DevicesScreen)],
  [/^\/replay$/, lazy(async () => (await import('../screens/replay/screen.tsx')).ReplayScreen)],
  [/^\/alarms(?:\/\w+)?$/, lazy(async () => (await import('../screens/alarms/screen.tsx')).AlarmsScreen)],
  [/^\/bookings(?:\/\w+)?$/, lazy(async () => (await import('../screens/bookings/screen.tsx')).BookingsScreen)],
  [/^\/pipeline$/, lazy(async () => (await import('../screens/pipeline/screen.tsx')).PipelineScreen)],
  [/^\/accounts(?:\/.+)?$/, lazy(async () => (await import('../screens/accounts/screen.tsx')).AccountsScreen)],
  [/^\/audit$/, lazy(async () => (await import('../screens/audit/screen.tsx')).AuditScreen)],
  [/^\/profile$/, lazy(async () => (await import('../screens/profile/screen.tsx')).ProfileScreen)],
];

function NotFound() {
  const { notFound } = texts.value;
  return (
    <div class="placeholder">
      <strong>{notFound.title}</strong>
      <p>{notFound.text}</p>
      <a class="button" href="/map">
        {notFound.back}
      </a>
    </div>
  );
}

function RailLink({ to, label, icon: Icon }: { to: string; label: string; icon: ComponentType<{ size?: number }> }) {
  const { path } = address.value;
  const isCurrent = path === to || path.startsWith(`${to}/`);
  return (
    <a class="rail-link" href={to} aria-current={isCurrent ? 'page' : undefined}>
      <Icon />
      {label}
    </a>
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
      <RailLink to="/alarms" label={navigation.alarms} icon={AlarmsIcon} />
      <button type="button" class="rail-link rail-more-button" popovertarget={moreId}>
        <MoreIcon />
        {navigation.more}
      </button>
      {/* A menu on narrow screens only; on wide ones its links stand in the rail. */}
      <div id={moreId} class="rail-more" ref={more} popover="auto">
        <RailLink to="/bookings" label={navigation.bookings} icon={BookingsIcon} />
        {isOperator() && <RailLink to="/pipeline" label={navigation.pipeline} icon={PipelineIcon} />}
        {isOperator() && <RailLink to="/accounts" label={navigation.accounts} icon={AccountsIcon} />}
        {isOperator() && <RailLink to="/audit" label={navigation.audit} icon={AuditIcon} />}
        <div class="rail-end">
          <RailLink to="/profile" label={navigation.profile} icon={ProfileIcon} />
        </div>
      </div>
    </nav>
  );
}

function Shell() {
  // An initial password opens nothing but the form that changes it.
  const path = mustChangePassword() ? '/profile' : address.value.path;
  const Screen = screens.find(([form]) => form.test(path))?.[1] ?? NotFound;
  return (
    <div class="shell">
      <a class="skip button" href="#content">
        {texts.value.skipToContent}
      </a>
      <Rail />
      <main class="content" id="content" tabIndex={-1}>
        <Screen />
      </main>
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
