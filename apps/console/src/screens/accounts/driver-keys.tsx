import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { actingFor, hasRole } from '../../session.ts';
import { formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

interface DriverOptions {
  readonly username: string;
  readonly appId: string;
}

/** A current or scheduled right to use a vehicle. */
interface Key {
  readonly authorizationId: string;
  readonly from: string;
  readonly until: string;
  readonly vehicleId: string;
  readonly plate: string;
}

async function load({ username: userid, appId }: DriverOptions): Promise<readonly Key[]> {
  const params = { path: { userid }, header: actingFor(appId) };
  const vehicles = await answerOf(api.GET('/v1/user/{userid}/vehicles', { params }));
  return vehicles.flatMap(({ Id: vehicleId, Plate: plate, authorizations }) =>
    authorizations.map((one) => ({ ...one, vehicleId, plate })),
  );
}

function KeyRow({ held, appId, onRevoked }: { held: Key; appId: string; onRevoked: () => void }) {
  const { driverKeys: text } = texts.value;
  const { authorizationId, vehicleId, plate, from, until } = held;
  const revoke = async () => {
    const params = { header: actingFor(appId) };
    await answerOf(api.DELETE('/v1/bluetooth-token', { params, body: { authorizationId } }));
    onRevoked();
  };
  return (
    <tr>
      <th scope="row">
        <a href={`/vehicles/${vehicleId}/access`}>{plate}</a>
      </th>
      <td>{formatTime(from)}</td>
      <td>{formatTime(until)}</td>
      {hasRole('operator') && (
        <td>
          <ActionButton action={text.revoke} title={text.revokeTitle(plate)} isDangerous onConfirm={revoke}>
            {text.revokeText}
          </ActionButton>
        </td>
      )}
    </tr>
  );
}

function RevokeAll({ username, appId, onRevoked }: DriverOptions & { onRevoked: (isConfirmed: boolean) => void }) {
  const { driverKeys: text } = texts.value;
  const revoke = async () => {
    const params = { path: { userid: username }, header: actingFor(appId) };
    const isConfirmed = await answerOf(api.DELETE('/v1/user/{userid}', { params })).then(
      () => true,
      (error: unknown) => {
        if (error instanceof CallFailure && error.code === 'NOT_ALL_AUTHORIZATIONS_REVOKED') return false;
        throw error;
      },
    );
    onRevoked(isConfirmed);
  };
  return (
    <div class="row start">
      <ActionButton action={text.revokeAll} title={text.revokeAllTitle(username)} isDangerous onConfirm={revoke}>
        {text.revokeAllText}
      </ActionButton>
    </div>
  );
}

/** Lists and revokes the current and scheduled Bluetooth keys of a driver. */
export function DriverKeys({ username, appId }: DriverOptions) {
  const { driverKeys: text } = texts.value;
  const isUnconfirmed = useSignal(false);
  const { data, failure, reload } = useLoad(() => load({ username, appId }), [username, appId]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const refresh = (isConfirmed: boolean) => {
    isUnconfirmed.value = !isConfirmed;
    reload();
  };
  return (
    <section class="stack" aria-label={`${text.title}: ${username}`}>
      <h2>{text.title}</h2>
      {failure && <p class="notice wrong">{failure}</p>}
      <div role="status">{isUnconfirmed.value && <p class="notice late">{text.unconfirmed}</p>}</div>
      {data.length === 0 ? (
        <p class="muted">{text.none}</p>
      ) : (
        <>
          <div class="table-frame">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">{text.vehicle}</th>
                  <th scope="col">{text.from}</th>
                  <th scope="col">{text.until}</th>
                  {hasRole('operator') && (
                    <th scope="col">
                      <span class="visually-hidden">{text.revoke}</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {data.map((held) => (
                  <KeyRow key={held.authorizationId} held={held} appId={appId} onRevoked={reload} />
                ))}
              </tbody>
            </table>
          </div>
          {hasRole('operator') && <RevokeAll username={username} appId={appId} onRevoked={refresh} />}
        </>
      )}
    </section>
  );
}
