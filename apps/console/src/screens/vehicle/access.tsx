import { type Booking, loadBookings } from '../../api/bookings.ts';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { actingFor, session } from '../../session.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Shares } from './shares.tsx';
import { TableSection } from './table-section.tsx';

type Access = Schema<'VehicleAccess'>;
type Key = Schema<'HeldAuthorization'>;
type KeyState = 'active' | 'planned' | 'suspended' | 'ended' | 'revoked';

const daySeconds = 86_400;
/** Privacy intervals of this time before now are shown. */
const privacySeconds = 90 * daySeconds;
/** Bookings of this time before and after now are shown. */
const bookingDays = 180;

async function load(id: string): Promise<{ access: Access; bookings: readonly Booking[] }> {
  const inDays = (days: number) => new Date(Date.now() + days * daySeconds * 1000).toISOString();
  const query = { from: inDays(-bookingDays), until: inDays(bookingDays), vehicleId: id };
  const [access, { bookings }] = await Promise.all([
    answerOf(api.GET('/v1/x/vehicle/{id}/access', { params: { path: { id }, query: { ended: true } } })),
    loadBookings(query),
  ]);
  return { access, bookings: [...bookings].reverse() };
}

const order: readonly KeyState[] = ['active', 'suspended', 'planned', 'revoked', 'ended'];

function stateOf({ from, until, suspendedUntil, revokedAt }: Key, nowMs: number): KeyState {
  if (revokedAt !== undefined) return 'revoked';
  if (Date.parse(until) <= nowMs) return 'ended';
  if (suspendedUntil !== undefined) return 'suspended';
  return Date.parse(from) > nowMs ? 'planned' : 'active';
}

function When({ time }: { time: string | undefined }) {
  return time === undefined ? <td>–</td> : <td title={formatFull(time)}>{formatTime(time)}</td>;
}

function KeyRow({ held, state }: { held: Key; state: KeyState }) {
  const { access: text } = texts.value;
  const { userId, level, from, until, suspendedUntil, revokedAt, issuedAt, issuedBy } = held;
  return (
    <tr>
      <th scope="row">{userId}</th>
      <td>
        <span class={`outcome ${state === 'active' ? 'acknowledged' : ''}`}>{text.states[state]}</span>
        {state === 'suspended' && <span class="muted">{` ${text.until(formatTime(suspendedUntil ?? until))}`}</span>}
      </td>
      <td>{text.levels[level]}</td>
      <When time={from} />
      <When time={revokedAt ?? until} />
      <td title={formatFull(issuedAt)}>{`${issuedBy ?? text.application} · ${formatTime(issuedAt)}`}</td>
    </tr>
  );
}

function Keys({ authorizations }: Access) {
  const { access: text } = texts.value;
  const nowMs = Date.now();
  const listed = authorizations
    .map((held) => ({ held, state: stateOf(held, nowMs) }))
    .sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  return (
    <TableSection
      title={text.keys}
      none={text.noKeys}
      heads={[text.driver, text.state, text.level, text.from, text.untilHead, text.issuedBy]}
      rows={listed.map(({ held, state }) => <KeyRow key={held.authorizationId} held={held} state={state} />)}
    />
  );
}

async function loadPrivacyIntervals(id: string) {
  const now = Math.floor(Date.now() / 1000);
  const params = { path: { id }, query: { from: now - privacySeconds, until: now + 1 } };
  const { breaks } = await answerOf(api.GET('/v1/x/vehicle/{id}/breaks', { params }));
  return breaks.filter(({ kind }) => kind === 'PRIVACY').reverse();
}

function PrivacySwitch({ vehicle: { id, appId, plate }, isOn, onChanged }: PrivacySwitchOptions) {
  const { privacy: text } = texts.value;
  const options = { params: { header: actingFor(appId) }, body: { vehicleId: id } };
  const turn = async () => {
    const call = isOn ? api.POST('/v1/vehicle/privacy/off', options) : api.POST('/v1/vehicle/privacy/on', options);
    await answerOf(call);
    onChanged();
  };
  return (
    <ActionButton
      action={isOn ? text.turnOff : text.turnOn}
      title={isOn ? text.turnOffTitle(plate) : text.turnOnTitle(plate)}
      onConfirm={turn}
    >
      {isOn ? text.turnOffText : text.turnOnText}
    </ActionButton>
  );
}

interface PrivacySwitchOptions {
  readonly vehicle: LiveVehicle;
  readonly isOn: boolean;
  readonly onChanged: () => void;
}

/** The state of location privacy, its intervals, and the switch for those who may use it. */
function Privacy({ vehicle, mayChange }: { vehicle: LiveVehicle; mayChange: boolean }) {
  const { privacy: text } = texts.value;
  const { data, failure, reload } = useLoad(() => loadPrivacyIntervals(vehicle.id), [vehicle.id], [vehicle.state]);
  const open = data?.find(({ until }) => until === undefined);
  return (
    <div class="stack">
      <h2>{text.title}</h2>
      {failure && <p class="notice wrong">{failure}</p>}
      {data && (
        <>
          <p class={open ? 'notice' : 'muted'}>{open ? text.on(formatFull(open.from)) : text.off}</p>
          <div class="row start">
            {mayChange && <PrivacySwitch vehicle={vehicle} isOn={open !== undefined} onChanged={reload} />}
          </div>
          {data.length > 0 && (
            <details>
              <summary>{text.intervals}</summary>
              <ul>
                {data.map(({ from, until }) => (
                  <li key={from}>{`${formatFull(from)} – ${until === undefined ? text.now : formatFull(until)}`}</li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </div>
  );
}

/** Tests whether the role permits changing privacy and sharing the vehicle. The API enforces it. */
function mayUse({ grants }: Access): boolean {
  if (session.value.state !== 'signed in') return false;
  const { person } = session.value;
  if (person.kind === 'operator') return person.role !== 'viewer';
  return grants.some(({ username, role }) => username === person.username && role !== 'viewer');
}

/** Manages access to a vehicle: location privacy, shares, authorizations, bookings and users. */
export function AccessTab({ vehicle }: { vehicle: LiveVehicle }) {
  const { access: text } = texts.value;
  const { data, failure, reload } = useLoad(() => load(vehicle.id), [vehicle.id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const { access, bookings } = data;
  const mayChange = mayUse(access);
  const privacy = <Privacy vehicle={vehicle} mayChange={mayChange} />;
  const shares = <Shares vehicle={vehicle} mayChange={mayChange} />;
  if (access.authorizations.length + access.grants.length + bookings.length === 0) {
    return (
      <div class="page">
        {privacy}
        {shares}
        <Empty title={text.nobody}>{<p>{text.nobodyText}</p>}</Empty>
      </div>
    );
  }
  return (
    <div class="page">
      {privacy}
      {shares}
      <Keys {...access} />
      <TableSection
        title={text.bookings}
        none={text.noBookings}
        heads={[text.driver, text.state, text.from, text.untilHead]}
        rows={bookings.map(({ bookingId, userId, state, from, until, stoppedAt }) => (
          <tr key={bookingId}>
            <th scope="row">{userId}</th>
            <td>{text.bookingStates[state]}</td>
            <When time={from} />
            <When time={stoppedAt ?? until} />
          </tr>
        ))}
      />
      <TableSection
        title={text.users}
        none={text.noUsers}
        heads={[text.user, text.role]}
        rows={access.grants.map(({ userId, username, role }) => (
          <tr key={userId}>
            <th scope="row">{username}</th>
            <td>{text.roles[role]}</td>
          </tr>
        ))}
      />
    </div>
  );
}
