import { address, navigate } from '../../router.ts';
import { actingFor, operatorApplications } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { SelectField } from '../forms/fields.tsx';

/**
 * The application in the address, else the first one.
 * @param hasAll whether none may be chosen, which means all of them
 * @returns undefined for all applications, and for a user
 */
export function chosenApplication(hasAll: boolean) {
  const { applications } = operatorApplications();
  const asked = address.value.query.get('app');
  const chosen = applications.find(({ appId }) => appId === asked);
  return chosen ?? (hasAll && applications.length > 1 ? undefined : applications[0]);
}

/** The header of a call for an application; none for all of them (an empty text), and for a user. */
export const headerFor = (appId: string) => (appId === '' ? {} : actingFor(appId));

/** Keeps the parameters of the address, and changes some; an empty one is removed. */
export function changeQuery(change: Readonly<Record<string, string>>): void {
  const { path, query } = address.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  navigate(next.size > 0 ? `${path}?${next}` : path, { replace: true });
}

/** Chooses among several applications; shows nothing to a person who has one. */
export function ApplicationChoice({ hasAll = false }: { hasAll?: boolean }) {
  const { application: text } = texts.value;
  const { applications } = operatorApplications();
  if (applications.length < 2) return null;
  return (
    <select
      class="input application-choice"
      aria-label={text.label}
      value={chosenApplication(hasAll)?.appId ?? ''}
      onChange={({ currentTarget: { value } }) => changeQuery({ app: value })}
    >
      {hasAll && <option value="">{text.all}</option>}
      {applications.map(({ appId, name }) => (
        <option key={appId} value={appId}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface ApplicationFieldOptions {
  readonly label: string;
  readonly value: string;
  readonly onChange: (appId: string) => void;
}

/** A field that selects one of the operator's applications. */
export function ApplicationField(options: ApplicationFieldOptions) {
  const { applications } = operatorApplications();
  return <SelectField {...options} options={applications.map(({ appId, name }) => [appId, name])} />;
}
