import { hasRole, session } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { Empty } from './placeholders.tsx';

/** Replaces an empty fleet: says how to add the first vehicle, or who can. */
export function NoVehicles() {
  const { guide: text } = texts.value;
  if (!hasRole('operator')) {
    const person = session.value.state === 'signed in' ? session.value.person : undefined;
    const help = person?.kind === 'user' ? text.askManager(person.applicationName) : text.askOperator;
    return <Empty title={text.none}>{<p>{help}</p>}</Empty>;
  }
  return (
    <Empty title={text.none}>
      <p>{text.firstText}</p>
      <a class="button primary" href="/vehicles?add=one">
        {text.start}
      </a>
      <a class="button" href="/vehicles?add=file">
        {text.fromFile}
      </a>
    </Empty>
  );
}
