import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { SelectField } from '../../parts/forms/fields.tsx';
import { ImportPage } from '../../parts/forms/import-page.tsx';
import { Empty } from '../../parts/layout/placeholders.tsx';
import { operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

const columns = [
  ...['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories', 'tankLitres'],
];

/** Creates many vehicles of an application from a CSV file. */
export function VehicleImport() {
  const { guide, vehicleImport: text, application } = texts.value;
  const { applications } = operatorApplications();
  const appId = useSignal(applications[0]?.appId ?? '');
  if (applications.length === 0) return <Empty title={application.none}>{<p>{guide.noApplication}</p>}</Empty>;
  return (
    <ImportPage
      back={{ href: '/vehicles', text: guide.back }}
      title={guide.addMany}
      file="vehicles.csv"
      columns={columns}
      text={text}
      send={(csv, check) =>
        answerOf(api.POST('/v1/x/admin/vehicle-imports', { body: { appId: appId.value, csv, check } }))
      }
      onWritten={async ({ vehicles }) => (
        <>
          <p class="notice good" role="status">
            {text.done(formatNumber(vehicles.length))}
          </p>
          <div class="row">
            <a class="button" href="/vehicles">
              {guide.back}
            </a>
            <a class="button primary" href="/devices?add=file">
              {text.devices}
            </a>
          </div>
        </>
      )}
    >
      {applications.length > 1 && (
        <SelectField
          label={application.label}
          value={appId.value}
          options={applications.map((one) => [one.appId, one.name])}
          onChange={(one) => assign(appId, one)}
        />
      )}
    </ImportPage>
  );
}
