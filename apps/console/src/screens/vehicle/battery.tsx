import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { factsOfValue, formatValue, nameOfValue } from '../../texts/fields.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type Field, Figures, IntervalBar, loadFields, useWindow } from './series-figures.tsx';

/** The fields that show the health of a traction battery, in the order in which they are shown. */
const batteryFields = [
  ...(['soh', 'maxEnergy', 'soc', 'voltage', 'minCellVoltage', 'maxCellVoltage', 'temperature'] as const),
  ...(['minCellTemperature', 'maxCellTemperature', 'current', 'lifetimeChargePower', 'lifetimePowerUse'] as const),
];
/** The protocol has no field for the 12 V battery: devices report it as CAN data or a sensor under names such as these. */
const lowVoltagePattern = /volt|batt|12v/i;
const isLowVoltage = (field: string): boolean => /^(?:can|sensors)\./.test(field) && lowVoltagePattern.test(field);

interface Battery {
  readonly fields: readonly Field[];
  readonly chosen: readonly string[];
  readonly values: readonly Schema<'LatestValue'>[];
}

async function load(id: string): Promise<Battery> {
  const [fields, { values }] = await Promise.all([
    loadFields(id),
    answerOf(api.GET('/v1/x/vehicle/{id}/values', { params: { path: { id } } })),
  ]);
  const known = fields.map(({ field }) => field);
  const chosen = [...batteryFields.filter((field) => known.includes(field)), ...known.filter(isLowVoltage)];
  return { fields, chosen, values: values.filter(({ field }) => field !== undefined && chosen.includes(field)) };
}

function Latest({ values }: { values: Battery['values'] }) {
  return (
    <dl class="figures">
      {values.map((shown) => (
        <div class="card" key={`${shown.group} ${shown.name}`}>
          <dt>{nameOfValue(shown)}</dt>
          <dd>
            {`${formatValue(shown.value, factsOfValue(shown), shown.unit)} `}
            <small title={formatFull(shown.time)}>{formatTime(shown.time)}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The health of the traction battery over time, and the voltage of the 12 V battery where the device reports it. */
export function BatteryHealth({ vehicle }: { vehicle: LiveVehicle }) {
  const { battery: text } = texts.value;
  const window = useWindow('year');
  const { data, failure, reload } = useLoad(() => load(vehicle.id), [vehicle.id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const { fields, chosen, values } = data;
  if (chosen.length === 0) return <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>;
  return (
    <div class="page charts">
      <Latest values={values} />
      {!chosen.some(isLowVoltage) && <p class="muted">{text.noLowVoltage}</p>}
      <div class="charts-bar">
        <IntervalBar window={window} />
      </div>
      <Figures vehicleId={vehicle.id} fields={fields} chosen={chosen} window={window} />
    </div>
  );
}
