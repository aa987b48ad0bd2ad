import { CopyButton } from '../../parts/layout/copy.tsx';
import { texts } from '../../texts/texts.ts';

/** A secret that was made just now, with what it belongs to; the platform stores a hash of it. */
export function ShownOnce({ entries }: { entries: readonly (readonly [label: string, value: string])[] }) {
  const { accounts: text } = texts.value;
  return (
    <section class="card shown-once" aria-label={text.shownOnceLabel}>
      <p class="notice late">{text.shownOnce}</p>
      <dl>
        {entries.map(([label, value]) => [
          <dt key={label}>{label}</dt>,
          <dd key={`${label} value`}>
            <code>{value}</code>
            <CopyButton text={value} label={label} />
          </dd>,
        ])}
      </dl>
    </section>
  );
}
