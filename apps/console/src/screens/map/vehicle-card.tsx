import type { ComponentType } from 'preact';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Button } from '../../parts/layout/button.tsx';
import { CloseIcon, FollowIcon, RouteIcon, TrailIcon } from '../../parts/layout/icons.tsx';
import { StateMark, shownState, stateText } from '../../parts/layout/vehicle-state.tsx';
import { useAddress } from '../../parts/map/use-address.ts';
import { mayChange } from '../../session.ts';
import {
  formatAgo,
  formatDistance,
  formatDuration,
  formatFull,
  formatPercent,
  formatSpeed,
  formatTime,
} from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { RouteKind, ShownRoute } from './routes.ts';

interface VehicleCardOptions {
  readonly vehicle: LiveVehicle;
  readonly isFollowed: boolean;
  readonly route: ShownRoute | undefined;
  readonly onFollow: () => void;
  readonly onRoute: (kind: RouteKind) => void;
  readonly onClose: () => void;
}

function Facts({ vehicle }: { vehicle: LiveVehicle }) {
  const { vehicle: text } = texts.value;
  const { state, speed, soc, parkedSince, lastContact, location, deviceId } = vehicle;
  return (
    <dl>
      {state === 'moving' && speed !== undefined && (
        <>
          <dt>{text.speed}</dt>
          <dd>{formatSpeed(speed)}</dd>
        </>
      )}
      {parkedSince && (
        <>
          <dt>{text.parkedSince}</dt>
          <dd title={formatFull(parkedSince)}>{formatTime(parkedSince)}</dd>
        </>
      )}
      {soc !== undefined && (
        <>
          <dt>{text.charge}</dt>
          <dd>{formatPercent(soc)}</dd>
        </>
      )}
      {location && (
        <>
          <dt>{text.position}</dt>
          <dd title={formatFull(location.time)}>{formatTime(location.time)}</dd>
        </>
      )}
      <dt>{text.lastContact}</dt>
      <dd {...(lastContact && { title: formatFull(lastContact) })}>
        {lastContact ? formatAgo(lastContact) : text.never}
      </dd>
      <dt>{text.device}</dt>
      <dd>{deviceId || text.noDevice}</dd>
    </dl>
  );
}

function Action({
  label,
  icon: Icon,
  isOn,
  onClick,
}: {
  label: string;
  icon: ComponentType<{ size?: number }>;
  isOn: boolean;
  onClick: () => void;
}) {
  return (
    <Button aria-pressed={isOn} onClick={onClick}>
      <Icon size={18} />
      {label}
    </Button>
  );
}

function RouteNotice({ route }: { route: ShownRoute | undefined }) {
  const { map, loading } = texts.value;
  if (!route) return null;
  if (route.state === 'loading') return <p class="notice">{loading}</p>;
  if (route.state === 'failed') return <p class="notice wrong">{map.routeFailed}</p>;
  if (route.state === 'none') return <p class="notice">{route.kind === 'trail' ? map.noTrail : map.noTrip}</p>;
  if (!route.trip) return null;
  const { start, km, minutes } = route.trip;
  return <p class="notice">{`${formatTime(start)} · ${formatDistance(km)} · ${formatDuration(minutes * 60)}`}</p>;
}

/** The chosen vehicle, over the map. */
export function VehicleCard({ vehicle, isFollowed, route, onFollow, onRoute, onClose }: VehicleCardOptions) {
  const { map, commands } = texts.value;
  const { plate, brand, model, location, state } = vehicle;
  const address = useAddress(vehicle);
  return (
    <section class="card vehicle-card" aria-label={plate}>
      <header>
        <div>
          <h2>{plate}</h2>
          <p class="muted">{`${brand} ${model}`.trim()}</p>
        </div>
        <Button kind="plain icon" aria-label={map.close} onClick={onClose}>
          <CloseIcon size={18} />
        </Button>
      </header>
      <p class={`state-line state-${shownState(vehicle)}`}>
        <StateMark state={shownState(vehicle)} angle={location?.angle} />
        {stateText(vehicle)}
      </p>
      {address !== undefined && <p>{address}</p>}
      <Facts vehicle={vehicle} />
      {state === 'private' && <p class="notice">{map.privateText}</p>}
      {state !== 'private' && !location && <p class="notice">{map.noPosition}</p>}
      <div role="status">
        <RouteNotice route={route} />
      </div>
      <div class="actions">
        <a class="button primary" href={`/vehicles/${vehicle.id}`}>
          {map.open}
        </a>
        {vehicle.deviceId !== '' && mayChange() && (
          <a class="button" href={`/vehicles/${vehicle.id}/commands?ask=LOCK`}>
            {commands.actions['LOCK']}
          </a>
        )}
        {state !== 'private' && (
          <>
            <a class="button" href={`/replay?vehicles=${vehicle.id}`}>
              {texts.value.replay.title}
            </a>
            <Action label={map.follow} icon={FollowIcon} isOn={isFollowed} onClick={onFollow} />
            <Action
              label={map.trail}
              icon={TrailIcon}
              isOn={route?.kind === 'trail'}
              onClick={() => onRoute('trail')}
            />
            <Action
              label={map.lastTrip}
              icon={RouteIcon}
              isOn={route?.kind === 'last trip'}
              onClick={() => onRoute('last trip')}
            />
          </>
        )}
      </div>
    </section>
  );
}
