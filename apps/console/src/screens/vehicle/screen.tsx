import './vehicle.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Fleet } from '../../live/fleet.ts';
import type { LiveCommand, LiveVehicle } from '../../live/live-stream.ts';
import { Heading, Loading, Tabs } from '../../parts/layout/placeholders.tsx';
import { StateMark, shownState, stateText } from '../../parts/layout/vehicle-state.tsx';
import { address } from '../../router.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { AccessTab } from './access.tsx';
import { BatteryHealth } from './battery.tsx';
import { Charts } from './charts.tsx';
import { Commands } from './commands.tsx';
import { ArchivedVehicle, Details } from './details.tsx';
import { Now } from './now.tsx';
import { Records } from './records.tsx';
import { Trips } from './trips.tsx';
import { Values } from './values.tsx';

const tabs = ['now', 'charts', 'battery', 'trips', 'values', 'access', 'records', 'commands', 'details'] as const;
type Tab = (typeof tabs)[number];

function Title({ vehicle, fleet }: { vehicle: LiveVehicle; fleet: Fleet }) {
  const { vehicle: text, connection: connectionText, labelled } = texts.value;
  const { id, appId, plate, brand, model, vin, lastContact, parkedSince, location } = vehicle;
  const connection = fleet.connection.value;
  return (
    <div class="vehicle-title">
      <Heading text={plate} />
      <span class={`state-chip state-${shownState(vehicle)}`}>
        <StateMark state={shownState(vehicle)} angle={location?.angle} />
        {stateText(vehicle)}
      </span>
      <span class="muted">{[`${brand} ${model}`.trim(), vin].filter((part) => part !== '').join(' · ')}</span>
      <span class="spacer" />
      {parkedSince && (
        <span class="muted" title={formatFull(parkedSince)}>{`${text.parkedSince} ${formatTime(parkedSince)}`}</span>
      )}
      <span class="muted">{labelled(text.lastContact, lastContact ? formatAgo(lastContact) : text.never)}</span>
      {connection.state === 'lost' && (
        <span class="notice late">{connectionText.lost(formatTime(connection.sinceMs))}</span>
      )}
      <a class="button" href={`/exports?${new URLSearchParams({ app: appId, vehicle: `${plate} · ${id}` })}`}>
        {texts.value.exports.open}
      </a>
    </div>
  );
}

/** One vehicle: what it is doing, where it was, and what it is told. */
export function VehicleScreen() {
  const [, , vehicleId = '', part = 'now'] = address.value.path.split('/');
  const command = useSignal<LiveCommand | undefined>(undefined);
  const fleet = useMemo(() => {
    const onCommand = (changed: LiveCommand) => assign(command, changed);
    return new Fleet({ only: vehicleId, onCommand });
  }, [vehicleId]);
  useEffect(() => () => fleet.stop(), [fleet]);
  fleet.watch();
  const vehicle = fleet.vehicles.get(vehicleId);
  const tab = tabs.find((one) => one === part) ?? 'now';
  // The last command of the stream may belong to the vehicle shown before.
  const changed = command.value?.vehicleId === vehicleId ? command.value : undefined;
  if (!vehicle && fleet.isComplete.value) return <ArchivedVehicle key={vehicleId} id={vehicleId} />;
  if (!vehicle) return <Loading />;
  const content: Readonly<Record<Tab, () => ComponentChildren>> = {
    now: () => <Now vehicle={vehicle} />,
    charts: () => <Charts vehicle={vehicle} />,
    battery: () => <BatteryHealth vehicle={vehicle} />,
    trips: () => <Trips vehicle={vehicle} />,
    values: () => <Values vehicle={vehicle} />,
    access: () => <AccessTab vehicle={vehicle} />,
    records: () => <Records vehicle={vehicle} />,
    commands: () => <Commands vehicle={vehicle} changed={changed} resets={fleet.resets.value} />,
    details: () => (
      <div class="page">
        <Details vehicle={vehicle} />
      </div>
    ),
  };
  return (
    <div class="vehicle-page">
      <header class="vehicle-head">
        <Title vehicle={vehicle} fleet={fleet} />
        <Tabs
          label={texts.value.vehiclePage.label}
          tabs={tabs.map((one) => ({
            href: `/vehicles/${vehicleId}${one === 'now' ? '' : `/${one}`}`,
            name: texts.value.vehiclePage.tabs[one],
            isCurrent: one === tab,
          }))}
        />
      </header>
      <section
        class="vehicle-body"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        tabIndex={0}
        aria-label={texts.value.vehiclePage.tabs[tab]}
      >
        {content[tab]()}
      </section>
    </div>
  );
}
